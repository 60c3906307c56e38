"""All benches of this folder on this machine, in one file and one table.

    python bench/run_all.py [--quick] [-o FILE] [--readme]

Runs every script in a process of its own, one after the other (it takes long; leave the machine
alone meanwhile), writes bench/results/<machine>-bench.json, or FILE, and prints the table.
--readme puts the table into bench/README.md. With --quick nothing goes to bench/results.
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
from rows import Report, decode
from table import markdown

SCRIPTS = (
    *("loop_overhead", "peers", "repeatability", "import_cost", "latency_accuracy"),
    *("latency_repeatability", "latency_peers", "trace_peers", "launch_peers", "report_page"),
    *("pools", "fleet_overhead", "coverage"),
)
README = BENCH / "README.md"
TABLE = re.compile(r"(<!-- table: begin -->\n).*(<!-- table: end -->)", re.DOTALL)


def main(argv: Sequence[str] | None = None) -> int:
    args = arguments(argv)
    reports: list[Report] = []
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{name}.json" for name in SCRIPTS]
        for name, file in zip(SCRIPTS, files, strict=True):
            message(f"bench/{name}.py")
            command = [sys.executable, str(BENCH / f"{name}.py"), "-o", str(file)]
            command += ["--quick"] if args.quick else []
            done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            worst = max(worst, done.returncode)
        done_files = [file for file in files if file.exists()]
        reports = [decode(file.read_bytes()) for file in done_files]
        text = "[\n" + ",\n".join(file.read_text().rstrip() for file in done_files) + "\n]\n"
    output = args.output
    if output is None and reports and not args.quick:
        output = RESULTS / f"{machine_name(reports[0].machine)}-bench.json"
    if output is not None:
        json.loads(text)
        output.write_text(text)
        message(f"wrote {output}")
    table = all_tables(reports)
    print(table)
    if args.readme:
        README.write_text(TABLE.sub(lambda m: f"{m[1]}{table}\n{m[2]}", README.read_text()))
    return worst


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a try, not a result")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="instead of results/")
    parser.add_argument("--readme", action="store_true", help="put the table into README.md")
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
