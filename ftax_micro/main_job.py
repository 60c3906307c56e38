"""``python -m ftax_micro`` without a command: the launch floor, then two models in every mode."""

from __future__ import annotations

import argparse
import functools
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.cli import outputs
from ftax_micro.errors import UsageError

if TYPE_CHECKING:
    from ftax_micro.orchestration.interrupts import Interrupts
    from ftax_micro.results import Result


# Of a GPU, for each model: some ten seconds a mode, in which its process starts and gets ready.
_TRACES_S = 120.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the main job."""
    parser.add_argument(
        "--device", default="auto", help="cpu, cuda, cuda:N or auto: a GPU if one can be used"
    )
    parser.add_argument(
        "--show", type=Path, metavar="FILE", help="measure nothing; show a result saved with -o"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save everything, raw samples included"
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="PAGE",
        help="where to write the report (default: beside FILE as .html, without -o into the folder "
        "for temporary files)",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing FILE or PAGE")
    parser.add_argument(
        "--format", default="table", help="table, json or markdown (default: table)"
    )


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, measure or load, render. Returns the exit code."""
    parser = cli.Parser(prog="python -m ftax_micro", add_help=False)
    add_options(parser)
    args = parser.parse_args(argv)
    from ftax_micro.reporters import MAIN_REPORTERS

    MAIN_REPORTERS.open(args.format)  # an unknown format is no reason to measure first
    show = functools.partial(_show, form=args.format)
    if not args.show and outputs.left_to_another_rank(args.output):
        return 0
    devices = None if args.show else _devices(args.device)
    device = devices.models if devices else None
    together = outputs.ranks_together(args.output)
    args.output = outputs.named_file(args.output, device, "-o")
    args.report = outputs.named_file(args.report, device, "--report")
    report = Report.of(args)
    if devices is None:
        result, code = _load(args.show), 0
        show(result)
    else:
        measure = functools.partial(_measure, args, devices, together)
        result, code = cli.measured_and_shown(measure, show)
    code = report.write(result) or code
    from ftax_micro.analysis.summary import count_rows

    rows = count_rows((*result.measurements, *result.rungs))
    failed = rows.failed + sum(case.status == "failed" for case in result.cases)
    if failed:
        every = rows.every + len(result.cases)
        cli.message(f"ftax-micro: {failed} of {every} rows and cases failed")
    return code or (1 if failed else 0)


@dataclass(frozen=True)
class Report:
    """The page at the end; `path` None: there is none, and `reason` is why. `source`: the file that
    has what it shows.
    """

    path: Path | None
    force: bool
    reason: str | None = None
    source: str = "this run"

    @classmethod
    def of(cls, args: argparse.Namespace) -> Report:
        """Checked before anything is measured. Errors: those of a page that was asked for."""
        from ftax_micro.cli.report_page import check_page_file
        from ftax_micro.errors import MissingPackageError

        if args.show and not args.report:
            return cls(None, args.force)
        path, force = args.report, args.force
        if path is None and args.output and not _is_special(args.output):
            path = args.output.with_suffix(".html")
        elif path is None:
            path, force = Path(tempfile.gettempdir(), f"ftax_micro-{os.getpid()}.html"), True
        try:
            check_page_file(path, force=force)
        except MissingPackageError as error:
            if args.report:
                raise
            return cls(None, force, f"no report: {error}")
        file = args.show or args.output
        source = file.name if file and not _is_special(file) else cls.source
        return cls(path, force, source=source)

    def write(self, result: Result) -> int:
        """The page, and where it is; the exit code, 0 also where there is none to write."""
        from ftax_micro.analysis.views.contract import Question, Source
        from ftax_micro.cli.report_page import write_page
        from ftax_micro.errors import ERROR_PREFIX, FtaxError

        if self.path is None:
            if self.reason:
                cli.message(f"ftax-micro: {self.reason}")
            return 0
        try:
            write_page(Question((Source(self.source, result=result),)), self.path, force=self.force)
        except FtaxError as error:
            cli.message(f"{ERROR_PREFIX}{error}")
            return error.exit_code
        cli.message(f"report: {self.path}")
        return 0


def _is_special(path: Path) -> bool:
    """A device or a pipe: beside it is no place for a page."""
    return path.exists() and not path.is_file()


def _measure(
    args: argparse.Namespace, devices: Devices, together: int, interrupts: Interrupts
) -> tuple[Result, int]:
    output = outputs.Output({None: args.output} if args.output else {}, args.force)
    output.check(force=args.force)
    if devices.why_cpu:
        cli.message(f"ftax-micro: models run on the cpu: {devices.why_cpu}")
    result = _run(devices, together, interrupts)
    code = output.save(result)
    if interrupts.pending:
        from ftax_micro.analysis.summary import count_rows

        count = count_rows((*result.measurements, *result.rungs)).measured
        count += sum(case.latency is not None for case in result.cases)
        cli.message(f"ftax-micro: {interrupts.pending}; {count} rows and cases measured")
        return result, code or interrupts.pending.exit_code
    return result, code


def _run(devices: Devices, together: int, interrupts: Interrupts) -> Result:
    from ftax_micro.cli.progress import LatencyLine, TerminalProgress
    from ftax_micro.devices._extension import core
    from ftax_micro.environment import capture_environment
    from ftax_micro.orchestration.machine import measure_peaks
    from ftax_micro.orchestration.main_run import MainRun
    from ftax_micro.orchestration.workload.process import WorkloadProcess

    environment = capture_environment(
        command=sys.argv, build_id=core().source_digest, together=together
    )
    measures = WorkloadProcess(interrupts=interrupts, traces=True, traces_s=_TRACES_S)
    run = MainRun(
        *(devices.models, devices.floors, environment, measures),
        peaks=measure_peaks,
        interrupts=interrupts,
    )
    with TerminalProgress() as line:
        run.floor.progress = run.ladder.progress = line
        result = run.run_floor()
        if not result.complete:
            return run.result()
        run.run_ladder()
    if interrupts.pending:
        return run.result()
    with LatencyLine(run.cases) as line:
        run.latency_progress = line
        return run.run_models()


@dataclass(frozen=True)
class Devices:
    """Where the models run, and whose floor is measured: a GPU has one even where torch cannot use
    it. `why_cpu` says why models do not run on a GPU where one was not ruled out.
    """

    models: str
    floors: list[str]
    why_cpu: str | None


def _devices(request: str) -> Devices:
    from ftax_micro.devices import resolve_devices
    from ftax_micro.orchestration.latency.devices import resolve_model_device

    device, reason = resolve_model_device(request)
    return Devices(device, list(dict.fromkeys([*resolve_devices(request), device])), reason)


def _load(path: Path) -> Result:
    from ftax_micro.results import load_result

    result = load_result(path)
    if not (result.measurements and result.cases):
        raise UsageError(f"{path} is not of the main job: `{result.kind} --show` shows it")
    return result


def _show(result: Result, form: str) -> None:
    from ftax_micro.analysis.main_view import main_view
    from ftax_micro.reporters import MAIN_REPORTERS

    view = main_view(result)
    cli.write_output(MAIN_REPORTERS.open(form)(view))
    for warning in view.floor.warnings:
        cli.message(f"warning: {warning.sentence}")
