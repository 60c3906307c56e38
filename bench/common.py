"""What the scripts beside this file share: rows with raw samples, verdicts, files and tables.

Every comparison is made of blocks: in each, all variants run once, in an order that turns round
from block to block, so that drift of the machine falls on all alike and cancels in a block's ratio.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import cycle
from pathlib import Path

from rows import Figure, Report, Row, Unit, encode, failed
from table import markdown

import ftax_micro
from ftax_micro import stats
from ftax_micro.environment import capture_environment
from ftax_micro.records import Data
from ftax_micro.results import Result, load_result
from ftax_micro.trust import trust_warnings

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
RESULTS = BENCH / "results"


def interleave(
    probes: Mapping[str, Callable[[], float]], blocks: int, warmup: int = 1
) -> dict[str, list[float]]:
    """Each probe once a block, `blocks` times, the order turned round every time."""
    samples: dict[str, list[float]] = {name: [] for name in probes}
    names = list(probes)
    order = cycle((names, names[::-1]))
    for block in range(-warmup, blocks):
        for name in next(order):
            value = probes[name]()
            if block >= 0:
                samples[name].append(value)
    return samples


@contextlib.contextmanager
def until_stopped() -> Iterator[None]:
    """Ctrl-C or SIGTERM ends what is within, and the script goes on with what was measured."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        message("stopped: the rest is left out")
    finally:
        signal.signal(signal.SIGTERM, before)


def measured_by(
    command: str, *options: str, environment: Mapping[str, str] | None = None, strict: bool = True
) -> tuple[Result, float]:
    """The result of `command` in a fresh process, and its wall time in seconds, all included.

    `environment` is added to this process's own. Errors: `RuntimeError` where it leaves no result,
    or, if `strict`, where it ends with anything but 0.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        begin_s = time.perf_counter()
        # From a neutral folder: the installed package is what is measured.
        done = subprocess.run(
            [sys.executable, "-m", f"ftax_micro.{command}", *options, "-o", str(output)],
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )
        wall_s = time.perf_counter() - begin_s
        if not output.exists() or (strict and done.returncode):
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr.strip()}")
        return load_result(output), wall_s


def slope_of(data: Data) -> float:
    """Seconds per operation of a burst measurement, without an interval."""
    counts = [level.count for level in data.levels]
    medians = [stats.median_interval(level.samples_s).value for level in data.levels]
    return float(stats.fit_line(counts, medians)[0])


def ratio(
    ours: Sequence[float],
    other: Sequence[float],
    *,
    what: str = "ratio",
    limit: float | None = None,
    comparisons: int = 1,
) -> Figure:
    """Ours over the other's, from paired blocks."""
    found = stats.paired_ratio(ours, other, comparisons=comparisons)
    return _figure(what, "ratio", found, limit)


def difference(
    ours: Sequence[float],
    other: Sequence[float],
    *,
    what: str = "difference",
    limit: float | None = None,
) -> Figure:
    """Ours less the other's, from paired blocks (seconds)."""
    pairs = zip(ours, other, strict=True)
    return _figure(what, "s", stats.median_interval([a - b for a, b in pairs]), limit)


def spread(medians: Sequence[float]) -> float:
    """Largest over smallest, less one."""
    return max(medians) / min(medians) - 1


def observed(what: str, value: float, unit: Unit, limit: float | None = None) -> Figure:
    """A figure that is an observation: no interval about it."""
    return Figure(what=what, unit=unit, value=value, low=value, high=value, limit=limit)


def _figure(what: str, unit: Unit, found: stats.Estimate, limit: float | None) -> Figure:
    low, high = (None if v is None else float(v) for v in (found.low, found.high))
    return Figure(what=what, unit=unit, value=float(found.value), low=low, high=high, limit=limit)


def attempt(name: str, measure: Callable[[], Row | list[Row]]) -> list[Row]:
    """The rows of `measure`, or one that says what went wrong."""
    try:
        rows = measure()
    except Exception as error:
        return [failed(name, error)]
    return rows if isinstance(rows, list) else [rows]


def parser(script_doc: str | None) -> argparse.ArgumentParser:
    """The arguments all scripts share; `script_doc` is the script's own text."""
    made = argparse.ArgumentParser(
        description=script_doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--quick", action="store_true", help="few blocks: a try, not a result")
    made.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the raw samples")
    return made


def finish(
    bench: str,
    rows: list[Row],
    args: argparse.Namespace,
    settings: dict[str, str | float | int] | None = None,
) -> int:
    """Print the table, write the file where asked. Returns the exit code: 1 where a row failed.

    Targets are printed, never enforced: what a machine cannot meet is a finding, not an error.
    """
    report = Report(
        bench=bench,
        created_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        quick=args.quick,
        machine=machine_facts(),
        settings=settings or {},
        rows=rows,
    )
    if args.output:
        args.output.write_bytes(encode(report))
    print(markdown(rows))
    return int(any(row.status == "failed" for row in rows))


def machine_facts() -> dict[str, str | float | int | list[str] | None]:
    """What the numbers belong to, and what would falsify them. No host name."""
    from ftax_micro.devices._extension import core

    build = core().source_digest
    environment = capture_environment(command=[], build_id=build)
    host, process = environment.host, environment.process
    gpus = environment.gpus or []
    return {
        "cpu": host.cpu_model,
        "logical_cpus": host.logical_cpus,
        "governors": host.governors,
        "hypervisor": host.hypervisor,
        "clock_source": host.clock_source,
        "load_1min": host.load_average[0] if host.load_average else None,
        "gpus": [f"{gpu.name}, driver {gpu.driver_version}" for gpu in gpus],
        "os": environment.os,
        "kernel": (environment.kernel or "").partition("-")[0] or None,
        "python": process.python_version,
        "ftax_micro": ftax_micro.__version__,
        "build": build[:12],
        "packages": [f"{name} {version}" for name, version in sorted(process.packages.items())],
        "warnings": [warning.sentence for warning in trust_warnings(environment)],
    }


def machine_name(facts: Mapping[str, object]) -> str:
    """A file name's first part: the GPU, or else the processor."""
    gpus = facts.get("gpus")
    text = str(gpus[0]).partition(",")[0] if isinstance(gpus, list) and gpus else facts.get("cpu")
    words = re.sub(r"\((r|tm)\)|processor|cpu|nvidia|@", " ", str(text or "unknown").lower())
    return re.sub(r"[^a-z0-9.]+", "-", words).strip("-") or "unknown"


def message(text: str) -> None:
    """Progress, beside the table."""
    print(text, file=sys.stderr, flush=True)
