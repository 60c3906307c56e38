"""What a fleet adds to the measurements that it sends out.

    python bench/fleet_overhead.py [--quick] [-o FILE]

A local Ray cluster of four nodes, made once. Taking turns, from the start of a command to its end:

by hand    four `python -m ftax_micro.launch_floor --device cpu --quick` at the same time, as on
           four machines: the rows of one thread, since the nodes share the cores, each sampled for
           one and the same time, since until it is precise it may take one run longer than another
fleet      `python -m ftax_micro.fleet launch_floor` with the same options over the four nodes
start-up   the same with --resume when all is there already: the cluster found, every node asked
           for its version, results compared, nothing measured

Rows: overhead (fleet over the sum of the others; target: at most 1.10), start-up (seconds). Needs
the extra `fleet`. On fewer cores than nodes both sides share them alike.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from common import ROOT, attempt, finish, message, observed, parser, ratio, until_stopped
from rows import Row, skipped

from ftax_micro import stats

NODES, FEW_NODES = 4, 1
LIMIT = 1.10
OPTIONS = (
    *("--device", "cpu", "--quick", "--probe", "call_direct,call_python,call_extension"),
    *("--min-time", "1s", "--timeout", "1s"),
)


def main(argv: Sequence[str] | None = None) -> int:
    args = parser(__doc__).parse_args(argv)
    nodes, blocks = (FEW_NODES, 1) if args.quick else (NODES, 12)
    options = [*OPTIONS, *(("--min-time", "100ms") if args.quick else ())]
    if importlib.util.find_spec("ray") is None:
        why = "Ray is not installed: pip install 'ftax-micro[fleet]'"
        rows = [skipped(name, why) for name in ("overhead", "start-up")]
    else:
        rows = attempt("overhead", lambda: measured(nodes, blocks, options))
    settings = {"nodes": nodes, "blocks": blocks, "options": " ".join(options)}
    return finish("fleet_overhead", rows, args, settings)


def measured(nodes: int, blocks: int, options: Sequence[str]) -> list[Row]:
    """Both rows, over a cluster of so many nodes."""
    sys.path.insert(0, str(ROOT / "tests"))
    from local_ray import local_ray

    hand: list[float] = []
    fleet: list[float] = []
    start: list[float] = []
    with tempfile.TemporaryDirectory() as name, local_ray() as cluster:
        for _ in range(nodes - 1):
            cluster.add()
        message(f"a cluster of {nodes} nodes is there")
        with until_stopped():
            # What comes first finds no worker process running.
            for block in range(-1 if blocks > 1 else 0, blocks):
                folder = Path(name) / str(block + 1)
                folder.mkdir()
                command = ["ftax_micro.fleet", "launch_floor", *options]
                command += ["--address", cluster.address, "-o", "fleet"]
                times = {}
                for each in ("hand", "fleet")[:: 1 if block % 2 else -1]:
                    runs = by_hand(nodes, options) if each == "hand" else [command]
                    times[each] = seconds(runs, folder)
                again = seconds([[*command, "--resume"]], folder)
                if block >= 0:
                    hand.append(times["hand"] + again)
                    fleet.append(times["fleet"])
                    start.append(again)
    if not hand:
        raise RuntimeError("stopped before a block was done")
    return [
        Row(
            name=f"overhead, {nodes} nodes",
            samples={"fleet": fleet, "by hand and start-up": hand},
            figures=[ratio(fleet, hand, limit=LIMIT)],
        ),
        Row(
            name="start-up",
            samples={"fleet": start},
            figures=[observed("median", stats.median_interval(start).value, "s")],
        ),
    ]


def by_hand(nodes: int, options: Sequence[str]) -> list[list[str]]:
    """The commands that the nodes' users would give."""
    return [
        ["ftax_micro.launch_floor", *options, "-o", f"hand-{number}.json"]
        for number in range(nodes)
    ]


def seconds(modules: Sequence[Sequence[str]], folder: Path) -> float:
    """Wall time of ``python -m`` of all `modules` at once.

    Errors: `RuntimeError` where one fails.
    """
    begin_s = time.perf_counter()
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for module in modules
    ]
    ended = [process.communicate()[0] for process in processes]
    took_s = time.perf_counter() - begin_s
    for process, said in zip(processes, ended, strict=True):
        if process.returncode:
            raise RuntimeError(f"{process.args}: {said.decode(errors='replace')}")
    return took_s


if __name__ == "__main__":
    sys.exit(main())
