"""``python -m ftax_micro.dispatch_ladder``: what does every software layer add to one operation?"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.cli import outputs
from ftax_micro.cli.dispatch_ladder_options import build_parser, check_options
from ftax_micro.errors import UsageError

if TYPE_CHECKING:
    from ftax_micro.orchestration.interrupts import Interrupts
    from ftax_micro.records import Plan
    from ftax_micro.results import Result


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, measure or load, render. Returns the exit code."""
    parser = build_parser()
    args = parser.parse_args(argv)
    from ftax_micro.reporters import LADDER_REPORTERS

    LADDER_REPORTERS.open(args.format)  # an unknown format is no reason to measure first
    check_options(parser, args)
    if args.list:
        return _list_rungs(args.format)
    models = _load(args.predict, "model_latency") if args.predict else None
    if not args.show and outputs.left_to_another_rank(args.output):
        return 0
    _check_picture(args)
    show = functools.partial(_show, models=models, args=args)
    if args.show:
        result, code = _load(args.show, "dispatch_ladder"), 0
        show(result)
    else:
        result, code = cli.measured_and_shown(functools.partial(_measure, args), show)
    from ftax_micro.analysis.summary import count_rows

    rungs = count_rows(result.rungs)
    if rungs.failed:
        cli.message(f"ftax-micro: {rungs.failed} of {rungs.every} rungs failed")
    return code or (1 if rungs.failed else 0)


def _show(result: Result, models: Result | None, args: argparse.Namespace) -> None:
    from ftax_micro.analysis.ladder_prediction import predict
    from ftax_micro.analysis.ladder_view import ladder_view
    from ftax_micro.reporters import LADDER_REPORTERS

    view = ladder_view(result)
    predictions = predict(view.rows, models.cases, result.plan.confidence) if models else []
    if models and not predictions:
        cli.message(f"ftax-micro: {args.predict} has no model in a mode that a rung stands for")
    cli.write_output(LADDER_REPORTERS.open(args.format)(view, predictions))
    for warning in view.warnings:
        cli.message(f"warning: {warning.sentence}")
    if args.picture:
        from ftax_micro.reporters.ladder_picture import draw_ladder

        draw_ladder(view, args.picture)
        cli.message(f"drew {args.picture}")


def _load(path: Path, kind: str) -> Result:
    from ftax_micro.results import load_result

    result = load_result(path)
    rows = result.rungs if kind == "dispatch_ladder" else result.cases
    if not rows:
        raise UsageError(f"{path} is a result of {result.kind}, and {kind} is what is needed here")
    return result


def _check_picture(args: argparse.Namespace) -> None:
    """Whether the picture can be drawn, before minutes are spent on what it shows."""
    if args.picture:
        from ftax_micro.reporters.ladder_picture import check_picture
        from ftax_micro.results import check_output

        args.picture = outputs.named_file(args.picture, None, "--picture")
        check_picture(args.picture)
        check_output(args.picture, force=args.force)


def _measure(args: argparse.Namespace, interrupts: Interrupts) -> tuple[Result, int]:
    """The measured result, saved where asked, and 0 or the exit code of what went wrong."""
    from ftax_micro.cli.progress import TerminalProgress
    from ftax_micro.devices._extension import core
    from ftax_micro.environment import capture_environment
    from ftax_micro.orchestration.ladder import LadderRun, rung_process, select_ladder

    plan = _plan(args)
    selection = select_ladder(args.device, args.rung)
    output = outputs.open_output(args.output, selection.devices, force=args.force)
    environment = capture_environment(
        command=sys.argv,
        build_id=core().source_digest,
        together=outputs.ranks_together(args.output),
    )
    measures = rung_process(plan, interrupts, args.watchdog)
    with TerminalProgress() as progress:
        run = LadderRun(selection, plan, environment, measures, progress, args.processes)
        result = run.run()
    code = output.save(result)
    if interrupts.pending:
        from ftax_micro.analysis.summary import count_rows

        rows = count_rows(result.rungs).measured
        cli.message(f"ftax-micro: {interrupts.pending}; {rows} rungs measured")
        return result, code or interrupts.pending.exit_code
    return result, code


def _plan(args: argparse.Namespace) -> Plan:
    """As the options say; the ladder's own times where they are silent. Errors: `UsageError`."""
    import msgspec

    from ftax_micro.orchestration.ladder import PLAN

    plan = cli.sampling_plan(args)
    if args.quick:
        return plan
    given_s = plan.timeout_s if args.timeout is not None else max(PLAN.timeout_s, plan.min_time_s)
    most = max(PLAN.max_samples, plan.min_samples)
    return msgspec.structs.replace(
        plan, timeout_s=given_s, patience_s=PLAN.patience_s, max_samples=most
    )


def _list_rungs(form: str) -> int:
    from ftax_micro.reporters.ladder_list import ListedRung, render_rungs, render_rungs_markdown
    from ftax_micro.rungs import RUNGS

    rungs = [RUNGS.open(name) for name in RUNGS]
    listed = [
        ListedRung(each.name, each.operation, each.package, each.summary, each.source)
        for each in rungs
    ]
    cli.write_output((render_rungs_markdown if form == "markdown" else render_rungs)(listed))
    return 0


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
