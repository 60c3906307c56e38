"""The options of ``dispatch_ladder`` and what they say of themselves."""

from __future__ import annotations

import argparse
from pathlib import Path

from ftax_micro import cli
from ftax_micro.cli.measuring_only import SAMPLING, refuse_measuring
from ftax_micro.errors import UsageError

_EPILOG = """\
examples:
  python -m ftax_micro.dispatch_ladder                     the cpu and the first GPU, a minute each
  python -m ftax_micro.dispatch_ladder --quick             the same in seconds, less what compiles
  python -m ftax_micro.dispatch_ladder --list              every rung in two sentences
  python -m ftax_micro.dispatch_ladder --rung ctypes,numba two rungs only
  python -m ftax_micro.dispatch_ladder -o ladder.json      and keep every raw sample
  python -m ftax_micro.dispatch_ladder --show ladder.json --picture ladder.svg
  python -m ftax_micro.dispatch_ladder --show ladder.json --predict models.json
      how much of the models' host time dispatch explains; models.json comes from
      `model_latency --model bert_base,resnet50 --twin -o models.json`

The table goes to stdout, messages to stderr. Each operation is the same in every layer: a
call of an empty function, a launch of an empty kernel, or the addition of two one-element
tensors. Its cost is the slope over programs of growing length, so that the clock, the entry
and the wait for the device fall into the cost per call.

exit codes: 0 done; 1 a rung failed; 2 wrong usage or unreadable input; 3 the
device is not available; 4 the result could not be written; 130 / 143 interrupted
or terminated, what was measured is saved
"""
# What only makes sense with a measurement, by the name argparse gives it.
_MEASURING = ("rung", *SAMPLING)


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.Parser(
        prog="python -m ftax_micro.dispatch_ladder",
        usage="%(prog)s [options]",
        description="""\
Measure what every software layer between a program and the hardware adds to one
operation: a raw call, the driver, the runtime, launchers of several libraries,
PyTorch's dispatcher, its Python, its modules, ONNX Runtime; each with an interval.""",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("what to measure")
    what.add_argument(
        "--device",
        default="auto",
        help="cpu, cuda (the first GPU), cuda:N, all, or auto: the cpu and the first GPU "
        "(default: auto)",
    )
    what.add_argument(
        "--rung",
        type=cli.names,
        metavar="NAME[,NAME]",
        help="only these rungs, as --list names them (default: all)",
    )
    what.add_argument(
        "--list", action="store_true", help="measure nothing; say what each rung is, and its source"
    )
    what.add_argument(
        "--show", type=Path, metavar="FILE", help="measure nothing; show a result saved with -o"
    )
    what.add_argument(
        "--predict",
        type=Path,
        metavar="FILE",
        help="say how much of the host time of FILE's models, a result of model_latency on this "
        "machine, the dispatch of their operations explains",
    )
    how = parser.add_argument_group(
        "how long", "TIME is in seconds, or has a unit: 0.5, 200ms, 1s. Defaults with --quick: [ ]."
    )
    cli.add_sampling_options(how, timeout="3s [1s]", watchdog_s=120.0)
    out = parser.add_argument_group("output")
    cli.add_output_options(out)
    out.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="draw the ladder into FILE, as its ending says: .svg, .png or .pdf; needs the extra "
        "`report`",
    )
    return parser


def check_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """With --show or --list, an option that would be ignored is one that somebody counts on.

    Errors: `UsageError`.
    """
    if args.show or args.list:
        refuse_measuring(parser, args, _MEASURING)
    if args.list and (args.predict or args.picture):
        raise UsageError("--list has nothing to predict from or to draw")
