"""``python -m ftax_micro.compare``: results of several machines, or before and after."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import cli

if TYPE_CHECKING:
    from ftax_micro.analysis.comparing.comparison import Comparison
    from ftax_micro.analysis.comparing.ratios import Ratio
    from ftax_micro.analysis.comparing.sections import ComparedRow

# What --fail-on may name, and the verdicts each stands for.
FAIL_ON = {
    "slower": ("slower",),
    "faster": ("faster",),
    "different": ("slower", "faster", "different"),
    "ambiguous": ("ambiguous",),
    "missing": (),
}

_EPILOG = """\
examples:
  python -m ftax_micro.compare laptop.json server.json             two machines
  python -m ftax_micro.compare *.json --baseline server.json       all against one of them
  python -m ftax_micro.compare old.json new.json --fail-on slower  a gate: exit 1 if a row is slower
  python -m ftax_micro.compare a.json b.json --probe submit,sync --margin 5%
  python -m ftax_micro.compare a.json b.json --kind latency --probe bert_base,latency
  python -m ftax_micro.compare models.json --by mode --baseline eager
  python -m ftax_micro.compare --group gpu,cpu,driver runs/        thousands of machines

Compared are the launch floor, rungs of the dispatch ladder, latencies of models and, where bounds
are known, their framework tax: each kind among the results that have it. A ratio above 1 takes
longer than the baseline. Verdicts: slower or faster where the whole interval of the ratio lies
beyond the margin; same where it lies within; ambiguous otherwise; a count that differs is
different. The intervals of all ratios hold together. What was timed in another way is not compared,
and said so; facts that are not the same (clocks, driver, packages) are listed.

With --group, a table of groups: medians over machines (one that was measured several times
counts once), the spread between machines and within one, ratios of groups, and machines that are
off the others of their group. Files that cannot be read are listed and left out.

exit codes: 0 done; 1 --fail-on fired; 2 wrong usage, unreadable input (with --group:
1 where it is some of the files, 2 where it is all), or nothing to compare; 4 the
output could not be written; 130 / 143 interrupted or terminated
"""


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.Parser(
        prog="python -m ftax_micro.compare",
        usage="%(prog)s FILE FILE [FILE ...] [options]\n"
        "       %(prog)s --group KEY[,KEY] FOLDER [options]",
        description="""\
Compare saved results row by row: each value with its interval, its ratio to the
baseline's with an interval, and a verdict.""",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="results saved with -o; a folder stands for every *.json in it, a pattern for what "
        "matches, @LIST for the files that LIST names, one a line (@- reads stdin)",
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE|N",
        help="the result (with --by: the value) the others are set against, as named here or "
        "counted from 1 (default: 1)",
    )
    parser.add_argument(
        "--probe",
        type=cli.names,
        metavar="NAME[,NAME]",
        help="only these rows, rungs, models, modes or quantities (latency, host, pipelined, tax, "
        "avoidable) (default: all)",
    )
    parser.add_argument(
        "--kind",
        type=cli.names,
        metavar="NAME[,NAME]",
        help="only these kinds: floor, ladder, latency, tax (default: all)",
    )
    parser.add_argument(
        "--by",
        metavar="KEY",
        help="compare within each file what differs in this alone: mode, dtype, batch, device, "
        "wait ...; what took turns in one run is compared paired",
    )
    parser.add_argument(
        "--group",
        type=cli.names,
        metavar="KEY[,KEY]",
        help="summarise any number of files by what their machines have in common instead: gpu, "
        "cpu, driver, host, kernel, python, a package such as torch ... (another name lists all); "
        "--baseline is then a group, --fail-on can be outlier",
    )
    _add_verdicts(parser)
    return parser


def _add_verdicts(parser: argparse.ArgumentParser) -> None:
    """When something counts as different, and how that is told."""
    parser.add_argument(
        "--margin",
        type=margin,
        default=0.02,
        metavar="SHARE",
        help="a difference up to this counts as none: 2%% or 0.02, below 1 (default: 2%%)",
    )
    parser.add_argument(
        "--confidence",
        type=cli.confidence,
        default=0.95,
        metavar="P",
        help="that all ratios of the table lie in their intervals, 0.5 to below 1, or in per cent "
        "(default: 0.95)",
    )
    parser.add_argument(
        "--fail-on",
        type=cli.names,
        default=[],
        metavar="VERDICT[,VERDICT]",
        help="exit with 1 where a row is slower, faster, different (either of them, or another "
        "count), ambiguous or missing (in a result, not in the baseline); with --group outlier "
        "(default: none)",
    )
    parser.add_argument(
        "--format", default="table", help="table, csv, json or markdown (default: table)"
    )


def margin(text: str) -> float:
    """An argparse type: a relative difference, as ``2%`` or ``0.02``, from 0 up to below 1."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    value = value / 100 if text.endswith("%") else value
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no margin; write 2% or 0.02")
    return value


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, load, compare, render. Returns the exit code."""
    args = build_parser().parse_args(argv)
    from ftax_micro.cli.file_lists import listed_files
    from ftax_micro.errors import UnknownNameError, UsageError
    from ftax_micro.reporters import COMPARISON_REPORTERS

    if args.group is not None:
        from ftax_micro.cli.compare_groups import compare_groups

        return compare_groups(args)
    args.files = listed_files(args.files)

    render = COMPARISON_REPORTERS.open(args.format)
    for name in args.fail_on:
        if name not in FAIL_ON:
            raise UnknownNameError("verdict", name, FAIL_ON)
    if len(args.files) < (2 if args.by is None else 1):
        raise UsageError(f"name two result files or more, not {len(args.files)} (--help: examples)")
    comparison = _compare(args)
    cli.write_output(render(comparison))
    if not comparison.comparisons:
        raise UsageError(
            "nothing to compare: no row was measured in the baseline and in another result"
        )
    return _gate(comparison, args.fail_on)


def _compare(args: argparse.Namespace) -> Comparison:
    from ftax_micro.analysis.comparing.comparison import compare_results
    from ftax_micro.results import load_result

    baseline: int | str = args.baseline or 0
    if args.by is None:
        baseline = baseline_index(args.baseline, args.files)
    elif args.baseline and args.baseline.isdecimal():
        baseline = int(args.baseline) - 1
    return compare_results(
        [load_result(path) for path in args.files],
        baseline=baseline,
        confidence=args.confidence,
        margin=args.margin,
        labels=labels_of(args.files),
        probes=args.probe,
        kinds=args.kind,
        by=args.by,
    )


def baseline_index(text: str | None, files: Sequence[Path]) -> int:
    """The place, from 0, of the file that `text` names or counts from 1; 0 for None.

    Errors: `UnknownNameError` where it is neither.
    """
    from ftax_micro.errors import UnknownNameError

    if text is None:
        return 0
    if Path(text) in files:
        return files.index(Path(text))
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(files):
        return int(text) - 1
    known = [str(path) for path in files] + [f"{n}" for n in range(1, len(files) + 1)]
    raise UnknownNameError("baseline", text, known)


def labels_of(files: Sequence[Path]) -> list[str]:
    """What to call the files: their names without ending and folder where that tells them apart."""
    stems = [path.stem for path in files]
    distinct = len(set(stems)) == len(set(files))
    return stems if distinct else [str(path) for path in files]


def _gate(comparison: Comparison, fail_on: Sequence[str]) -> int:
    """1 with a line for each row that has one of the verdicts of `fail_on`, else 0."""
    verdicts = {verdict for name in fail_on for verdict in FAIL_ON[name]}
    lines = [
        _fired_line(comparison, row, index, ratio)
        for row in comparison.rows
        for index, ratio in enumerate(row.ratios)
        if ratio is not None and ratio.verdict in verdicts
    ]
    if "missing" in fail_on:
        lines += _missing_lines(comparison)
    for line in lines:
        cli.message(f"ftax-micro: {line}")
    if fail_on and comparison.not_compared:
        rows = len({(each.kind, each.row) for each in comparison.not_compared})
        cli.message(f"ftax-micro: --fail-on did not see {rows} row(s) that could not be compared")
    return 1 if lines else 0


def _missing_lines(comparison: Comparison) -> list[str]:
    """A line for each row that the baseline has and another result cannot be compared on."""
    base, absent = comparison.baseline, comparison.not_compared
    none = {each.kind for each in absent if each.side == base and each.whole_kind}
    return [
        f"missing: {each.row} of {comparison.sides[each.side].label}: {each.reason}"
        for each in absent
        if each.side != base and each.kind not in none
    ]


def _fired_line(comparison: Comparison, row: ComparedRow, index: int, ratio: Ratio) -> str:
    between = "" if ratio.low is None else f" ({ratio.low:.3g} … {ratio.high:.3g})"
    label = comparison.sides[index].label
    return f"{ratio.verdict}: {row.title} of {label} at {ratio.value:.3g}{between} of the baseline"


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
