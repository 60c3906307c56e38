"""The launch floor, measured: rows × settings of one or more devices into one result."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Protocol

import ftax_micro
from ftax_micro.analysis.floor.break_even import with_break_evens
from ftax_micro.analysis.summary import row_key, setting_text
from ftax_micro.devices import open_device, resolve_devices
from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import Device, FloorRow
from ftax_micro.environment import capture_environment
from ftax_micro.errors import (
    DeviceUnavailableError,
    FtaxError,
    Interrupted,
    NeedsOwnProcess,
)
from ftax_micro.facts import Environment
from ftax_micro.orchestration.elsewhere import (
    Deferred,
    measure_again,
    measure_elsewhere,
    part_points,
)
from ftax_micro.orchestration.exclusive import exclusive
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.plans import check_plan, shared_plan
from ftax_micro.orchestration.point.measure import absent, measure_point, reason_of, skipped_device
from ftax_micro.orchestration.point.process import Begins, PointProcess
from ftax_micro.orchestration.point.selection import Point, Selection, select_points
from ftax_micro.orchestration.subtraction import subtract
from ftax_micro.orchestration.watchdog import Watchdog
from ftax_micro.records import QUICK_PLAN, DeviceFacts, Measurement, Plan, Setting
from ftax_micro.results import Result

# How long a point in a process of its own may go on after its timeout where nobody set a limit.
_PATIENCE_S = 60.0


class Progress(Protocol):
    """What a front end may show while rows are measured."""

    def row_begins(self, index: int, total: int, device: str, name: str, setting: Setting) -> None:
        """Row `index` (from 0) of `total` starts."""

    def row_ends(self, measurement: Measurement, /) -> None:
        """A row is done, skipped or failed."""


@dataclass
class FloorRun:
    """One run in progress; `result()` is what is known so far, at any time.

    `interrupts` and `watchdog` are given by commands; a library call has neither, so
    KeyboardInterrupt means what it always means. `processes` is how many of them measure a row;
    None: as many as the row says.
    """

    selection: Selection
    plan: Plan
    environment: Environment
    processes: int | None = None
    progress: Progress | None = None
    interrupts: Interrupts | None = None
    watchdog: Watchdog | None = None
    devices: list[DeviceFacts] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    incomplete_reason: str | None = "the run has not finished"
    _current: Point | None = None
    _points: list[Point] = field(default_factory=list)
    _repeated: list[Point] = field(default_factory=list)
    _begun: int = 0
    _complaint: str | None = None

    def run(self) -> Result:
        """Measure everything selected.

        Errors: `DeviceUnavailableError`, `UnknownNameError`, `UsageError` where nothing is
        selected, all before anything is measured; `BusyError` where another thread measures. An
        interruption ends the run early; the result says so.
        """
        with exclusive():
            try:
                deferred = self._measure_here()
                self._measure_elsewhere(deferred)  # with the devices given back
                self._measure_again()
                if self.interrupts and self.interrupts.pending and _cut_short(self.measurements):
                    raise self.interrupts.pending
                self.incomplete_reason = self._complaint
            except Interrupted as error:
                self.incomplete_reason = str(error)
        return self.result()

    def result(self) -> Result:
        """What has been measured so far, as a result."""
        return Result(
            tool_version=ftax_micro.__version__,
            created_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            plan=self.plan,
            environment=self.environment,
            devices=list(self.devices),
            measurements=with_break_evens(self._finished(), self.plan),
            complete=self.incomplete_reason is None,
            incomplete_reason=self.incomplete_reason,
        )

    def abandon(self, reason: str) -> None:
        """Called from the watchdog's thread: the row being measured failed, and the run with it."""
        self.incomplete_reason = reason
        if self._current is not None:
            self.measurements.append(absent(self._current, 0, "failed", reason))

    def _measure_here(self) -> list[Deferred]:
        """Measure what can be in this process; returns what has to be in another."""
        opened: list[Device] = []
        try:
            for name in self.selection.devices:
                opened.extend(self._open_or_skip(name))
            for device in opened:
                with self._guard(f"describing {device.name}"):  # which looks for the knee
                    self.devices.append(device.describe())
            self._points = select_points(opened, self.selection)
            return self._measure_all()
        finally:
            for device in reversed(opened):
                self._close(device)

    def _measure_all(self) -> list[Deferred]:
        parting = part_points(self._points)
        deferred = parting.deferred
        for measurement in parting.absences:
            self._begins(measurement.device, measurement.name, measurement.setting)
            self._ends(measurement)
        for point in parting.here:
            device, row, setting = point
            self._begins(device.name, row.name, setting)
            self._current = point
            try:
                with self._guard(f"{device.name} {row.name}"):
                    plan = shared_plan(self.plan, self._processes_of(row))
                    measurement = measure_point(point, plan, 0, self.interrupts, defer=True)
            except NeedsOwnProcess as reason:
                deferred.append(Deferred(point, str(reason)))
                self._begun -= 1
            else:
                self._ends(measurement)
                if measurement.status == "ok":
                    self._repeated.append(point)
            self._current = None
        return deferred

    def _measure_elsewhere(self, deferred: Sequence[Deferred]) -> None:
        points = [each.point for each in deferred]
        measure_elsewhere(
            deferred, self._other_process(), self.plan, self._beginning(points), self._ending
        )

    def _measure_again(self) -> None:
        """Measure in further processes what has a value from this one and asks for more."""
        measure_again(
            self._repeated,
            self._processes_of,
            self._other_process(),
            self.plan,
            self._beginning,
            self._ending,
        )

    def _other_process(self) -> PointProcess:
        limit_s = self.watchdog.limit_s if self.watchdog else self.plan.timeout_s + _PATIENCE_S
        return PointProcess(limit_s, self.interrupts)

    def _processes_of(self, row: FloorRow) -> int:
        return self.processes or row.processes

    def _beginning(self, points: Sequence[Point]) -> Begins:
        def begins(index: int) -> None:
            device, row, setting = points[index]
            self._begins(device.name, row.name, setting)

        return begins

    def _ending(self, _: int, measurement: Measurement) -> None:
        self._ends(measurement)

    def _begins(self, device: str, name: str, setting: Setting) -> None:
        if self.progress:
            total = sum(self._processes_of(row) for _, row, _ in self._points)
            self.progress.row_begins(self._begun, total, device, name, setting)
        self._begun += 1

    def _ends(self, measurement: Measurement) -> None:
        self.measurements.append(measurement)
        if self.progress:
            self.progress.row_ends(measurement)

    def _finished(self) -> list[Measurement]:
        """What was measured, in the order of the points, whatever process measured it first; from
        each is taken off what has to be.
        """
        done = list(self.measurements)
        keys = [(device.name, row.name, setting_text(s)) for device, row, s in self._points]
        places = {key: place for place, key in reversed(list(enumerate(keys)))}

        def place(each: Measurement) -> int:
            return places.get(row_key(each), -1)

        return [
            subtract(self._points[place(each)], each, done, self.plan.confidence)
            if place(each) >= 0
            else each  # a device that was not there has no points
            for each in sorted(done, key=place)
        ]

    def _open_or_skip(self, name: str) -> list[Device]:
        """The device, or none and a record that says why, where nobody asked for it by its name."""
        try:
            return [self._open(name)]
        except DeviceUnavailableError as error:
            if self.selection.by_name or name == "cpu":
                raise
            facts, row = skipped_device(name, str(error))
            self.devices.append(facts)
            self.measurements.append(row)
            return []

    def _open(self, name: str) -> Device:
        try:
            with self._guard(f"opening {name}"):
                return open_device(name)
        except FtaxError:
            raise
        except Exception as error:
            raise DeviceUnavailableError(f"{name} is not available: {reason_of(error)}") from error

    def _close(self, device: Device) -> None:
        """Give the device back. One that fails must not cost what was measured on it."""
        try:
            with self._guard(f"closing {device.name}"):
                device.close()
        except Exception as error:
            broken = f"{device.name} could not be closed: {reason_of(error)}"
            self._complaint = self._complaint or broken

    def _guard(self, what: str) -> contextlib.AbstractContextManager[None]:
        return self.watchdog.guard(what) if self.watchdog else contextlib.nullcontext()


def measure_launch_floor(
    device: str = "auto",
    *,
    probes: Sequence[str] | None = None,
    axes: Sequence[str] = (),
    quick: bool = False,
    plan: Plan | None = None,
    progress: Progress | None = None,
) -> Result:
    """Measure the launch anatomy of `device` (``auto``, ``cpu``, ``cuda:0``, ``all``).

    `probes` are row names (default: all), `axes` the axes to vary one at a time, `plan` the
    sampling settings (default: the full ones, or with `quick` the short ones). All times in the
    result are seconds per operation; `summarise` turns them into medians with intervals.

    Errors: `DeviceUnavailableError`, `UnknownNameError`, `ExtensionError`; `UsageError` for a plan
    that makes no sense and where nothing is selected; `BusyError` where another thread is
    measuring. A row that cannot run or fails is in the result with its reason.
    """
    chosen = check_plan(plan or (QUICK_PLAN if quick else Plan()))
    selection = Selection(resolve_devices(device), probes, axes, by_name=device != "all")
    environment = capture_environment(command=list(sys.argv), build_id=core().source_digest)
    return FloorRun(selection, chosen, environment, progress=progress).run()


def _cut_short(measurements: Sequence[Measurement]) -> bool:
    return any(m.data is not None and m.data.stop_reason == "interrupted" for m in measurements)
