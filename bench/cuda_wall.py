"""How long does the launch anatomy of a GPU take?

    python bench/cuda_wall.py [--quick] [--probe NAME[,NAME]] [--fake-dir DIR] [-o FILE]

Wall time of `launch_floor --device cuda --quick`, some processes one after the other, and of one
with default settings, all included: on the GPU of this machine, and over the tests' fake driver and
fake CUPTI, whose calls and kernels take about as long as a recent GPU's (COSTS). What the fake
cannot tell of a GPU is how long its context takes to open. What it has beyond one: its device is a
thread, so that waking it is in every wait, on a machine of two cores beside both of our threads.

Targets: a quick run within 15 s, a default run within 180 s. (--quick: one quick run alone.)
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from common import ROOT, attempt, finish, message, observed, parser
from rows import Row, skipped

from ftax_micro import load_result
from ftax_micro.devices import cuda_unavailable_reason

QUICK_S, DEFAULT_S = 15.0, 180.0
REAL, FAKE = "GPU", "fake driver"
# The fake's settings in nanoseconds, of the order of what is published of an H100 and an H200: some
# 2 µs a launch call, 2.4 to 4.7 µs from it to the kernel (arXiv 2504.11750, arXiv 2603.12465).
COSTS = {
    **{"submit_ns": 2000, "submit_ex_ns": 2000, "submit_dependent_ns": 2100},
    **{"submit_cooperative_ns": 2500, "submit_runtime_ns": 2200, "traced_call_ns": 1000},
    **{"h2d_ns": 500, "d2h_ns": 700, "start_ns": 3000, "start_active_ns": 2500},
    **{"gap_ns": 1000, "gap_dependent_ns": 500, "body_ns": 1500},
    **{"sync_spin_ns": 3000, "sync_yield_ns": 3500, "sync_blocking_ns": 15000},
    **{"sync_query_ns": 3000, "query_ns": 800},
    **{"stream_sync_idle_ns": 700, "event_sync_idle_ns": 700, "ctx_sync_idle_ns": 1500},
    **{"event_record_ns": 900, "stream_wait_ns": 700, "memset_submit_ns": 2500},
    **{"h2d_submit_ns": 2500, "d2h_submit_ns": 2500, "memset_ns": 2000},
    **{"h2d_copy_ns": 1500, "d2h_copy_ns": 1500, "pageable_h2d_ns": 2000, "pageable_d2h_ns": 8000},
    **{"capture_begin_ns": 1000, "capture_node_ns": 700, "capture_end_ns": 3000},
    **{"graph_instantiate_ns": 20000, "graph_instantiate_node_ns": 1000},
    **{"graph_upload_ns": 10000, "graph_upload_node_ns": 100},
    **{"graph_update_ns": 10000, "graph_update_node_ns": 500},
    **{"graph_launch_ns": 5000, "graph_launch_node_ns": 20},
    **{"graph_start_ns": 4000, "graph_gap_ns": 800},
    "knee": 1024,
}


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--fake-dir", type=Path, help="where the fake driver is built and kept")
    options.add_argument("--probe", metavar="NAME[,NAME]", help="only these rows")
    args = options.parse_args(argv)
    runs = 1 if args.quick else 5
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        prepared: dict[str, dict[str, str] | str] = {REAL: cuda_unavailable_reason() or {}}
        prepared[FAKE] = fake_environment(args.fake_dir or Path(folder))
        for where, environment in prepared.items():
            names = [f"--quick, {where}"] if args.quick else [f"--quick, {where}", where]
            if isinstance(environment, str):
                rows += [skipped(f"wall time, {name}", environment) for name in names]
                continue
            for name in names:
                measure = functools.partial(walls, name, environment, runs, args.probe)
                rows += attempt(f"wall time, {name}", measure)
    return finish("cuda_wall", rows, args, {"runs": runs, **COSTS})


def fake_environment(folder: Path) -> dict[str, str] | str:
    """What makes a process find the fake driver; or why there is none."""
    sys.path.insert(0, str(ROOT / "tests"))
    import fake_cupti
    from fake_cuda.build import Builder, NotBuildable

    try:
        builder = Builder(folder)
        libraries = builder.driver(), builder.runtime()
    except NotBuildable as reason:
        return str(reason)
    return {
        "CUDA_VISIBLE_DEVICES": "0",
        "FTAX_MICRO_CUDA_DRIVER": str(libraries[0]),
        "FTAX_MICRO_CUDA_RUNTIME": str(libraries[1]),
        "FAKE_CUDA": ",".join(f"{name}={value}" for name, value in COSTS.items()),
        "PYTHONPATH": str(fake_cupti.FOLDER),
    }


def walls(name: str, environment: Mapping[str, str], runs: int, probes: str | None) -> Row:
    """Seconds of `runs` quick runs, or of one with default settings; how many rows have a value."""
    quick = name.startswith("--quick")
    taken: list[float] = []
    for number in range(runs if quick else 1):
        message(f"{name}: run {number + 1}")
        wall_s, rows_by_status = run_once(environment, probes, quick=quick)
        taken.append(wall_s)
    what, seconds = ("median", median(taken)) if quick else ("took", taken[0])
    figures = [observed(what, seconds, "s", QUICK_S if quick else DEFAULT_S)]
    if len(taken) > 1:
        figures.append(observed("slowest", max(taken), "s"))
    facts = {f"rows {status}": count for status, count in rows_by_status.items()}
    return Row(name=f"wall time, {name}", samples={"ours": taken}, figures=figures, facts=facts)


def run_once(
    environment: Mapping[str, str], probes: str | None, *, quick: bool
) -> tuple[float, Counter[str]]:
    """Wall time of one run in seconds, and how many of its rows ended how."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "floor.json"
        command = [sys.executable, "-m", "ftax_micro.launch_floor", "--device", "cuda"]
        command += ["--quick"] if quick else []
        command += ["--probe", probes] if probes else []
        begin_s = time.perf_counter()
        # From a neutral folder: the installed package is what is measured.
        done = subprocess.run(
            [*command, "-o", str(output)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )
        wall_s = time.perf_counter() - begin_s
        if done.returncode:
            raise RuntimeError(f"launch_floor ended with {done.returncode}: {done.stderr.strip()}")
        return wall_s, Counter(row.status for row in load_result(output).measurements)


if __name__ == "__main__":
    sys.exit(main())
