"""The dispatch ladder, measured: rungs of one or more devices, a fresh process for each package.

Libraries that share a process change each other's times (threads, allocators, signal handlers,
locks on the driver), and a broken one takes the others with it. All import theirs beside each
other, before the first is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

import ftax_micro
from ftax_micro.analysis.summary import row_key, setting_text
from ftax_micro.devices import cuda_unavailable_reason, open_device, resolve_devices
from ftax_micro.devices._extension import core
from ftax_micro.environment import capture_environment
from ftax_micro.errors import Interrupted, UnknownNameError, UsageError
from ftax_micro.facts import Environment
from ftax_micro.measurement import SHORT_ROW_PROCESSES
from ftax_micro.orchestration.exclusive import exclusive
from ftax_micro.orchestration.floor import Progress
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.plans import check_plan, shared_plan
from ftax_micro.orchestration.point.job import PointJob, PointName
from ftax_micro.orchestration.point.measure import skipped_device
from ftax_micro.orchestration.point.process import Begins, PointProcess, Task
from ftax_micro.records import QUICK_PLAN, DeviceFacts, Measurement, Plan, Setting
from ftax_micro.results import Result
from ftax_micro.rungs import RUNGS
from ftax_micro.rungs.contract import Rung
from ftax_micro.rungs.ladder import rungs_of

# Twenty points have a minute: noise that will not settle within these is told as it is.
PLAN = Plan(timeout_s=3.0, patience_s=0.5, max_samples=6_000)
# How long a rung may go on after its timeout: one that compiles is made ready in that time.
PATIENCE_S = 120.0
_NOT_QUICK = "it takes longer to make ready than a quick run may; --rung asks for it by its name"
_CHILD = (sys.executable or "python3", "-m", "ftax_micro.orchestration.rung_child")


@dataclass(frozen=True)
class LadderSelection:
    """Which rungs on which devices; `absent` are devices that are not here, with the reason."""

    devices: Sequence[str]
    absent: dict[str, str] = field(default_factory=dict)
    rungs: Sequence[str] | None = None


def select_ladder(device: str = "auto", rungs: Sequence[str] | None = None) -> LadderSelection:
    """What `device` and the names of rungs (None: all) mean.

    ``auto`` and ``all`` are the cpu with the first GPU or every one; where there is none, its rungs
    are rows that say so. Errors: `UnknownNameError`, `DeviceUnavailableError`; `UsageError` where
    none of the rungs exists on any of the devices.
    """
    for name in rungs or ():
        if name not in RUNGS:
            raise UnknownNameError("rung", name, RUNGS)
    absent = {}
    if device in ("auto", "all"):
        devices = resolve_devices("all")
        devices = devices[:2] if device == "auto" else devices
        reason = cuda_unavailable_reason()
        absent = {} if reason is None else {"cuda:0": reason}
    else:
        devices = resolve_devices(device)
    selection = LadderSelection(devices, absent, rungs)
    if not any(_points(selection, name) for name in (*devices, *absent)):
        kinds = {name: " and ".join(RUNGS.open(name).below) for name in rungs or ()}
        where = ", ".join(f"{name} exists on {kind}" for name, kind in kinds.items())
        raise UsageError(f"nothing to measure on {', '.join(devices)}: {where}")
    return selection


@dataclass
class LadderRun:
    """One run in progress; `result()` is what is known so far, at any time.

    `measures` is the process for a package's rungs, `processes` how many fresh ones measure each
    rung; None: as many as the rung says, in one rung's time.
    """

    selection: LadderSelection
    plan: Plan
    environment: Environment
    measures: PointProcess
    progress: Progress | None = None
    processes: int | None = None
    devices: list[DeviceFacts] = field(default_factory=list)
    rungs: list[Measurement] = field(default_factory=list)
    incomplete_reason: str | None = "the run has not finished"
    _begun: int = 0
    _given_up: set[tuple[str, str, str]] = field(default_factory=set)

    def run(self) -> Result:
        """Measure everything selected. An interruption ends the run early; the result says so.

        Errors: `DeviceUnavailableError`, `BusyError` where another thread measures.
        """
        selection = self.selection
        with exclusive():
            try:
                for name in selection.devices:
                    self.devices.append(_described(name))
                for name, reason in selection.absent.items():
                    self._leave_out(name, reason)
                for name in selection.devices:
                    self._leave_for_later(name)
                for process in range(self.processes or _most_processes(selection)):
                    for name in selection.devices:
                        self._measure(name, process)
                self.incomplete_reason = None
            except Interrupted as error:
                self.incomplete_reason = str(error)
        return self.result()

    def result(self) -> Result:
        """What has been measured so far, as a result; rungs in the order of the ladder."""
        order = list(RUNGS)
        places = [*self.selection.devices, *self.selection.absent]
        return Result(
            kind="dispatch_ladder",
            tool_version=ftax_micro.__version__,
            created_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            plan=self.plan,
            environment=self.environment,
            devices=list(self.devices),
            measurements=[],
            rungs=sorted(
                self.rungs, key=lambda row: (places.index(row.device), order.index(row.name))
            ),
            processes=self.processes or 1,
            complete=self.incomplete_reason is None,
            incomplete_reason=self.incomplete_reason,
        )

    def _measure(self, device: str, process: int) -> None:
        packages: dict[tuple[str | None, int], list[PointName]] = {}
        for rung, setting in _points(self.selection, device):
            key = device, rung.name, setting_text(setting)
            if process >= self._repeats(rung, device) or key in self._given_up:
                continue
            point = PointName(name=rung.name, setting=setting)
            shares = 1 if self.processes else self._repeats(rung, device)
            packages.setdefault((rung.package, shares), []).append(point)
        tasks: list[Task] = []
        for (_, shares), points in packages.items():
            plan = shared_plan(self.plan, shares)
            job = PointJob(device=device, points=points, plan=plan, process=process)
            tasks.append((job, self._beginning(device, points), self._ends))
        self.measures.measure_all(tasks)

    def _beginning(self, device: str, points: Sequence[PointName]) -> Begins:
        total = sum(
            self._repeats(rung, name)
            for name in self.selection.devices
            for rung, _ in _points(self.selection, name)
        )

        def begins(index: int) -> None:
            if self.progress:
                point = points[index]
                self.progress.row_begins(self._begun, total, device, point.name, point.setting)
            self._begun += 1

        return begins

    def _ends(self, _: int, measurement: Measurement) -> None:
        self.rungs.append(measurement)
        if measurement.status != "ok":  # one that hangs would do so for minutes in each process
            self._given_up.add(row_key(measurement))
        if self.progress:
            self.progress.row_ends(measurement)

    def _leave_out(self, device: str, reason: str) -> None:
        self.devices.append(skipped_device(device, reason)[0])
        self.rungs += [_skipped(device, point, reason) for point in _points(self.selection, device)]

    def _leave_for_later(self, device: str) -> None:
        for point in _points(self.selection, device):
            if self._is_for_later(point[0]):
                self.rungs.append(_skipped(device, point, _NOT_QUICK))

    def _repeats(self, rung: Rung, device: str) -> int:
        """How many processes measure `rung` on `device`: of a quick run few, and one where there is
        a package, which it has no time to import again.
        """
        if self._is_for_later(rung):
            return 0
        repeats = rung.processes_on(_kind(device))
        if self.processes or not self.plan.quick:
            return self.processes or repeats
        return 1 if rung.package else min(repeats, SHORT_ROW_PROCESSES)

    def _is_for_later(self, rung: Rung) -> bool:
        """Whether a quick run leaves `rung` out, since nobody asked for it by its name."""
        return self.plan.quick and not rung.quick and self.selection.rungs is None


def measure_dispatch_ladder(
    device: str = "auto",
    *,
    rungs: Sequence[str] | None = None,
    quick: bool = False,
    plan: Plan | None = None,
    progress: Progress | None = None,
) -> Result:
    """Measure what every software layer adds to one operation (docs/ladder.md).

    `device` is ``auto`` (the cpu and the first GPU), ``cpu``, ``cuda:0`` or ``all``; `rungs` are
    names (default: all), `plan` the sampling settings. Slopes and intercepts are derived by
    `ladder_rows`, in seconds per operation and per call.

    Errors: as `select_ladder`; `UsageError` for a plan that makes no sense; `BusyError` where
    another thread is measuring. A rung that cannot run or fails is in the result with its reason.
    """
    chosen = check_plan(plan or (QUICK_PLAN if quick else PLAN))
    selection = select_ladder(device, rungs)
    environment = capture_environment(command=list(sys.argv), build_id=core().source_digest)
    measures = rung_process(chosen)
    return LadderRun(selection, chosen, environment, measures, progress).run()


def rung_process(
    plan: Plan, interrupts: Interrupts | None = None, patience_s: float = PATIENCE_S
) -> PointProcess:
    """How rungs are measured: in processes that are given up `patience_s` after the timeout."""
    return PointProcess(plan.timeout_s + patience_s, interrupts, _CHILD)


def _skipped(device: str, point: tuple[Rung, Setting], reason: str) -> Measurement:
    rung, setting = point
    return Measurement(
        device=device, name=rung.name, setting=setting, status="skipped", reason=reason
    )


def _points(selection: LadderSelection, device: str) -> list[tuple[Rung, Setting]]:
    kind, chosen = _kind(device), selection.rungs
    return [
        (rung, setting)
        for rung in rungs_of(kind)
        if chosen is None or rung.name in chosen
        for setting in rung.settings(kind)
    ]


def _most_processes(selection: LadderSelection) -> int:
    repeats = (
        rung.processes_on(_kind(name))
        for name in selection.devices
        for rung, _ in _points(selection, name)
    )
    return max(repeats, default=1)


def _kind(device: str) -> str:
    return device.partition(":")[0]


def _described(name: str) -> DeviceFacts:
    device = open_device(name)
    try:
        return device.describe()
    finally:
        device.close()
