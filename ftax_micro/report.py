"""``python -m ftax_micro.report``: result files as one page, as pictures or as timelines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import __version__, cli
from ftax_micro.errors import UsageError

if TYPE_CHECKING:
    from ftax_micro.analysis.views.contract import Question

_EPILOG = """\
examples:
  python -m ftax_micro.report models.json -o report.html
  python -m ftax_micro.report floor.json ladder.json models.json -o report.html
  python -m ftax_micro.report models.json --format pdf -o figures
  python -m ftax_micro.report models.json --format perfetto -o timeline.json.gz

The page needs no network: it can be mailed, put on a web server, or printed. It only reads: what
was not measured is said to be missing, with the command that measures it. --format svg, png or pdf
writes each figure into a folder instead, with its data as CSV beside it. --format perfetto writes
each forward that was traced on a GPU, and each step of a trace, as a timeline for ui.perfetto.dev
or chrome://tracing: what was measured, above it the schedules of its bounds (gzip for a name that
ends in .gz).

exit codes: 0 done; 1 a package is missing; 2 wrong usage or unreadable input; 4 the report could
not be written
"""
_PICTURES = ("svg", "png", "pdf")
_TIMELINES = "perfetto"
_FORMATS = ("html", *_PICTURES, _TIMELINES)
# Of what is left out of the timelines; more would hide the rest.
_MOST_REASONS = 3


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.Parser(
        prog="python -m ftax_micro.report",
        usage="%(prog)s FILE [FILE …] -o REPORT [options]",
        description="""\
Draw what was measured: the answer in words, the launch floor, the ladder, latency
against the size of the input, where the latency goes, one forward on host and
device, and on what machine all of it was measured.""",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="results of any command, and traces: of the PyTorch profiler (.json, .json.gz), of "
        "Nsight Systems (.sqlite)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="REPORT",
        help="the page or the file of timelines to write, or the folder of the pictures",
    )
    parser.add_argument("--force", action="store_true", help="replace what is at REPORT")
    parser.add_argument(
        "--floor",
        type=Path,
        metavar="FILE",
        help="a result with the launch floor that bounds rest on (default: each file's own)",
    )
    parser.add_argument(
        "--annotation", metavar="NAME", help="cut traces at the annotations of that name"
    )
    parser.add_argument(
        "--whole", action="store_true", help="take traces whole (default: the profiler's steps)"
    )
    parser.add_argument(
        "--format", default="html", help="html, svg, png, pdf or perfetto (default: html)"
    )
    parser.add_argument(
        "--only",
        metavar="PART",
        help="with --format perfetto: the cases and steps that have PART, a pattern as of files, "
        "in their name, as 'batch 1 *eager' or 'ProfilerStep#5 ' (default: all)",
    )
    return parser


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, check, load, compute, write. Returns the exit code."""
    args = build_parser().parse_args(argv)
    _check(args)
    from ftax_micro.cli.report_page import write_page
    from ftax_micro.cli.sources import load_question, machine_warnings

    question = load_question(args.files, args.floor, args.annotation, whole=args.whole)
    for sentence in machine_warnings(question):
        cli.message(f"warning: {sentence}")
    if args.format == "html":
        write_page(question, args.output, force=args.force)
        cli.message(f"saved {args.output}")
        return 0
    if args.format == _TIMELINES:
        return _write_timelines(question, args)
    from ftax_micro.analysis.report import build_page
    from ftax_micro.reporters.pictures import write_pictures

    page = build_page(question, __version__)
    count = write_pictures(page, args.output, args.format, force=args.force)
    cli.message(f"saved {count} {'figure' if count == 1 else 'figures'} in {args.output}")
    return 0


def _write_timelines(question: Question, args: argparse.Namespace) -> int:
    from ftax_micro.analysis.tracks.choice import choose
    from ftax_micro.errors import OutputError
    from ftax_micro.reporters.perfetto import render_perfetto
    from ftax_micro.results import save_bytes

    chosen = choose(question, args.only)
    left = list(chosen.left_out[:_MOST_REASONS])
    if more := len(chosen.left_out) - len(left):
        left.append(f"and {more} more")
    if not chosen.timelines:
        raise OutputError(f"nothing was written to {args.output}: {'; '.join(left)}")
    for words in left:
        cli.message(f"left out: {words}")
    timelines = (each.build() for each in chosen.timelines)
    packed = args.output.name.endswith(".gz")
    save_bytes(
        render_perfetto(timelines, __version__, packed=packed), args.output, force=args.force
    )
    number = len(chosen.timelines)
    cli.message(f"saved {number} {'timeline' if number == 1 else 'timelines'} in {args.output}")
    return 0


def _check(args: argparse.Namespace) -> None:
    """Everything that would end the command after the work, before it."""
    if args.format not in _FORMATS:
        from ftax_micro.errors import UnknownNameError

        raise UnknownNameError("format", args.format, _FORMATS)
    if not args.files:
        raise UsageError("the following arguments are required: FILE")
    if args.output is None:
        raise UsageError("the following arguments are required: -o REPORT")
    if args.annotation is not None and args.whole:
        raise UsageError("--annotation cuts traces, --whole does not: choose one")
    if args.only is not None and args.format != _TIMELINES:
        raise UsageError(f"--only chooses timelines, which --format {_TIMELINES} writes")
    if args.format == _TIMELINES:
        from ftax_micro.results import check_output

        check_output(args.output, force=args.force)
        return
    if args.format == "html":
        from ftax_micro.cli.report_page import check_page_file

        check_page_file(args.output, force=args.force)
        return
    from ftax_micro.reporters.pictures import check_folder

    check_folder(args.output, args.format, force=args.force)


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
