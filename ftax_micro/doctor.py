"""``python -m ftax_micro.doctor``: what can run here and, for what cannot, why."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ftax_micro import cli

_EPILOG = """\
examples:
  python -m ftax_micro.doctor                    look at this machine
  python -m ftax_micro.doctor --format markdown  to paste into an issue

status: ok; warning: works, but numbers may suffer; missing: not here, and what
needs it is skipped; broken: here, but not usable

exit codes: 0 at least the cpu can be measured; 1 it cannot: the extension or the
cpu device is broken; 2 wrong usage; 4 the output could not be written; 130 / 143
interrupted or terminated
"""


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.Parser(
        prog="python -m ftax_micro.doctor",
        usage="%(prog)s [options]",
        description="Say what can run here and, for what cannot, why and what to do about it.\n"
        "Takes a second or two and measures nothing.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--format", default="table", help="table, json or markdown (default: table)"
    )
    return parser


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, look, render. Returns the exit code."""
    args = build_parser().parse_args(argv)
    from ftax_micro.reporters import DIAGNOSIS_REPORTERS

    render = DIAGNOSIS_REPORTERS.open(args.format)
    from ftax_micro.orchestration.doctor.diagnosis import can_measure, diagnose

    findings = diagnose()
    cli.write_output(render(findings))
    return 0 if can_measure(findings) else 1


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
