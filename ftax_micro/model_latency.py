"""``python -m ftax_micro.model_latency``: how long does a model take in each execution mode?"""

from __future__ import annotations

import argparse
import contextlib
import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.cli import outputs
from ftax_micro.cli.model_latency_options import build_parser, check_options
from ftax_micro.cli.sources import load_shown
from ftax_micro.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from ftax_micro.facts import Environment
    from ftax_micro.orchestration.interrupts import Interrupts
    from ftax_micro.orchestration.latency.requests import Task
    from ftax_micro.orchestration.latency.run import LatencyRun
    from ftax_micro.orchestration.latency.study import Study
    from ftax_micro.records import Plan
    from ftax_micro.results import Result


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, measure or load, render. Returns the exit code."""
    parser = build_parser()
    args = parser.parse_args(argv)
    check_options(parser, args)
    from ftax_micro.reporters import LATENCY_REPORTERS

    LATENCY_REPORTERS.open(args.format)  # an unknown format is no reason to measure first
    if args.list:
        return _list_models()
    show = functools.partial(_show, form=args.format)
    if args.show:
        result, code = load_shown(args.show, "model_latency"), 0
        show(result)
    elif outputs.left_to_another_rank(args.output):
        return 0
    else:
        result, code = cli.measured_and_shown(functools.partial(_measure, args), show)
    failed = sum(case.status == "failed" for case in result.cases)
    if failed:
        cli.message(f"ftax-micro: {failed} of {len(result.cases)} cases failed")
    return code or (1 if failed else 0)


def _measure(args: argparse.Namespace, interrupts: Interrupts) -> tuple[Result, int]:
    """The measured result, saved where asked, and 0 or the exit code of what went wrong."""
    from ftax_micro.devices._extension import core
    from ftax_micro.environment import capture_environment
    from ftax_micro.orchestration.latency.file import GrowingFile

    study = _study(args)
    tasks, plan = _tasks(args, study), _plan(args, study)
    if args.resume:
        outputs.check_resumable(args.output)
    together = outputs.ranks_together(args.output)
    device = tasks[0].request.device if tasks else None
    args.output = outputs.named_file(args.output, device, "-o")
    replaces = args.force or args.resume
    output = outputs.Output({None: args.output} if args.output else {}, force=True)
    output.check(force=replaces)
    environment = capture_environment(
        command=sys.argv, build_id=core().source_digest, together=together
    )
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(GrowingFile(args.output)) if args.output else None
        run = _run(args, tasks, plan, environment, interrupts)
        if file:
            file.claim(run.result(), replaces=replaces)
            run.on_workload = lambda: file.offer(run.result)
        if (args.machine or (study and study.machine)) and not run.rooflines:
            _record_machine(run, args.threads, interrupts)
        result = _with_progress(run)
        code = output.save(result)  # what is there is this run's own, or was to be replaced
    if interrupts.pending:
        measured = sum(case.status == "ok" for case in result.cases)
        cli.message(f"ftax-micro: {interrupts.pending}; {measured} cases measured")
        return result, code or interrupts.pending.exit_code
    return result, code


def _run(
    args: argparse.Namespace,
    tasks: Sequence[Task],
    plan: Plan,
    environment: Environment,
    interrupts: Interrupts,
) -> LatencyRun:
    """The run that is to be, going on with a former one where there is one."""
    from ftax_micro.orchestration.latency.resume import check_resumable
    from ftax_micro.orchestration.latency.run import LatencyRun
    from ftax_micro.orchestration.workload.process import WorkloadProcess
    from ftax_micro.results import load_result

    former = load_result(args.output) if args.resume and args.output.exists() else None
    if former:
        check_resumable(former, plan, environment, str(args.output))
    return LatencyRun(
        tasks,
        plan,
        environment,
        measures=WorkloadProcess(args.prepare_timeout, interrupts, args.log),
        former=former,
        retry=args.retry_failed,
    )


def _record_machine(run: LatencyRun, threads: int, interrupts: Interrupts) -> None:
    """The floor and the peaks of the devices that models are measured on, into the run."""
    from ftax_micro.cli.progress import TerminalProgress
    from ftax_micro.orchestration.machine import measure_machine

    requests = [task.request for task in run.tasks]
    dtypes = list(dict.fromkeys(request.dtype for request in requests))
    for device in dict.fromkeys(request.device for request in requests):
        with TerminalProgress() as progress, contextlib.suppress(Interrupted):
            machine = measure_machine(
                device,
                dtypes,
                run.environment,
                threads=threads,
                interrupts=interrupts,
                progress=progress,
            )
            run.measurements += machine.measurements
            run.rooflines += machine.rooflines


def _with_progress(run: LatencyRun) -> Result:
    from ftax_micro.cli.progress import LatencyLine

    missing = sum(len(task.modes) for task in run.missing())
    kept = len(run.result().cases)
    if kept:
        cli.message(f"ftax-micro: {kept} cases are there already, {missing} are to be measured")
    with LatencyLine(missing) as line:
        run.progress = line
        return run.run()


def _tasks(args: argparse.Namespace, study: Study | None) -> list[Task]:
    """What is to be measured, all of it checked."""
    from ftax_micro.models.request import split_models
    from ftax_micro.modes import MODES
    from ftax_micro.orchestration.latency.devices import resolve_model_device
    from ftax_micro.orchestration.latency.requests import Task, check_modes, joined, requests_for

    if not study and not args.model:
        raise UsageError("which model? --model NAME; --list names them")
    modes = tuple(check_modes(args.mode or MODES))
    device, why_cpu = resolve_model_device(args.device)
    if study:
        tasks = study.tasks(device, args.threads)
    else:
        requests = requests_for(
            split_models(args.model),
            dtypes=args.dtype or ("fp32",),
            batch=args.batch,
            sequence=args.sequence,
            image=args.image,
            audio=args.audio,
            device=device,
            threads=args.threads,
            lengths=args.lengths,
            twin=args.twin,
        )
        tasks = joined(Task(request, modes) for request in requests)
    if why_cpu:
        cli.message(f"ftax-micro: measuring on the cpu: {why_cpu}")
    return tasks


def _study(args: argparse.Namespace) -> Study | None:
    if not args.study:
        return None
    from ftax_micro.orchestration.latency.study import load_study

    return load_study(args.study)


def _plan(args: argparse.Namespace, study: Study | None) -> Plan:
    import msgspec

    from ftax_micro.orchestration.latency.run import LATENCY_PLAN, QUICK_LATENCY_PLAN
    from ftax_micro.orchestration.plans import check_plan

    base = QUICK_LATENCY_PLAN if args.quick else LATENCY_PLAN
    if study and not args.quick:
        base = study.on(base)
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
