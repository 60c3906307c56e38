"""Where the latency goes: device time, launch floor and tax of every case, and its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.bounding.rows import BoundRow, case_label, rows_of_cases
from ftax_micro.analysis.latency_view import workload_sizes
from ftax_micro.analysis.report.figure import Axis, Figure, Series, slug
from ftax_micro.analysis.report.material import Material, Materials, TraceMaterial
from ftax_micro.analysis.report.page import Section
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.records import Case
from ftax_micro.stats import Estimate
from ftax_micro.units import format_seconds

NO_BOUNDS = (
    "No case has bounds: python -m ftax_micro.model_latency --machine --twin records the launch "
    "floor and the zero-work twins that they need."
)
# More bars than this are not read in one figure.
MOST_BARS = 32
# A bar so many times as long as another leaves some ten pixels of that.
_SEEN = 20
_PARTS = (
    ("device bound", "the device alone, its queue never empty"),
    ("launch floor", "launching at the floor, beyond the device bound"),
    ("framework tax", "latency beyond the bound of the own launch path"),
)
_COLUMNS = (
    Column("case", "case"),
    Column("mode", "mode"),
    Column("regime", "regime"),
    Column("latency", "latency", Unit.SECONDS, interval=True),
    Column("tax", "tax", Unit.SECONDS, interval=True),
    Column("tax_share", "share", Unit.SHARE, interval=True),
    Column("why", "because", folds=True),
    Column("device_bound", "device bound", Unit.SECONDS),
    Column("launch_bound", "launch bound", Unit.SECONDS),
    Column("graph_bound", "graph bound", Unit.SECONDS),
    Column("busy", "busy", Unit.SECONDS),
    Column("idle", "idle", Unit.SECONDS),
    Column("source", "file"),
)


def attribution(found: Materials) -> Section:
    """Stacked bars of a device's cases, and the table of their bounds; steps of traces by cause."""
    figures = [
        figure
        for material in found.results
        for device in dict.fromkeys(each.case.device for each in _bound(material))
        for figure in _stacks(found, material, device)
    ]
    figures += [figure for trace in found.traces for figure in _idle(found, trace)]
    rows = [row for each in found.results for row in rows_of_cases(each.name, each.bounds)]
    rows += [row for each in found.traces for row in each.rows]
    several = len(found.results) + len(found.traces) > 1
    common, timed = _without_common([each for each in rows if each.latency is not None])
    told = [_row(each, several=several) for each in timed]
    title = ": ".join(filter(None, ("Bounds and tax of every case", common)))
    sheets = [Sheet("bounds", title, _COLUMNS, tuple(told))]
    return Section(
        *("attribution", "Causes", "Where the latency goes"),
        notes=tuple(_notes(found)),
        figures=figures,
        sheets=sheets if told else [],
        missing=None if figures else NO_BOUNDS,
    )


def _without_common(rows: Sequence[BoundRow]) -> tuple[str, Sequence[BoundRow]]:
    """What follows the models' names where all of several rows have the same, and the rows without
    it.
    """
    tails = {each.case.partition(" ")[2] for each in rows}
    if len(rows) < 2 or len(tails) > 1:
        return "", rows
    return tails.pop(), [replace(each, case=each.case.partition(" ")[0]) for each in rows]


def _bound(material: Material) -> list[CaseBounds]:
    return [each for each in material.bounds if each.bounds is not None]


def _stacks(found: Materials, material: Material, device: str) -> list[Figure]:
    cases = [each for each in _bound(material) if each.case.device == device]
    figures = []
    for group in _of_one_scale(cases):
        model = group[0].case.model if len(group) < len(cases) else ""
        figures += _stack(found, material, device, model, group)
    return figures


def _of_one_scale(cases: Sequence[CaseBounds]) -> list[Sequence[CaseBounds]]:
    """All, or those of each model where the bars of one would not be seen beside another's."""
    models: dict[str, list[CaseBounds]] = {}
    for each in cases:
        models.setdefault(each.case.model, []).append(each)
    longest = [max(_latency(each) for each in own) for own in models.values()]
    return [cases] if max(longest) <= _SEEN * min(longest) else [*models.values()]


def _latency(each: CaseBounds) -> float:
    return 0.0 if each.bounds is None else each.bounds.latency.value


def _stack(
    found: Materials, material: Material, device: str, model: str, cases: Sequence[CaseBounds]
) -> list[Figure]:
    """`model`: that of all cases, where other figures are of others."""
    common, names = _told_apart(cases)
    starts = range(0, len(cases), MOST_BARS)
    figures = []
    for number, start in enumerate(starts, 1):
        part = f"part {number} of {len(starts)}" if len(starts) > 1 else ""
        page = cases[start : start + MOST_BARS]
        figures.append(
            Figure(
                slug("attribution", material.name, device, model, part and number),
                found.title(material, f"Latency by cause on {device}", common, part),
                "stack",
                Axis("latency", Unit.SECONDS),
                Axis("case", Unit.TEXT, names=tuple(names[start : start + MOST_BARS])),
                _parts(page),
                _summary(page),
            )
        )
    return figures


def _told_apart(cases: Sequence[CaseBounds]) -> tuple[str, list[str]]:
    """What the names of cases of one device have in common, and a name for each without it."""
    words = [_words(each.case) for each in cases]
    shared = [part for part in words[0] if all(part in each for each in words[1:])]
    if len(cases) == 1:
        shared = []
    names = [
        " ".join([*(part for part in own if part not in shared), each.case.mode])
        for each, own in zip(cases, words, strict=True)
    ]
    return " ".join(shared), names


def _words(case: Case) -> list[str]:
    """Model, dtype and sizes."""
    sizes = [f"{name} {size}" for name, size in workload_sizes(case).items()]
    return [case.model, case.dtype, *sizes, *([case.lengths] if case.lengths else [])]


def _name(each: CaseBounds) -> str:
    return f"{case_label(each.case)}, {each.case.mode}"


def _parts(cases: Sequence[CaseBounds]) -> tuple[Series, ...]:
    """One series for each part; a part that is not known is not drawn."""
    found: dict[str, list[tuple[int, float, str]]] = {name: [] for name, _ in _PARTS}
    for place, each in enumerate(cases):
        bounds = each.bounds
        if bounds is None or bounds.device is None:
            continue
        device = bounds.device.seconds.value
        found["device bound"].append((place, device, _PARTS[0][1]))
        if bounds.own is not None and bounds.tax is not None:
            own = bounds.own.seconds.value
            found["launch floor"].append((place, own - device, _PARTS[1][1]))
            found["framework tax"].append((place, bounds.tax.value, _tax(bounds.tax)))
    return tuple(
        Series(
            name=name,
            x=tuple(value for _, value, _ in points),
            y=tuple(float(place) for place, _, _ in points),
            labels=tuple(label for _, _, label in points),
            colour=name,
        )
        for name, points in found.items()
        if points
    )


def _tax(tax: Estimate) -> str:
    if tax.low is None or tax.high is None:
        return _PARTS[2][1]
    return f"between {format_seconds(tax.low)} and {format_seconds(tax.high)}"


def _summary(cases: Sequence[CaseBounds]) -> str:
    parts = []
    for each in cases:
        bounds = each.bounds
        if bounds is None or bounds.tax is None or bounds.tax_share is None:
            continue
        parts.append(
            f"{_name(each)} takes {format_seconds(bounds.latency.value)}, of which "
            f"{format_seconds(bounds.tax.value)} ({bounds.tax_share.value * 100:.0f} %) are "
            "framework tax"
        )
    return f"A bar for each of {len(cases)} cases, cut into its causes: {'; '.join(parts)}."


def _row(each: BoundRow, *, several: bool) -> Row:
    return Row(
        (
            *(each.case, each.mode, each.regime),
            *(each.latency, each.tax, each.tax_share, each.why),
            *(each.device_bound, each.launch_bound, each.graph_bound, each.busy, each.idle),
            each.source if several else None,
        )
    )


def _notes(found: Materials) -> list[str]:
    """What was assumed, and why cases have no bounds; the same sentence once."""
    names: dict[str, list[str]] = {}
    traced = [f"{each.name}: {line}" for each in found.traces for line in each.lines]
    for material in found.results:
        for each in material.bounds:
            sentences = list(each.notes)
            if each.bounds is None and each.case.status == "ok":
                sentences.append(f"no bounds, {each.reason}")
            for sentence in sentences:
                own = names.setdefault(sentence, [])
                own.append(f"{case_label(each.case)} {each.case.mode}")
    return traced + [f"{_some(own)}: {sentence}" for sentence, own in names.items()]


def _some(names: Sequence[str], most: int = 3) -> str:
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def _idle(found: Materials, material: TraceMaterial) -> list[Figure]:
    rows = [row for row in material.rows if row.busy is not None and row.idle_by_cause]
    if not rows:
        return []
    shown = rows[:MOST_BARS]
    causes = [cause for cause, _ in shown[0].idle_by_cause]
    parts: dict[str, list[tuple[int, float]]] = {name: [] for name in ("busy", *causes)}
    for place, row in enumerate(shown):
        parts["busy"].append((place, row.busy.value if row.busy else 0.0))
        for cause, seconds in row.idle_by_cause:
            parts[cause].append((place, seconds))
    series = tuple(
        Series(
            name=name if name == "busy" else f"idle: {name}",
            x=tuple(seconds for _, seconds in points),
            y=tuple(float(place) for place, _ in points),
            colour=name,
        )
        for name, points in parts.items()
    )
    left = len(rows) - len(shown)
    more = f"; the first {len(shown)} of {len(rows)} steps" if left else ""
    return [
        Figure(
            slug("idle", material.name),
            found.title(material, f"Busy and idle time of each step{more}"),
            "stack",
            Axis("time", Unit.SECONDS),
            Axis("step", Unit.TEXT, names=tuple(row.case for row in shown)),
            series,
            f"A bar for each of {len(shown)} steps, cut into busy time and idle time by cause.",
        )
    ]
