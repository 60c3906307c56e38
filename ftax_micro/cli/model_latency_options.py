"""The options of ``model_latency`` and what they say of themselves."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from ftax_micro import cli
from ftax_micro.cli.measuring_only import LISTED, SHOWN, refuse_both, refuse_given
from ftax_micro.errors import UsageError
from ftax_micro.units import parse_sizes

_EPILOG = """\
examples:
  python -m ftax_micro.model_latency --model bert_tiny --quick
  python -m ftax_micro.model_latency --model bert_base,resnet50 --batch 1..8 -o latency.json
  python -m ftax_micro.model_latency --model bert_base@num_hidden_layers=2/4/6,hidden_size=768
  python -m ftax_micro.model_latency --model mypackage.models:factory --mode eager
  python -m ftax_micro.model_latency --study bench/paper/figure_04.toml -o figure_04.json
  python -m ftax_micro.model_latency --study bench/paper/figure_04.toml -o figure_04.json --resume
  python -m ftax_micro.model_latency --list

A setting of a model stands after an @; several values of one, by slashes, are as
many models. All that is listed is combined with all else; a size goes to those
models whose input has it. A factory returns a module and its inputs.
Weights and inputs are random, nothing is downloaded. The table goes to stdout,
messages to stderr.

Each workload is measured in processes of its own: first each mode by itself, for
its memory and what making it ready costs from a cold start (not with --quick),
then all of them in blocks that take turns. A mode whose process dies is one
failed case.

exit codes: 0 done; 1 a case failed; 2 wrong usage or unreadable input; 3 the
device is not available; 4 the result could not be written; 130 / 143 interrupted
or terminated, what was measured is saved, and --resume goes on from there
"""
_MOST_SIZE = 1 << 30
_MOST_BATCH = 1 << 20
# What only makes sense with a measurement, by the name argparse gives it.
_MEASURING = (
    *("model", "study", "mode", "dtype", "batch", "sequence", "image", "audio", "lengths"),
    *("twin", "machine", "device", "threads", "quick", "min_samples", "timeout"),
    *("prepare_timeout", "resume", "retry_failed", "log", "output"),
)
# What a study says itself.
_IN_STUDY = (*("model", "mode", "dtype", "batch", "sequence", "image", "audio", "lengths", "twin"),)


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.Parser(
        prog="python -m ftax_micro.model_latency",
        usage="%(prog)s (--model NAME[,NAME] | --study FILE) [options]",
        description="""\
Measure how long one forward of a model takes in each execution mode, each mode
checked against eager before it is timed, all of them in blocks that take turns.""",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser.add_argument_group("what to measure"))
    _add_sizes(parser.add_argument_group("sizes", "N, several by commas, or 1..128: 1, 2, 4 … 128"))
    text = "TIME is in seconds, or has a unit: 0.5, 200ms, 1s. Defaults with --quick: [ ]."
    _add_how(parser.add_argument_group("how", text))
    out = parser.add_argument_group("output")
    cli.add_output_options(out, "matrix")
    out.add_argument(
        "--resume",
        action="store_true",
        help="go on with the FILE of -o: keep the cases that it has and measure those that are "
        "missing or were interrupted; start it where it is not there",
    )
    out.add_argument(
        "--retry-failed",
        action="store_true",
        help="with --resume, measure again what failed or was skipped",
    )
    out.add_argument(
        "--log", type=Path, metavar="FILE", help="add to FILE what compilers and exporters say"
    )
    return parser


def _add_what(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--model", metavar="NAME[,NAME]", help="models, as --list names them, or all"
    )
    group.add_argument(
        "--study", type=Path, metavar="FILE", help="workloads from a TOML file, see bench/paper/"
    )
    group.add_argument(
        "--mode", type=cli.names, metavar="NAME[,NAME]", help="execution modes (default: all)"
    )
    group.add_argument(
        "--dtype", type=cli.names, metavar="NAME[,NAME]", help="fp32, fp16, bf16 (default: fp32)"
    )
    group.add_argument(
        "--device",
        default="auto",
        help="cpu, cuda (the first GPU), cuda:N, or auto: the first GPU that torch can use, else "
        "the cpu (default: auto)",
    )
    group.add_argument(
        "--twin",
        action="store_true",
        help="also measure each model's zero-work twin: as deep, as small as it gets",
    )
    group.add_argument(
        "--machine",
        action="store_true",
        help="also record the machine: a quick launch floor, and the peaks of a matrix product and "
        "a copy",
    )
    group.add_argument("--list", action="store_true", help="measure nothing; list models and modes")
    group.add_argument(
        "--show", type=Path, metavar="FILE", help="measure nothing; show a result saved with -o"
    )


def _add_sizes(group: argparse._ArgumentGroup) -> None:
    wanted = {
        "batch": (_MOST_BATCH, "examples (default: 1)"),
        "sequence": (_MOST_SIZE, "tokens (default: 128)"),
        "image": (_MOST_SIZE, "pixels a side (default: 224)"),
        "audio": (_MOST_SIZE, "values of sound (default: 32000)"),
    }
    for name, (most, text) in wanted.items():
        group.add_argument(f"--{name}", type=sizes(most), metavar="N[,N]", help=text)
    group.add_argument(
        "--lengths",
        metavar="NAME",
        help="pad sequences from lengths so distributed: penn_treebank (default: none is padded)",
    )


def _add_how(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--quick",
        action="store_true",
        help="intervals of 3 %% instead of 1 %%, shorter times, no mode by itself",
    )
    group.add_argument(
        "--threads",
        type=cli.whole_number(4096),
        default=1,
        metavar="N",
        help="threads of each mode on the cpu (default: 1, as the paper's timer)",
    )
    group.add_argument(
        "--min-samples",
        type=cli.whole_number(cli.MOST_SAMPLES),
        metavar="N",
        help="forwards of a case at least (default: 100 [10])",
    )
    group.add_argument(
        "--timeout",
        type=cli.duration,
        metavar="TIME",
        help="time a case for so long at most (default: 60s [5s])",
    )
    group.add_argument(
        "--prepare-timeout",
        type=cli.duration,
        default=900.0,
        metavar="TIME",
        help="a mode that takes longer to be made ready is failed (default: %(default)gs)",
    )


def sizes(most: int) -> Callable[[str], list[int]]:
    """An argparse type: as `parse_sizes`."""

    def parse(text: str) -> list[int]:
        try:
            return parse_sizes(text, most)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse


def check_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Options that do nothing together are ones that somebody counts on. Errors: `UsageError`."""
    refuse_both(args)
    if args.show or args.list:
        refuse_given(parser, args, _MEASURING, SHOWN if args.show else LISTED)
    if args.study:
        why = "is what a study says itself; choose one of the two"
        refuse_given(parser, args, _IN_STUDY, why)
    if args.resume and not args.output:
        raise UsageError("--resume goes on with the file of -o; name it")
    if args.resume and args.force:
        raise UsageError("--force replaces a file, --resume goes on with it; choose one")
    if args.retry_failed and not args.resume:
        raise UsageError("--retry-failed is for --resume")
