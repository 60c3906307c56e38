"""All benches of this folder on this machine, in one file and one table.

    python bench/run_all.py [--quick] [-o FILE] [--readme]
    python bench/run_all.py --add FILE… [--readme]

Runs every script in a process of its own, one after the other (it takes long; leave the machine
alone meanwhile), writes bench/results/<machine>-bench.json, or FILE, and prints the table. With
--quick nothing goes to bench/results. --add runs nothing: it puts what single scripts wrote with -o
into the file of their machine, each in the place of what the script wrote there before. --readme
puts the tables of all machines in bench/results into bench/README.md.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common import BENCH, RESULTS, machine_name, message
from rows import Report, decode, encode
from table import markdown

from ftax_micro.errors import FtaxError

SCRIPTS = (
    *("loop_overhead", "peers", "repeatability", "import_cost", "cuda_wall", "latency_accuracy"),
    *("latency_repeatability", "latency_peers", "trace_peers", "launch_peers", "report_page"),
    *("pools", "fleet_overhead", "coverage"),
)
README = BENCH / "README.md"
TABLE = re.compile(r"(<!-- table: begin -->\n).*(<!-- table: end -->)", re.DOTALL)


def main(argv: Sequence[str] | None = None) -> int:
    args = arguments(argv)
    worst = 0
    if args.add:
        try:
            reports = [report for file in args.add for report in read(file)]
        except (OSError, ValueError, FtaxError) as error:
            message(f"run_all: {error}")
            return 2
        for name in dict.fromkeys(machine_name(report.machine) for report in reports):
            file = RESULTS / f"{name}-bench.json"
            added = [report for report in reports if machine_name(report.machine) == name]
            write(file, joined(read(file) if file.exists() else [], added))
    else:
        reports, worst = run_scripts(quick=args.quick)
        file = args.output
        if file is None and reports and not args.quick:
            file = RESULTS / f"{machine_name(reports[0].machine)}-bench.json"
        if file is not None:
            write(file, reports)
    print(all_tables(reports))
    if args.readme:
        tables = "\n\n".join(
            all_tables(read(each)) for each in sorted(RESULTS.glob("*-bench.json"))
        )
        README.write_text(TABLE.sub(lambda m: f"{m[1]}{tables}\n{m[2]}", README.read_text()))
    return worst


def run_scripts(*, quick: bool) -> tuple[list[Report], int]:
    """The reports of all scripts that wrote one, and the worst exit code."""
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{name}.json" for name in SCRIPTS]
        for name, file in zip(SCRIPTS, files, strict=True):
            message(f"bench/{name}.py")
            command = [sys.executable, str(BENCH / f"{name}.py"), "-o", str(file)]
            command += ["--quick"] if quick else []
            done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            worst = max(worst, done.returncode)
        return [decode(file.read_bytes()) for file in files if file.exists()], worst


def joined(before: Sequence[Report], added: Sequence[Report]) -> list[Report]:
    """All of `added`, and of what was there `before` what other scripts wrote; in their order."""
    scripts = {report.bench for report in added}
    every = [*(report for report in before if report.bench not in scripts), *added]
    return sorted(every, key=lambda report: SCRIPTS.index(report.bench))


def read(file: Path) -> list[Report]:
    """The reports in `file`: one, as a script writes it, or several."""
    raw = json.loads(file.read_bytes())
    parts = raw if isinstance(raw, list) else [raw]
    return [decode(json.dumps(part).encode()) for part in parts]


def write(file: Path, reports: Sequence[Report]) -> None:
    """All of them into `file`."""
    texts = [encode(report).decode().rstrip() for report in reports]
    file.write_text("[\n" + ",\n".join(texts) + "\n]\n")
    message(f"wrote {file}")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a try, not a result")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="instead of results/")
    parser.add_argument(
        "--add", nargs="+", type=Path, metavar="FILE", help="run nothing, add these"
    )
    parser.add_argument("--readme", action="store_true", help="put all tables into README.md")
    return parser.parse_args(argv)


def all_tables(reports: Sequence[Report]) -> str:
    """The machine, then each script's table under its name."""
    if not reports:
        return "nothing was measured"
    machine = reports[0].machine
    gpus = ", ".join(machine["gpus"]) if isinstance(machine["gpus"], list) else ""
    where = f"{machine['cpu']}, {machine['logical_cpus']} CPUs, {gpus or 'no GPU'}, "
    where += f"{machine['os']}, Python {machine['python']}; {reports[0].created_at[:10]}"
    if any(report.quick for report in reports):
        where += "; quick: a try, not a result"
    parts = [where]
    for report in reports:
        parts += [f"`bench/{report.bench}.py`", markdown(report.rows)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
