"""The options of ``launch_floor`` and what they say of themselves."""

from __future__ import annotations

import argparse
from pathlib import Path

from ftax_micro import cli
from ftax_micro.cli.measuring_only import SAMPLING, refuse_measuring

_EPILOG = """\
examples:
  python -m ftax_micro.launch_floor                       the best device here, a minute or so
  python -m ftax_micro.launch_floor --device cpu --quick  the host alone, in seconds
  python -m ftax_micro.launch_floor -o floor.json         and keep every raw sample
  python -m ftax_micro.launch_floor --show floor.json     look at a saved run again
  python -m ftax_micro.launch_floor --probe submit,sync   two rows only
  python -m ftax_micro.launch_floor --axis idle           how idling before a launch changes it

The table goes to stdout, messages to stderr.

exit codes: 0 done; 1 a row failed; 2 wrong usage or unreadable input; 3 the
device is not available; 4 the result could not be written; 130 / 143 interrupted
or terminated, what was measured is saved
"""
# What only makes sense with a measurement, by the name argparse gives it.
_MEASURING = ("probe", "axis", *SAMPLING, "allow_untrusted")


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.Parser(
        prog="python -m ftax_micro.launch_floor",
        usage="%(prog)s [options]",
        description="""\
Measure the launch anatomy of this machine: what one kernel launch (device cuda),
or one hand-off between two cores (device cpu), costs part by part, each with an
interval.""",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("what to measure")
    what.add_argument(
        "--device",
        default="auto",
        help="cpu, cuda (the first GPU), cuda:N, all, or auto: the first GPU, else the cpu "
        "(default: auto)",
    )
    what.add_argument(
        "--probe",
        type=cli.names,
        metavar="NAME[,NAME]",
        help="only these rows, as --list names them (default: all)",
    )
    what.add_argument(
        "--axis",
        type=cli.names,
        default=[],
        metavar="NAME[,NAME]",
        help="vary this axis, as --list names it, instead of measuring the default settings; of "
        "several, one at a time (default: none)",
    )
    what.add_argument(
        "--list", action="store_true", help="measure nothing; list rows, settings and axes"
    )
    what.add_argument(
        "--show", type=Path, metavar="FILE", help="measure nothing; show a result saved with -o"
    )
    how = parser.add_argument_group(
        "how long", "TIME is in seconds, or has a unit: 0.5, 200ms, 1s. Defaults with --quick: [ ]."
    )
    cli.add_sampling_options(how)
    out = parser.add_argument_group("output")
    cli.add_output_options(out)
    out.add_argument(
        "--allow-untrusted",
        action="store_true",
        help="measure although something (a tracer, launch blocking) makes the numbers meaningless",
    )
    return parser


def check_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """With --show or --list, an option that would be ignored is one that somebody counts on.

    Errors: `UsageError`.
    """
    if args.show or args.list:
        refuse_measuring(parser, args, _MEASURING)
