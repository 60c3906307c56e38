"""The launch floor, measured: rows × settings of one or more devices into one result."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Protocol

import ftax_micro
from ftax_micro.devices import open_device, resolve_devices
from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import Device, FloorRow
from ftax_micro.environment import capture_environment
from ftax_micro.errors import (
    BusyError,
    DeviceUnavailableError,
    FtaxError,
    Interrupted,
    Skip,
    UnknownNameError,
)
from ftax_micro.facts import Environment
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.watchdog import Watchdog
from ftax_micro.records import (
    QUICK_PLAN,
    DeviceFacts,
    DeviceState,
    Measurement,
    Plan,
    Setting,
    Verdict,
)
from ftax_micro.results import Result

# A fall of the SM clock by more than this between the start and the end of a row is a verdict (§8).
_CLOCK_FALL = 0.05
# How far past its sampling timeout a row may go (warm-up, calibration, module loads) before the
# watchdog takes the device for hung.
WATCHDOG_S = 60.0

_MEASURING = threading.Lock()


class Progress(Protocol):
    """What a front end may show while rows are measured."""

    def row_begins(self, index: int, total: int, device: str, name: str, setting: Setting) -> None:
        """Row `index` (from 0) of `total` starts."""

    def row_ends(self, measurement: Measurement, /) -> None:
        """A row is done, skipped or failed."""


@dataclass(frozen=True)
class Selection:
    """What to measure: devices, rows by name (None: all), axes to vary."""

    devices: Sequence[str]
    probes: Sequence[str] | None = None
    axes: Sequence[str] = ()


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

    def run(self) -> Result:
        """Measure everything selected.

        Errors: `DeviceUnavailableError`, `UnknownNameError` before anything is measured;
        `BusyError` where another thread measures. An interruption ends the run early; the result
        says so.
        """
        with _exclusive(), contextlib.ExitStack() as stack:
            try:
                opened = [stack.enter_context(_opened(name)) for name in self.selection.devices]
                self.devices = [device.describe() for device in opened]
                self._measure_all(opened)
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
            measurements=list(self.measurements),
            complete=self.incomplete_reason is None,
            incomplete_reason=self.incomplete_reason,
        )

    def _measure_all(self, devices: Sequence[Device]) -> None:
        points = [
            (device, row, setting)
            for device in devices
            for row, setting in select_points(device.rows(), self.selection)
        ]
        _check_probes(self.selection, devices)
        for index, (device, row, setting) in enumerate(points):
            if self.progress:
                self.progress.row_begins(index, len(points), device.name, row.name, setting)
            measurement = self._measure_point(device, row, setting)
            self.measurements.append(measurement)
            if self.progress:
                self.progress.row_ends(measurement)
            if self.interrupts and self.interrupts.pending:
                raise self.interrupts.pending
        self.incomplete_reason = None

    def _measure_point(self, device: Device, row: FloorRow, setting: Setting) -> Measurement:
        what = f"{device.name} {row.name}"
        limit_s = self.plan.timeout_s + WATCHDOG_S
        with self.watchdog.guard(what, limit_s) if self.watchdog else contextlib.nullcontext():
            return measure_point(device, row, setting, self.plan, self.process)


def measure_point(
    device: Device, row: FloorRow, setting: Setting, plan: Plan, process: int = 0
) -> Measurement:
    """One row at one setting. A row that cannot run or goes wrong is a record with its reason."""
    before = device.state()
    try:
        outcome = row.measure(setting, plan)
    except Interrupted:
        raise
    except Exception as error:
        return Measurement(
            device=device.name,
            name=row.name,
            setting=setting,
            process=process,
            status="skipped" if isinstance(error, Skip) else "failed",
            reason=_reason(error),
            state_before=before,
        )
    after = device.state()
    return Measurement(
        device=device.name,
        name=row.name,
        setting=setting,
        process=process,
        status="ok",
        data=outcome.data,
        corrections=outcome.corrections,
        verdicts=[*outcome.verdicts, *_clock_verdicts(before, after)],
        facts=outcome.facts,
        state_before=before,
        state_after=after,
    )


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

    Errors: `DeviceUnavailableError`, `UnknownNameError`, `ExtensionError`; `BusyError` where
    another thread is measuring. A row that cannot run or fails is in the result with its reason.
    """
    selection = Selection(resolve_devices(device), probes, axes)
    environment = capture_environment(command=list(sys.argv), build_id=core().source_digest)
    chosen = plan or (QUICK_PLAN if quick else Plan())
    return FloorRun(selection, chosen, environment, progress=progress).run()


def select_points(
    rows: Sequence[FloorRow], selection: Selection
) -> Iterator[tuple[FloorRow, Setting]]:
    """The rows and settings a selection means: default points, or all points of the chosen axes."""
    for row in rows:
        if selection.probes is not None and row.name not in selection.probes:
            continue
        if not selection.axes:
            yield from ((row, setting) for setting in row.settings)
        for axis in selection.axes:
            yield from ((row, setting) for setting in row.axes.get(axis, ()))


def _check_probes(selection: Selection, devices: Sequence[Device]) -> None:
    rows = [row for device in devices for row in device.rows()]
    for name in selection.probes or ():
        if name not in {row.name for row in rows}:
            raise UnknownNameError("probe", name, {row.name for row in rows})
    axes = {axis for row in rows for axis in row.axes}
    for axis in selection.axes:
        if axis not in axes:
            raise UnknownNameError("axis", axis, axes)


@contextlib.contextmanager
def _opened(name: str) -> Iterator[Device]:
    try:
        device = open_device(name)
    except (FtaxError, Interrupted):
        raise
    except Exception as error:
        raise DeviceUnavailableError(f"{name} is not available: {_reason(error)}") from error
    try:
        yield device
    finally:
        device.close()


@contextlib.contextmanager
def _exclusive() -> Iterator[None]:
    if not _MEASURING.acquire(blocking=False):
        raise BusyError(
            "another thread of this process is measuring; two at once would time each other"
        )
    try:
        yield
    finally:
        _MEASURING.release()


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, FtaxError) else f"{type(error).__name__}: {text}"


def _clock_verdicts(before: DeviceState | None, after: DeviceState | None) -> list[Verdict]:
    if before is None or after is None or not before.sm_clock_hz or not after.sm_clock_hz:
        return []
    fall = 1 - after.sm_clock_hz / before.sm_clock_hz
    if fall <= _CLOCK_FALL:
        return []
    sentence = f"the SM clock fell by {fall:.0%} during this row"
    return [Verdict(code="clock_fell", sentence=sentence)]
