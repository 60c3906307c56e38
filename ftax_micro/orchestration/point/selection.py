"""What to measure: which devices, which of their rows, at which settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftax_micro.devices.contract import Device, FloorRow
from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.records import Setting

# A row of a device at one setting.
Point = tuple[Device, FloorRow, Setting]


@dataclass(frozen=True)
class Selection:
    """What to measure: devices, rows by name (None: all), axes to vary.

    `by_name` is False where whatever devices there are were asked for: then one that cannot be
    opened is skipped.
    """

    devices: Sequence[str]
    probes: Sequence[str] | None = None
    axes: Sequence[str] = ()
    by_name: bool = True


def select_points(devices: Sequence[Device], selection: Selection) -> list[Point]:
    """The points a selection means: the rows' default settings, or all those of the chosen axes;
    and what has to be taken off the value of one of them.

    Errors: `UnknownNameError` for a row or axis that no device has; `UsageError` where the chosen
    rows have none of the chosen axes.
    """
    rows = [(device, row) for device in devices for row in device.rows()]
    _check_names("probe", selection.probes or (), {row.name for _, row in rows})
    _check_names("axis", selection.axes, {axis for _, row in rows for axis in row.axes})
    if selection.probes is not None:
        rows = [(device, row) for device, row in rows if row.name in selection.probes]
    points = [(device, row, each) for device, row in rows for each in _settings(row, selection)]
    points += _subtracted(points)
    if not points:
        axes = " or ".join(selection.axes)
        raise UsageError(
            f"nothing to measure: none of these rows varies by {axes}" if axes else "no row chosen"
        )
    return points


def _subtracted(points: Sequence[Point]) -> list[Point]:
    """The points whose value is taken off one of `points` and that are not among them."""
    known = [(device.name, row.name, setting) for device, row, setting in points]
    further: list[Point] = []
    for device, row, setting in points:
        if row.subtracted is None:
            continue
        name, wanted = row.subtracted.name, {**setting, **row.subtracted.setting}
        if (device.name, name, wanted) not in known:
            other = next(each for each in device.rows() if each.name == name)
            further.append((device, other, wanted))
    return further


def _settings(row: FloorRow, selection: Selection) -> Sequence[Setting]:
    if not selection.axes:
        return row.settings
    # One axis named twice is one axis: a point measured twice would pass for two processes.
    return [each for axis in dict.fromkeys(selection.axes) for each in row.axes.get(axis, ())]


def _check_names(kind: str, names: Sequence[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)
