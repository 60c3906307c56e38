"""``python -m ftax_micro.launch_floor``: how cheap can one launch be on this machine?"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.cli import outputs
from ftax_micro.cli.launch_floor_options import build_parser, check_options
from ftax_micro.cli.sources import load_shown
from ftax_micro.errors import ERROR_PREFIX, UsageError

if TYPE_CHECKING:
    from ftax_micro.cli.outputs import Output
    from ftax_micro.cli.progress import TerminalProgress
    from ftax_micro.facts import Environment
    from ftax_micro.orchestration.floor import FloorRun
    from ftax_micro.orchestration.interrupts import Interrupts
    from ftax_micro.orchestration.point.selection import Selection
    from ftax_micro.records import Plan, Setting
    from ftax_micro.results import Result


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, measure or load, render. Returns the exit code."""
    parser = build_parser()
    args = parser.parse_args(argv)
    from ftax_micro.reporters import FLOOR_REPORTERS

    FLOOR_REPORTERS.open(args.format)  # an unknown format is no reason to measure first
    check_options(parser, args)
    if args.list:
        return _list_rows(args.device)
    show = functools.partial(_show, form=args.format)
    if args.show:
        result, code = load_shown(args.show, "launch_floor"), 0
        show(result)
    elif outputs.left_to_another_rank(args.output):
        return 0
    else:
        result, code = cli.measured_and_shown(functools.partial(_measure, args), show)
    return code or _verdict(result)


def _show(result: Result, form: str) -> None:
    from ftax_micro.analysis.floor.view import floor_view
    from ftax_micro.reporters import FLOOR_REPORTERS

    view = floor_view(result)
    cli.write_output(FLOOR_REPORTERS.open(form)(view))
    for warning in view.warnings:
        cli.message(f"warning: {warning.sentence}")


def _verdict(result: Result) -> int:
    from ftax_micro.analysis.summary import count_rows

    rows = count_rows(result.measurements)
    if rows.failed:
        cli.message(f"ftax-micro: {rows.failed} of {rows.every} rows failed")
    return 1 if rows.failed else 0


def _measure(args: argparse.Namespace, interrupts: Interrupts) -> tuple[Result, int]:
    """The measured result, saved where asked, and 0 or the exit code of what went wrong."""
    plan = cli.sampling_plan(args)
    devices = _devices(args.device)  # one that is not there is one error, not one a process
    output = outputs.open_output(args.output, devices, force=args.force)
    if args.processes and args.processes > 1:
        result = _in_processes(args, interrupts)
    else:
        result = _here(args, devices, output, plan, interrupts)
    code = output.save(result)
    if interrupts.pending:
        from ftax_micro.analysis.summary import count_rows

        rows = count_rows(result.measurements).measured
        cli.message(f"ftax-micro: {interrupts.pending}; {rows} rows measured")
        return result, code or interrupts.pending.exit_code
    if not result.complete:
        cli.message(f"{ERROR_PREFIX}{result.incomplete_reason}")
        return result, code or 1
    return result, code


def _here(
    args: argparse.Namespace,
    devices: Sequence[str],
    output: Output,
    plan: Plan,
    interrupts: Interrupts,
) -> Result:
    from ftax_micro.cli.progress import TerminalProgress
    from ftax_micro.devices._extension import core
    from ftax_micro.environment import capture_environment
    from ftax_micro.orchestration.floor import FloorRun
    from ftax_micro.orchestration.point.selection import Selection
    from ftax_micro.orchestration.watchdog import Watchdog

    by_name = args.device != "all"
    selection = Selection(devices, args.probe, args.axis, by_name)
    environment = capture_environment(
        command=sys.argv,
        build_id=core().source_digest,
        together=outputs.ranks_together(args.output),
    )
    _refuse_untrusted(args, selection, environment)
    with TerminalProgress() as progress:
        run = FloorRun(
            selection,
            plan,
            environment,
            progress=progress,
            interrupts=interrupts,
            processes=args.processes,
        )
        leave = functools.partial(_leave_hung, run, args.format, output, progress)
        run.watchdog = Watchdog(leave, plan.timeout_s + args.watchdog)
        return run.run()


def _devices(request: str) -> list[str]:
    """The devices `request` stands for; says why there is no GPU among them where one could be."""
    from ftax_micro.devices import cuda_unavailable_reason, resolve_devices

    devices = resolve_devices(request)
    if devices == ["cpu"] != [request]:
        cli.message(f"ftax-micro: measuring the cpu alone: {cuda_unavailable_reason()}")
    return devices


def _refuse_untrusted(
    args: argparse.Namespace, selection: Selection, environment: Environment
) -> None:
    from ftax_micro.trust import trust_warnings

    cpu_only = set(selection.devices) == {"cpu"}  # then nothing of CUDA can disturb
    warnings = trust_warnings(environment, gpu_uuids=() if cpu_only else None)
    refusals = [warning.sentence for warning in warnings if warning.severity == "refuse"]
    if refusals and not args.allow_untrusted:
        raise UsageError(f"{refusals[0]} (--allow-untrusted measures all the same)")


def _leave_hung(
    run: FloorRun, form: str, output: Output, progress: TerminalProgress, what: str
) -> None:
    """Called by the watchdog's thread: save, say so, leave without waiting for the device."""
    code = 1
    try:
        progress.stop()
        run.abandon(f"{what} did not end: the device hangs")
        result = run.result()
        cli.message(f"{ERROR_PREFIX}{result.incomplete_reason}; leaving without waiting for it")
        code = output.save(result) or code
        _show(result, form)
    finally:
        os._exit(code)


def _in_processes(args: argparse.Namespace, interrupts: Interrupts) -> Result:
    import msgspec

    from ftax_micro.cli.progress import TerminalProgress
    from ftax_micro.environment.process import typed_command
    from ftax_micro.environment.ranks import launch_facts
    from ftax_micro.orchestration.processes import run_in_processes

    arguments = ["--device", args.device, "--format", "csv", "--processes", "1"]
    arguments += ["--quick"] if args.quick else []
    arguments += ["--allow-untrusted"] if args.allow_untrusted else []
    options = {
        "--probe": ",".join(args.probe) if args.probe else None,
        "--axis": ",".join(args.axis) or None,
        "--min-samples": args.min_samples,
        "--min-time": args.min_time,
        "--timeout": args.timeout,
        "--confidence": args.confidence,
        "--watchdog": args.watchdog,
    }
    for name, value in options.items():
        arguments += [name, str(value)] if value is not None else []
    with TerminalProgress() as progress:
        result = run_in_processes(arguments, args.processes, interrupts, progress.process_begins)
    replace, environment = msgspec.structs.replace, result.environment
    launch = launch_facts(os.environ, outputs.ranks_together(args.output))
    process = replace(environment.process, launch=launch)  # its children are no ranks
    environment = replace(environment, command=typed_command(sys.argv), process=process)
    return replace(result, environment=environment)


def _list_rows(request: str) -> int:
    from ftax_micro.devices import open_device, resolve_devices
    from ftax_micro.reporters.cells import shown_setting

    for name in resolve_devices(request):
        device = open_device(name)
        try:
            for row in device.rows():
                cli.write_output(f"{name} {row.name}: {row.summary}")
                points = [shown_setting(setting) or "default" for setting in row.settings]
                if points != ["default"]:
                    cli.write_output(f"    settings: {' | '.join(points)}")
                for axis, settings in row.axes.items():
                    cli.write_output(f"    --axis {axis}: {_ranges(settings)}")
        finally:
            device.close()
    return 0


def _ranges(settings: Sequence[Setting]) -> str:
    """What varies over an axis, key by key: ``wait=spin|block idle=0|10us (4 points)``."""
    from ftax_micro.reporters.cells import shown_part

    values: dict[str, list[str]] = {}
    for setting in settings:
        for key, text in itertools.starmap(shown_part, setting.items()):
            known = values.setdefault(key, [])
            known.extend([] if text in known else [text])
    ranges = " ".join(f"{key}={'|'.join(texts)}" for key, texts in values.items())
    return f"{ranges} ({len(settings)} point{'' if len(settings) == 1 else 's'})"


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
