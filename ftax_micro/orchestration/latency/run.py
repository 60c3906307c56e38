"""A run over several workloads, one after the other, into one result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Protocol

import ftax_micro
from ftax_micro.devices import open_device
from ftax_micro.errors import Interrupted
from ftax_micro.facts import Environment
from ftax_micro.orchestration.exclusive import exclusive
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.latency.requests import Task
from ftax_micro.orchestration.latency.resume import CaseBook
from ftax_micro.orchestration.workload.journal import Journal
from ftax_micro.orchestration.workload.process import WorkloadProcess
from ftax_micro.orchestration.workload.request import LatencyProgress
from ftax_micro.orchestration.workload.session import WorkloadSession
from ftax_micro.records import DeviceFacts, Measurement, Plan, Roofline
from ftax_micro.results import Result

if TYPE_CHECKING:
    from ftax_micro.models.workload import Workload

# The paper's minimum of 100 samples; a minute a mode is enough for most to reach 1 %.
LATENCY_PLAN = Plan(min_samples=100, min_time_s=0.5, timeout_s=60.0, patience_s=10.0)
QUICK_LATENCY_PLAN = Plan(
    min_samples=10,
    min_time_s=0.2,
    timeout_s=5.0,
    patience_s=1.0,
    half_width=0.03,
    quick=True,
)
_NOT_QUICK = "not measured in a quick run"
_NOT_HERE = "needs a process of its own"


class Measures(Protocol):
    """How one workload is measured: in processes of its own (`WorkloadProcess`), or here."""

    def measure(self, journal: Journal) -> None:
        """Measure until no mode of `journal` is undone. Errors: `Interrupted`."""


@dataclass(frozen=True)
class InThisProcess:
    """Workloads measured here, where a mode that crashes ends everything.

    `build` makes the workload where it is not made from the request.
    """

    interrupts: Interrupts | None = None
    build: Callable[[], Workload] | None = None

    def measure(self, journal: Journal) -> None:
        """As `Measures.measure`."""
        session = WorkloadSession(
            journal.request, journal.modes, journal.plan, journal.hear, build=self.build
        )
        if self.interrupts is None:
            session.run()
            return
        with self.interrupts.raised():
            session.run()


@dataclass
class LatencyRun:
    """One run in progress; `result()` is what is known so far, at any time.

    `former` is a result to go on with: what it has is kept and not measured again, unless it was
    interrupted or, with `retry`, failed or skipped. `measurements` and `rooflines` are of the
    machine. `on_workload` is called after each workload.
    """

    tasks: Sequence[Task]
    plan: Plan
    environment: Environment
    progress: LatencyProgress | None = None
    measures: Measures = field(default_factory=WorkloadProcess)
    former: Result | None = None
    retry: bool = False
    measurements: list[Measurement] = field(default_factory=list)
    rooflines: list[Roofline] = field(default_factory=list)
    on_workload: Callable[[], None] | None = None
    devices: list[DeviceFacts] = field(default_factory=list)
    incomplete_reason: str | None = "the run has not finished"
    _current: Journal | None = None

    def __post_init__(self) -> None:
        former = self.former
        self._book = CaseBook(former.cases if former else ())
        if former:
            self.devices = list(former.devices)
            self.measurements = [*former.measurements, *self.measurements]
            self.rooflines = [*former.rooflines, *self.rooflines]

    def missing(self) -> list[Task]:
        """What is still to be measured."""
        tasks = (
            Task(task.request, tuple(self._book.missing(task, self.retry))) for task in self.tasks
        )
        return [task for task in tasks if task.modes]

    def run(self) -> Result:
        """Measure every workload. An interruption ends the run early; the result says so.

        Errors: `BusyError` where another thread measures; `DeviceUnavailableError`.
        """
        with exclusive():
            self._describe()
            try:
                tasks = self.missing()
                for index, task in enumerate(tasks):
                    if self.progress:
                        self.progress.workload_begins(task.request.text, index, len(tasks))
                    self._measure(task)
                self.incomplete_reason = None
            except Interrupted as error:
                self.incomplete_reason = str(error)
        return self.result()

    def result(self) -> Result:
        """What has been measured so far, as a result."""
        if self._current:
            self._book.add(self._current.cases())
        return Result(
            kind="model_latency",
            tool_version=ftax_micro.__version__,
            created_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            plan=self.plan,
            environment=self.environment,
            devices=list(self.devices),
            measurements=list(self.measurements),
            cases=self._book.cases(),
            rooflines=list(self.rooflines),
            complete=self.incomplete_reason is None,
            incomplete_reason=self.incomplete_reason,
        )

    def _describe(self) -> None:
        known = {facts.name for facts in self.devices}
        for name in dict.fromkeys(task.request.device for task in self.tasks):
            if name not in known:
                device = open_device(name)
                self.devices.append(device.describe())
                device.close()

    def _measure(self, task: Task) -> None:
        why = _NOT_QUICK if self.plan.quick else _NOT_HERE
        here = isinstance(self.measures, InThisProcess)
        not_alone = why if self.plan.quick or here else None
        journal = Journal(task.request, task.modes, self.plan, self.progress, not_alone)
        self._current = journal
        self.measures.measure(journal)
        self._current = None
        self._book.add(journal.cases())
        if self.on_workload:
            self.on_workload()
