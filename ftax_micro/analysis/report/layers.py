"""What a launch and an operation cost: the sections on launch anatomy and the dispatch ladder."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.analysis.ladder_view import LadderRow
from ftax_micro.analysis.report.figure import Axis, Figure, Series, slug
from ftax_micro.analysis.report.material import Material, Materials, device_title
from ftax_micro.analysis.report.page import Section
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.analysis.summary import Summary
from ftax_micro.records import DeviceFacts
from ftax_micro.stats import Estimate
from ftax_micro.units import format_seconds, format_short

NO_FLOOR = (
    "No file has a launch floor: python -m ftax_micro.launch_floor -o floor.json measures it."
)
NO_LADDER = (
    "No file has a dispatch ladder: python -m ftax_micro.dispatch_ladder -o ladder.json measures "
    "it."
)
_LOG_TIME = Axis("host time", Unit.SECONDS, log=True)
_FLOOR_COLUMNS = (
    Column("row", "row"),
    Column("setting", "setting"),
    Column("value", "median", Unit.SECONDS, interval=True),
    Column("count", "count", Unit.COUNT),
    Column("minimum", "min", Unit.SECONDS),
    Column("p95", "p95", Unit.SECONDS),
    Column("samples", "n", Unit.COUNT),
)
_LADDER_COLUMNS = (
    Column("rung", "rung"),
    Column("operation", "op"),
    Column("arguments", "args", Unit.COUNT),
    Column("slope", "per operation", Unit.SECONDS, interval=True),
    Column("below", "rung below"),
    Column("increment", "over the rung below", Unit.SECONDS),
    Column("ratio_to_floor", "× floor", Unit.RATIO),
    Column("intercept", "per call", Unit.SECONDS),
)


def anatomy(found: Materials) -> Section:
    """Every measured row of the launch floor, a figure and a table for each device."""
    figures, sheets, views = [], [], []
    for material in found.results:
        for device in material.result.devices:
            rows = [
                row
                for row in material.floor.rows
                if row.device == device.name and row.status == "ok" and row.value is not None
            ]
            if rows:
                title = found.title(material, f"Launch anatomy of {device_title(device)}")
                figures += _floor_figure(material, device, title, rows)
                sheets.append(Sheet("anatomy", title, _FLOOR_COLUMNS, tuple(map(_floor_row, rows))))
        views += [material.floor] if material.result.measurements else []
    missing = None if figures else NO_FLOOR
    return Section("anatomy", "Anatomy", "Launch anatomy", (), figures, sheets, views, missing)


def _floor_figure(
    material: Material, device: DeviceFacts, title: str, rows: Sequence[Summary]
) -> list[Figure]:
    timed = [row for row in rows if row.unit == "s" and (row.value or 0) > 0]
    if not timed:
        return []
    names = tuple(f"{row.name} {shown(row)}".strip() for row in timed)
    series = Series(
        name="median",
        x=tuple(row.value or 0.0 for row in timed),
        y=tuple(map(float, range(len(timed)))),
        low=tuple(row.low for row in timed),
        high=tuple(row.high for row in timed),
        labels=tuple(f"{row.count:,} samples" for row in timed),
    )
    least = min(timed, key=lambda row: row.value or 0.0)
    most = max(timed, key=lambda row: row.value or 0.0)
    summary = (
        f"{len(timed)} rows from {format_seconds(least.value)} ({least.name}) to "
        f"{format_seconds(most.value)} ({most.name}), a bar each with its interval, on a "
        "logarithmic scale."
    )
    name = slug("anatomy", material.name, device.name)
    axis = Axis("time", Unit.SECONDS, log=True)
    return [
        Figure(name, title, "bars", axis, Axis("row", Unit.TEXT, names=names), (series,), summary)
    ]


def shown(row: Summary) -> str:
    """A row's setting for people: times in a readable unit."""
    return " ".join(
        f"{key.removesuffix('_ns')}={format_short(value * 1e-9)}"
        if key.endswith("_ns") and not isinstance(value, str)
        else f"{key}={value}"
        for key, value in row.setting.items()
    )


def _floor_row(row: Summary) -> Row:
    seconds = row.unit == "s"
    value = Estimate(row.value, row.low, row.high) if row.value is not None else None
    return Row(
        (
            *(row.name, shown(row), value if seconds else None),
            *(None if seconds else row.value, row.minimum if seconds else None),
            *(row.p95 if seconds else None, row.count),
        )
    )


def ladder(found: Materials) -> Section:
    """Every rung, a figure and a table for each device."""
    figures, sheets, views = [], [], []
    for material in found.results:
        for device in material.result.devices:
            rows = [row for row in material.ladder.on(device) if row.slope and row.slope.value > 0]
            if rows:
                title = found.title(material, f"Dispatch ladder of {device_title(device)}")
                figures.append(_ladder_figure(material, device, title, rows))
                sheet = Sheet("ladder", title, _LADDER_COLUMNS, tuple(map(_ladder_row, rows)))
                sheets.append(sheet)
        views += [material.ladder] if material.result.rungs else []
    missing = None if figures else NO_LADDER
    return Section("ladder", "Ladder", "Dispatch ladder", (), figures, sheets, views, missing)


def _ladder_figure(
    material: Material, device: DeviceFacts, title: str, rows: Sequence[LadderRow]
) -> Figure:
    names = tuple(_rung(row) for row in rows)
    series = tuple(
        _rungs_of(operation, rows) for operation in dict.fromkeys(row.operation for row in rows)
    )
    slopes = {_rung(row): row.slope.value for row in rows if row.slope}
    least, most = min(slopes, key=slopes.__getitem__), max(slopes, key=slopes.__getitem__)
    summary = (
        f"Host time of one more operation on {len(rows)} rungs, from "
        f"{format_seconds(slopes[least])} ({least}) to {format_seconds(slopes[most])} "
        f"({most}), on a logarithmic scale."
    )
    return Figure(
        slug("ladder", material.name, device.name),
        title,
        "bars",
        _LOG_TIME,
        Axis("rung", Unit.TEXT, names=names),
        series,
        summary,
    )


def _rungs_of(operation: str, rows: Sequence[LadderRow]) -> Series:
    own = [(place, row, row.slope) for place, row in enumerate(rows) if row.operation == operation]
    known = [(place, row, slope) for place, row, slope in own if slope is not None]
    return Series(
        name=operation,
        x=tuple(slope.value for _, _, slope in known),
        y=tuple(float(place) for place, _, _ in known),
        low=tuple(slope.low for _, _, slope in known),
        high=tuple(slope.high for _, _, slope in known),
        labels=tuple(_over(row) for _, row, _ in known),
        colour=operation,
    )


def _rung(row: LadderRow) -> str:
    return row.rung if row.arguments is None else f"{row.rung}, {row.arguments} arguments"


def _over(row: LadderRow) -> str:
    if row.increment is None:
        return ""
    return f"{format_seconds(row.increment.value)} over {row.below}"


def _ladder_row(row: LadderRow) -> Row:
    head = (row.rung, row.operation, row.arguments, row.slope)
    return Row((*head, row.below, row.increment, row.ratio_to_floor, row.intercept))
