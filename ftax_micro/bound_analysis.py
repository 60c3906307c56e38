"""``python -m ftax_micro.bound_analysis``: what explains a latency?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.errors import UsageError

if TYPE_CHECKING:
    from ftax_micro.analysis.sheet import Sheet
    from ftax_micro.analysis.views.contract import Question, View

_EPILOG = """\
examples:
  python -m ftax_micro.model_latency --model bert_base,resnet50 --twin --machine -o models.json
  python -m ftax_micro.bound_analysis models.json            bounds, tax and regime of every case,
                                                             and what to do about it
  python -m ftax_micro.bound_analysis models.json floor.json ladder.json --view estimates,splits
  python -m ftax_micro.bound_analysis models.json --view what_if --other-floor faster_gpu.json
  python -m ftax_micro.bound_analysis a100.json h100.json --paper
  python -m ftax_micro.bound_analysis trace.json.gz          the steps of a PyTorch profiler's trace
  python -m ftax_micro.bound_analysis report.sqlite --annotation 'step *'
                                                             NVTX ranges of Nsight Systems

It only computes: everything that needs a machine was recorded before. Bounds need the launch floor
of the same machine: recorded with --machine, one more FILE of launch_floor, or given by --floor; on
the cpu also the models' zero-work twins (--twin), on a GPU their device pass, which model_latency
records by itself. A dispatch ladder given as a FILE serves estimates and splits likewise. A
trace is bounded by --floor, else by the launch floor of its GPU among FILE, else by its own
shortest launches.

exit codes: 0 done; 2 wrong usage or unreadable input; 4 the result could not be written
"""
DEFAULT_VIEWS = ("bounds", "advice")
_ALL = "all"


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.Parser(
        prog="python -m ftax_micro.bound_analysis",
        usage="%(prog)s FILE [FILE …] [options]",
        description="""\
Set a latency beside its bounds: what the kernels alone would take, what launching
them one by one would, and what one graph of them would. The rest is the framework
tax. Says which of them binds: the device, the launches, or the framework.""",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="results of model_latency or of the main job, a launch floor and a dispatch ladder of "
        "their machine, and traces: of the PyTorch profiler (.json, .json.gz), or of Nsight "
        "Systems after nsys export --type sqlite",
    )
    parser.add_argument(
        "--floor",
        type=Path,
        metavar="FILE",
        help="a result with the launch floor (default: each file's own, or that of another FILE of "
        "its machine, for a trace of its GPU)",
    )
    parser.add_argument(
        "--other-floor",
        type=Path,
        metavar="FILE",
        help="the launch floor of another machine, for what_if (default: those among FILE)",
    )
    _add_views(parser)
    return parser


def _add_views(parser: argparse.ArgumentParser) -> None:
    """What is shown, of what, and how."""
    parser.add_argument(
        "--view",
        action="append",
        metavar="NAME",
        help="what to show, by commas, or all (default: bounds,advice); --list says what there is",
    )
    parser.add_argument(
        "--paper", action="append_const", dest="view", const="paper", help="short for --view paper"
    )
    parser.add_argument("--list", action="store_true", help="show the views and end")
    parser.add_argument(
        "--annotation",
        metavar="NAME",
        help="cut traces at the annotations of that name, or of a pattern: 'iteration *'",
    )
    parser.add_argument(
        "--whole", action="store_true", help="take traces whole (default: the profiler's steps)"
    )
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        help="order rows by a column of the CSV, the largest first; -COLUMN the other way",
    )
    parser.add_argument("--top", type=_count, metavar="N", help="show the first N rows")
    parser.add_argument(
        "--format", default="table", help="table, csv, json or markdown (default: table)"
    )


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, load, compute, render. Returns the exit code."""
    args = build_parser().parse_args(argv)
    from ftax_micro.analysis.views import VIEWS
    from ftax_micro.reporters import SHEET_REPORTERS

    if args.list:
        width = max(map(len, VIEWS))
        lines = [f"{name:<{width}}  {VIEWS.open(name).summary}\n" for name in VIEWS]
        cli.write_output("".join(lines))
        return 0
    render = SHEET_REPORTERS.open(args.format)
    wanted = [name.strip() for text in args.view or _default(args) for name in text.split(",")]
    names = dict.fromkeys(VIEWS if _ALL in wanted else wanted)
    views = {name: VIEWS.open(name) for name in names}
    question = _question(args)
    sheets = [_cut(view.build(question), args) for view in views.values()]
    if len(sheets) > 1:  # a reader has to be told where one ends and what the next one is
        sheets = [_titled(sheet, view) for sheet, view in zip(sheets, views.values(), strict=True)]
    cli.write_output(render(sheets))
    return 0


def _titled(sheet: Sheet, view: View) -> Sheet:
    return replace(sheet, title=sheet.title or f"{sheet.name}: {view.summary}")


def _default(args: argparse.Namespace) -> tuple[str, ...]:
    """The table alone where one is asked for."""
    alone = args.format == "csv" or args.sort or args.top
    return DEFAULT_VIEWS[:1] if alone else DEFAULT_VIEWS


def _cut(sheet: Sheet, args: argparse.Namespace) -> Sheet:
    from ftax_micro.analysis.sheet import ordered, topmost

    sheet = ordered(sheet, args.sort) if args.sort else sheet
    return topmost(sheet, args.top) if args.top else sheet


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _question(args: argparse.Namespace) -> Question:
    from ftax_micro.cli.sources import load_question

    question = load_question(
        *(args.files, args.floor, args.annotation),
        whole=args.whole,
        other_floor=args.other_floor,
    )
    _check_sources(question)
    return question


def _check_sources(question: Question) -> None:
    """Something to analyse, and a warning of what does not belong together."""
    from ftax_micro.cli.sources import machine_warnings

    results = question.results
    if not question.traces and not any(result.cases for _, result in results):
        name, result = results[0]
        raise UsageError(f"{name} is a result of {result.kind}: it has no models to analyse")
    cuts = "--annotation" if question.annotation is not None else "--whole"
    if not question.traces and (question.whole or question.annotation is not None):
        cli.message(f"warning: {cuts} is about traces, of which there is none")
    for sentence in (*machine_warnings(question), *question.unused):
        cli.message(f"warning: {sentence}")


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
