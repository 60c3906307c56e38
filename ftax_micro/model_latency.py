"""``python -m ftax_micro.model_latency``: how long does a model take in each execution mode?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.errors import UsageError

if TYPE_CHECKING:
    from ftax_micro.records import Plan
    from ftax_micro.results import Result

_EPILOG = """\
examples:
  python -m ftax_micro.model_latency --model bert_tiny --quick
  python -m ftax_micro.model_latency --model bert_base,resnet50 --batch 1..8 -o latency.json
  python -m ftax_micro.model_latency --model bert_base@num_hidden_layers=2,hidden_size=128
  python -m ftax_micro.model_latency --model mypackage.models:factory --mode eager
  python -m ftax_micro.model_latency --list

A setting of a model stands after an @; a factory returns a module and its inputs.
Weights and inputs are random, nothing is downloaded. The table goes to stdout,
messages to stderr. Forwards run on the cpu with one thread.

exit codes: 0 done; 1 a case failed; 2 wrong usage or unreadable input; 4 the
result could not be written; 130 / 143 interrupted or terminated, what was
measured is saved
"""
_MOST_BATCH = 1 << 20


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, measure or load, render. Returns the exit code."""
    args = build_parser().parse_args(argv)
    from ftax_micro.reporters import LATENCY_REPORTERS

    LATENCY_REPORTERS.open(args.format)  # an unknown format is no reason to measure first
    if args.list:
        return _list_models()
    if args.show:
        from ftax_micro.results import load_result

        result, code = load_result(args.show), 0
        if result.kind != "model_latency":
            raise UsageError(f"{args.show} is a result of {result.kind}, which has its own --show")
    else:
        result, code = _measure(args)
    _show(result, args.format)
    failed = sum(case.status == "failed" for case in result.cases)
    if failed:
        cli.message(f"ftax-micro: {failed} of {len(result.cases)} cases failed")
    return code or (1 if failed else 0)


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.Parser(
        prog="python -m ftax_micro.model_latency",
        usage="%(prog)s --model NAME[,NAME] [options]",
        description="""\
Measure how long one forward of a model takes in each execution mode, each mode
checked against eager before it is timed, all of them in blocks that take turns.""",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("what to measure")
    what.add_argument("--model", metavar="NAME[,NAME]", help="models, as --list names them")
    what.add_argument(
        "--mode", type=cli.names, metavar="NAME[,NAME]", help="execution modes (default: all)"
    )
    what.add_argument(
        "--dtype",
        type=cli.names,
        default=["fp32"],
        metavar="NAME[,NAME]",
        help="fp32, fp16, bf16 (default: fp32)",
    )
    what.add_argument(
        "--batch",
        type=batches,
        default=[1],
        metavar="N[,N]",
        help="batch sizes, or 1..128 for the powers of two (default: 1)",
    )
    size = cli.whole_number(1 << 30)
    what.add_argument("--sequence", type=size, metavar="N", help="tokens (default: 128)")
    what.add_argument("--image", type=size, metavar="N", help="pixels a side (default: 224)")
    what.add_argument("--audio", type=size, metavar="N", help="values of sound (default: 32000)")
    what.add_argument("--list", action="store_true", help="measure nothing; list models and modes")
    what.add_argument(
        "--show", type=Path, metavar="FILE", help="measure nothing; show a result saved with -o"
    )
    how = parser.add_argument_group(
        "how long", "TIME is in seconds, or has a unit: 0.5, 200ms, 1s. Defaults with --quick: [ ]."
    )
    how.add_argument(
        "--quick", action="store_true", help="intervals of 3 %% instead of 1 %%, shorter times"
    )
    how.add_argument(
        "--min-samples",
        type=cli.whole_number(cli.MOST_SAMPLES),
        metavar="N",
        help="forwards of a case at least (default: 100 [10])",
    )
    how.add_argument(
        "--timeout",
        type=cli.duration,
        metavar="TIME",
        help="time a case for so long at most (default: 60s [5s])",
    )
    out = parser.add_argument_group("output")
    cli.add_output_options(out)
    return parser


def batches(text: str) -> list[int]:
    """An argparse type: sizes by commas, ``1..128`` standing for the powers of two in between."""
    one = cli.whole_number(_MOST_BATCH)
    found: list[int] = []
    for part in cli.names(text):
        first, dots, last = part.partition("..")
        size, end = one(first), one(last) if dots else None
        if end is not None and end < size:
            raise argparse.ArgumentTypeError(f"{part} goes down")
        found.append(size)
        while end is not None and size * 2 <= end:
            size *= 2
            found.append(size)
    return list(dict.fromkeys(found))


def _measure(args: argparse.Namespace) -> tuple[Result, int]:
    from ftax_micro.devices._extension import core
    from ftax_micro.environment import capture_environment
    from ftax_micro.models.request import split_models
    from ftax_micro.modes import MODES
    from ftax_micro.orchestration.interrupts import catch_signals
    from ftax_micro.orchestration.latency_run import LatencyRun, check_modes, requests_for
    from ftax_micro.progress import LatencyLine
    from ftax_micro.results import check_output

    if not args.model:
        raise UsageError("which model? --model NAME; --list names them")
    requests = requests_for(
        split_models(args.model),
        dtypes=args.dtype,
        batches=args.batch,
        sequence=args.sequence,
        image=args.image,
        audio=args.audio,
    )
    modes = check_modes(args.mode or list(MODES))
    if args.output:
        check_output(args.output, force=args.force)
    environment = capture_environment(command=sys.argv, build_id=core().source_digest)
    with catch_signals() as interrupts:
        with LatencyLine(len(requests) * len(modes)) as line:
            run = LatencyRun(requests, modes, _plan(args), environment, line, interrupts)
            result = run.run()
        code = cli.save_output(result, args)
    if interrupts.pending:
        cli.message(f"ftax-micro: {interrupts.pending}; {len(result.cases)} cases measured")
        return result, code or interrupts.pending.exit_code
    return result, code


def _plan(args: argparse.Namespace) -> Plan:
    import msgspec

    from ftax_micro.orchestration.latency_run import LATENCY_PLAN, QUICK_LATENCY_PLAN
    from ftax_micro.orchestration.plans import check_plan

    base = QUICK_LATENCY_PLAN if args.quick else LATENCY_PLAN
    given = {"min_samples": args.min_samples, "timeout_s": args.timeout}
    plan = msgspec.structs.replace(base, **{k: v for k, v in given.items() if v is not None})
    least = min(plan.min_time_s, plan.timeout_s)
    most = max(plan.max_samples, plan.min_samples)
    return check_plan(msgspec.structs.replace(plan, min_time_s=least, max_samples=most))


def _show(result: Result, form: str) -> None:
    from ftax_micro.analysis.latency_view import latency_view
    from ftax_micro.reporters import LATENCY_REPORTERS

    view = latency_view(result)
    cli.write_output(LATENCY_REPORTERS.open(form)(view))
    for warning in view.warnings:
        cli.message(f"warning: {warning.sentence}")


def _list_models() -> int:
    from ftax_micro.models.listing import list_models
    from ftax_micro.modes import MODES
    from ftax_micro.reporters.latency import render_list

    cli.write_output(render_list(list_models(), list(MODES)))
    return 0


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
