"""What it takes to summarise a fleet: `compare --group` over thousands of result files.

    python bench/pools.py [--quick] [-o FILE]

The files are launch floors of a made-up fleet with samples as few as --quick takes, one a machine,
in the folder for temporary files: some 0.4 GB. Each run is a process of its own, from its start to
its end; the whole fleet, a tenth of it and a single file take turns.

group      python -m ftax_micro.compare --group gpu,cpu of 5,000 files   target: at most 10 s, 1 GB
linearity  time on a core for each of 5,000 files, less that of a single
           file, over the same of 500 files                              target: at most 1.1
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from common import ROOT, attempt, finish, message, observed, parser, ratio
from rows import Row, skipped

FILES, FEW, TENTH = 5_000, 50, 10
SECONDS, GIGABYTES, LINEAR = 10.0, 1.0, 1.1
SAMPLES = 30


class Run(NamedTuple):
    """Of one process: seconds on the wall and on a core, and the most memory, in bytes."""

    wall_s: float
    cpu_s: float
    peak_bytes: float


def main(argv: Sequence[str] | None = None) -> int:
    args = parser(__doc__).parse_args(argv)
    files, blocks = (FEW, 1) if args.quick else (FILES, 6)
    rows = attempt("pools", lambda: measured(files, blocks))
    settings = {"files": files, "samples": SAMPLES, "blocks": blocks}
    return finish("pools", rows, args, settings)


def measured(files: int, blocks: int) -> list[Row]:
    """Rows of so many files, and of a tenth of them."""
    with tempfile.TemporaryDirectory() as folder:
        counts = {"whole": files, "tenth": files // TENTH, "one": 1}
        sizes = {name: written(Path(folder) / name, count) for name, count in counts.items()}
        message(f"{files:,} files of {sizes['whole'] / files / 1e3:.0f} kB")
        runs: dict[str, list[Run]] = {name: [] for name in counts}
        for block in range(blocks):
            for name in list(counts)[:: 1 if block % 2 else -1]:
                runs[name].append(grouped(Path(folder) / name))
    count, targets = f"{files:,} files", files == FILES
    wall = [run.wall_s for run in runs["whole"]]
    peaks = [run.peak_bytes / 1e6 for run in runs["whole"]]
    seconds = observed("slowest", max(wall), "s", SECONDS if targets else None)
    most = observed("megabytes", max(peaks), "count", GIGABYTES * 1e3 if targets else None)
    cpu = [run.cpu_s for run in runs["whole"]]
    return [
        Row(name=f"group, {count}", samples={"wall": wall, "cpu": cpu}, figures=[seconds]),
        Row(
            name=f"peak memory, {count}",
            unit="count",
            samples={"megabytes": peaks},
            figures=[most],
        ),
        linearity(runs, counts) if targets else skipped("linearity", "--quick has too few files"),
    ]


def linearity(runs: Mapping[str, Sequence[Run]], counts: Mapping[str, int]) -> Row:
    """Seconds on a core for each further file, of the whole and of the tenth."""
    each = {
        name: [
            (run.cpu_s - one.cpu_s) / (counts[name] - 1)
            for run, one in zip(runs[name], runs["one"], strict=True)
        ]
        for name in ("whole", "tenth")
    }
    return Row(
        name=f"linearity, a file of {counts['whole']:,} and of {counts['tenth']:,}",
        samples=each,
        figures=[ratio(each["whole"], each["tenth"], limit=LINEAR)],
    )


def written(folder: Path, files: int) -> int:
    """Bytes of a fleet's files in the new `folder`."""
    folder.mkdir()
    sys.path.insert(0, str(ROOT / "tests"))
    made = importlib.import_module("pool_results")
    size: int = made.write_fleet(folder, files, size=SAMPLES)
    return size


def grouped(folder: Path) -> Run:
    """One run of the command. Errors: `CalledProcessError`."""
    command = [sys.executable, "-m", "ftax_micro.compare", "--group", "gpu,cpu", str(folder)]
    begin_s = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder)
    _, status, usage = os.wait4(child.pid, 0)
    took_s = time.perf_counter() - begin_s
    child.returncode = os.waitstatus_to_exitcode(status)  # waited for already
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return Run(took_s, usage.ru_utime + usage.ru_stime, float(usage.ru_maxrss * kilobyte))


if __name__ == "__main__":
    sys.exit(main())
