"""Does `launch_floor --device cpu --quick` give the same answer again, and in time?

    python bench/repeatability.py [--quick] [-o FILE]

Ten fresh processes one after the other (--quick: three, and no default run). Per row and setting
the figure is the largest median over the smallest, less one. Targets, on an otherwise idle machine:
call_extension 5 %, submit 15 %; a quick run within 5 s, a default run within 60 s, all included.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from common import attempt, finish, message, observed, parser
from rows import Row

from ftax_micro import load_result, stats
from ftax_micro.records import Data

# Rows with a target; all others of the anatomy are reported without.
SPREAD = {"call_extension": 0.05, "submit": 0.15}
QUICK_S, DEFAULT_S = 5.0, 60.0


def main(argv: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, metavar="N", help="quick runs (default: 10; 3)")
    options.add_argument("--probe", metavar="NAME[,NAME]", help="only these rows")
    args = options.parse_args(argv)
    runs = args.runs or (3 if args.quick else 10)
    chosen = ["--probe", args.probe] if args.probe else []
    rows = attempt("quick runs", lambda: quick_runs(runs, chosen))
    if not args.quick:
        rows += attempt("default run", lambda: default_run(chosen))
    return finish("repeatability", rows, args, {"runs": runs})


def quick_runs(runs: int, chosen: Sequence[str]) -> list[Row]:
    """Spread of every row's headline over `runs` processes, and how long each took."""
    values: dict[str, list[float]] = {}
    walls: list[float] = []
    for number in range(runs):
        message(f"run {number + 1} of {runs}")
        found, wall_s = launch_floor("--quick", *chosen)
        walls.append(wall_s)
        for name, value_s in found.items():
            values.setdefault(name, []).append(value_s)
    rows = [spread_row(name, samples) for name, samples in values.items() if len(samples) == runs]
    slowest = observed("slowest", max(walls), "s", QUICK_S)
    return [*rows, Row(name="wall time, --quick", samples={"ours": walls}, figures=[slowest])]


def spread_row(name: str, samples: list[float]) -> Row:
    """Largest over smallest, less one."""
    limit = SPREAD.get(name.partition(" ")[0])
    figure = observed("spread", max(samples) / min(samples) - 1, "fraction", limit)
    return Row(name=name, samples={"ours": samples}, figures=[figure])


def default_run(chosen: Sequence[str]) -> Row:
    """One run with default settings."""
    message("one default run")
    _, wall_s = launch_floor(*chosen)
    figures = [observed("took", wall_s, "s", DEFAULT_S)]
    return Row(name="wall time, default", samples={"ours": [wall_s]}, figures=figures)


def launch_floor(*options: str) -> tuple[dict[str, float], float]:
    """Headlines (seconds) by row and setting of one run in a fresh process, and its wall time."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "floor.json"
        command = [sys.executable, "-m", "ftax_micro.launch_floor", "--device", "cpu", *options]
        begin_s = time.perf_counter()
        # From a neutral folder: the installed package is what is measured.
        done = subprocess.run(
            [*command, "-o", str(output)], capture_output=True, text=True, check=False, cwd=folder
        )
        wall_s = time.perf_counter() - begin_s
        if done.returncode:
            raise RuntimeError(f"launch_floor ended with {done.returncode}: {done.stderr.strip()}")
        result = load_result(output)
    found = {}
    for row in result.measurements:
        if row.data is not None and row.data.unit == "s":
            setting = " ".join(f"{key}={value}" for key, value in row.setting.items())
            found[f"{row.name} {setting}".strip()] = headline(row.data)
    return found, wall_s


def headline(data: Data) -> float:
    """The row's median or slope, seconds."""
    if data.estimate == "median":
        return stats.median_interval(data.samples).value
    counts = [level.count for level in data.levels]
    line = stats.slope_interval(counts, [level.samples_s for level in data.levels], resamples=1)
    return float((line.slope if data.estimate == "slope" else line.intercept).value)


if __name__ == "__main__":
    sys.exit(main())
