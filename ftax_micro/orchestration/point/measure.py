"""One row at one setting: measured, skipped or failed, and always a record."""

from __future__ import annotations

import contextlib

import msgspec

from ftax_micro.devices.contract import Device, Outcome
from ftax_micro.errors import FtaxError, Interrupted, NeedsOwnProcess, Skip
from ftax_micro.orchestration.clock_verdicts import clock_verdicts
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.point.selection import Point
from ftax_micro.records import DeviceFacts, DeviceState, Measurement, Plan, Status
from ftax_micro.result_rules import check_measurement


def measure_point(
    point: Point,
    plan: Plan,
    process: int = 0,
    interrupts: Interrupts | None = None,
    *,
    defer: bool = False,
) -> Measurement:
    """One row at one setting. A row that cannot run or goes wrong is a record with its reason.

    Errors: `Interrupted`, where it comes before the row has a value; with `defer`,
    `NeedsOwnProcess` where another process could measure it.
    """
    device, row, setting = point
    before = _state(device)
    outcome: Outcome | None = None
    try:
        with interrupts.raised() if interrupts else contextlib.nullcontext():
            outcome = row.measure(setting, plan)
    except Interrupted:
        if outcome is None:  # else it came when the row was just done
            raise
    except Exception as error:
        if defer and isinstance(error, NeedsOwnProcess):
            raise
        status: Status = "skipped" if isinstance(error, Skip) else "failed"
        return absent(point, process, status, reason_of(error), before)
    after = _state(device)
    measurement = Measurement(
        device=device.name,
        name=row.name,
        setting=setting,
        process=process,
        status="ok",
        data=outcome.data,
        corrections=outcome.corrections,
        verdicts=[*outcome.verdicts, *clock_verdicts([(before, after)])],
        facts=outcome.facts,
        state_before=before,
        state_after=after,
    )
    try:
        check_measurement(measurement)
    except msgspec.ValidationError as error:  # or nobody could read the result
        return absent(point, process, "failed", f"measured nonsense: {error}", before)
    return measurement


def absent(
    point: Point, process: int, status: Status, reason: str, before: DeviceState | None = None
) -> Measurement:
    """The record of a point without a value: its `status` and the `reason`."""
    device, row, setting = point
    return Measurement(
        device=device.name,
        name=row.name,
        setting=setting,
        process=process,
        status=status,
        reason=reason,
        state_before=before,
    )


def skipped_device(name: str, reason: str, process: int = 0) -> tuple[DeviceFacts, Measurement]:
    """What a result says of a CUDA device that could not be opened, so that none of its rows is
    known.
    """
    facts = DeviceFacts(name=name, kind="cuda", model=None, facts={"skipped": reason})
    row = Measurement(
        device=name, name="every row", process=process, status="skipped", reason=reason
    )
    return facts, row


def reason_of(error: Exception) -> str:
    """One line that says what went wrong; our own errors are sentences already."""
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, FtaxError) else f"{type(error).__name__}: {text}"


def _state(device: Device) -> DeviceState | None:
    """The device's state, all unknown where it cannot be read: no reason to lose a row, or all."""
    try:
        return device.state()
    except Exception:
        return DeviceState()
