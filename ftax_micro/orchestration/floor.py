"""The launch floor, measured: rows × settings of one or more devices into one result."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Protocol

import ftax_micro
from ftax_micro.analysis.break_even import with_break_evens
from ftax_micro.devices import open_device, resolve_devices
from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import Device
from ftax_micro.environment import capture_environment
from ftax_micro.errors import DeviceUnavailableError, FtaxError, Interrupted
from ftax_micro.facts import Environment
from ftax_micro.orchestration.exclusive import exclusive
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.plans import check_plan
from ftax_micro.orchestration.points import absent, measure_point, reason_of, skipped_device
from ftax_micro.orchestration.selection import Point, Selection, select_points
from ftax_micro.orchestration.watchdog import Watchdog
from ftax_micro.records import QUICK_PLAN, DeviceFacts, Measurement, Plan, Setting
from ftax_micro.results import Result


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
    KeyboardInterrupt means what it always means.
    """

    selection: Selection
    plan: Plan
    environment: Environment
    process: int = 0
    progress: Progress | None = None
    interrupts: Interrupts | None = None
    watchdog: Watchdog | None = None
    devices: list[DeviceFacts] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    incomplete_reason: str | None = "the run has not finished"
    _current: Point | None = None

    def run(self) -> Result:
        """Measure everything selected.

        Errors: `DeviceUnavailableError`, `UnknownNameError`, `UsageError` where nothing is
        selected, all before anything is measured; `BusyError` where another thread measures. An
        interruption ends the run early; the result says so.
        """
        with exclusive():
            opened: list[Device] = []
            try:
                for name in self.selection.devices:
                    opened.extend(self._open_or_skip(name))
                for device in opened:
                    with self._guard(f"describing {device.name}"):  # which looks for the knee
                        self.devices.append(device.describe())
                self._measure_all(select_points(opened, self.selection))
            except Interrupted as error:
                self.incomplete_reason = str(error)
            finally:
                for device in reversed(opened):
                    self._close(device)
        return self.result()

    def result(self) -> Result:
        """What has been measured so far, as a result."""
        return Result(
            tool_version=ftax_micro.__version__,
            created_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            plan=self.plan,
            environment=self.environment,
            devices=list(self.devices),
            measurements=with_break_evens(self.measurements, self.plan),
            complete=self.incomplete_reason is None,
            incomplete_reason=self.incomplete_reason,
        )

    def abandon(self, reason: str) -> None:
        """Called from the watchdog's thread: the row being measured failed, and the run with it."""
        self.incomplete_reason = reason
        if self._current is not None:
            self.measurements.append(absent(self._current, self.process, "failed", reason))

    def _measure_all(self, points: Sequence[Point]) -> None:
        for index, point in enumerate(points):
            device, row, setting = point
            if self.progress:
                self.progress.row_begins(index, len(points), device.name, row.name, setting)
            self._current = point
            with self._guard(f"{device.name} {row.name}"):
                measurement = measure_point(point, self.plan, self.process, self.interrupts)
            self._current = None
            self.measurements.append(measurement)
            if self.progress:
                self.progress.row_ends(measurement)
        self.incomplete_reason = None
        if self.interrupts and self.interrupts.pending and _cut_short(self.measurements):
            raise self.interrupts.pending

    def _open_or_skip(self, name: str) -> list[Device]:
        """The device, or none and a record that says why, where nobody asked for it by its name."""
        try:
            return [self._open(name)]
        except DeviceUnavailableError as error:
            if self.selection.by_name or name == "cpu":
                raise
            facts, row = skipped_device(name, str(error), self.process)
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
            self.incomplete_reason = self.incomplete_reason or broken

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
    """Measure the launch anatomy of `device` (``auto``, ``cpu``, ``cuda:0``, ``all``; design §3).

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
