"""How long models take: against the size of the input, against MACs, and case by case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.crossover.hinge import SweepCrossover
from ftax_micro.analysis.latency_view import CaseSummary
from ftax_micro.analysis.report.figure import Axis, Figure, Rule, Series, slug
from ftax_micro.analysis.report.material import Material, Materials
from ftax_micro.analysis.report.page import Section
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, without_common
from ftax_micro.stats import Estimate
from ftax_micro.units import format_seconds

NO_CASES = (
    "No file has model latencies: python -m ftax_micro.model_latency -o models.json measures them."
)
NO_SWEEP = (
    "No model was measured at two sizes: python -m ftax_micro.model_latency --batch 1..32 "
    "measures latency against batch."
)
NO_MACS = "No case has its MACs beside its latency: model_latency records both."
_COLUMNS = (
    Column("model", "model"),
    Column("device", "device"),
    Column("dtype", "dtype"),
    Column("batch", "batch", Unit.COUNT),
    Column("size", "size", Unit.COUNT),
    Column("mode", "mode"),
    Column("latency", "latency", Unit.SECONDS, interval=True),
    Column("speedup", "× over eager", Unit.RATIO, interval=True),
    Column("host", "host", Unit.SECONDS),
    Column("pipelined", "pipelined", Unit.SECONDS),
    Column("operations", "ops", Unit.COUNT),
    Column("macs", "MACs (G)", Unit.RATIO),
    Column("source", "file"),
)


# Where all cases have the same, it is said once.
_SAME = ("device", "dtype", "batch", "size")


def latency(found: Materials) -> Section:
    """A figure for each sweep of a model, all its modes and dtypes in one, and a table of cases."""
    figures = [figure for each in found.results for figure in _sweep_figures(found, each)]
    several = len(found.results) > 1
    rows = [
        _row(material.name if several else None, row)
        for material in found.results
        for row in material.cases
        if row.latency is not None and not row.case.twin
    ]
    sheet = without_common(Sheet("latency", "Latency of every case", _COLUMNS, tuple(rows)), _SAME)
    missing = None if figures else NO_SWEEP if rows else NO_CASES
    return Section(
        *("latency", "Latency", "Latency against the size of the input"),
        figures=figures,
        sheets=[sheet] if rows else [],
        missing=missing,
    )


def _row(source: str | None, row: CaseSummary) -> Row:
    case = row.case
    size = case.sequence or case.image or case.audio
    model = case.model + (f" {case.lengths}" if case.lengths else "")
    return Row(
        (
            *(model, case.device, case.dtype, case.batch, size, case.mode),
            *(row.latency, row.speedup, row.host, row.pipelined, row.operations),
            *(None if case.macs is None else case.macs / 1e9, source),
        )
    )


def _sweep_figures(found: Materials, material: Material) -> list[Figure]:
    groups: dict[tuple[object, ...], list[SweepCrossover]] = {}
    for each in material.crossovers:
        swept = each.sweep
        key = (swept.device, swept.model, swept.axis, swept.sizes, swept.lengths)
        groups.setdefault(key, []).append(each)
    known = {id(row.case): row.latency for row in material.cases}
    titled = partial(found.title, material)
    return [_sweep_figure(titled, material.name, known, group) for group in groups.values()]


def _sweep_figure(
    titled: Callable[[str], str],
    source: str,
    known: Mapping[int, Estimate | None],
    group: Sequence[SweepCrossover],
) -> Figure:
    """`known` has latencies by the identity of their case."""
    first = group[0].sweep
    sizes = [f"{name} {size}" for name, size in first.sizes]
    where = [f"{first.model} on {first.device}", *sizes, first.lengths or ""]
    kinds = {each.sweep.dtype for each in group}
    series, rules = [], []
    for each in group:
        swept = each.sweep
        name = f"{swept.mode} {swept.dtype}" if len(kinds) > 1 else swept.mode
        values = [known[id(case)] or Estimate(0.0, None, None) for case in swept.cases]
        series.append(
            Series(
                name=name,
                x=swept.values,
                y=tuple(value.value for value in values),
                low=tuple(value.low for value in values),
                high=tuple(value.high for value in values),
                colour=swept.mode,
                style=swept.dtype,
            )
        )
        x = each.crossover.x
        if x is not None:
            rules.append(Rule(name, x.value, x.low, x.high, f"{name}: {crossing(each)}"))
    return Figure(
        slug(first.axis, source, first.model, first.device, *sizes, first.lengths),
        titled(f"{', '.join(filter(None, where))}: latency against {first.axis}"),
        "curves",
        Axis(first.axis, log=True),
        Axis("latency", Unit.SECONDS, log=True),
        tuple(series),
        _summary(first.axis, group, series),
        tuple(rules),
    )


def crossing(each: SweepCrossover) -> str:
    """Where a sweep changes its regime, in words."""
    x, axis = each.crossover.x, each.sweep.axis
    if x is None:
        return f"no crossover, {each.crossover.reason}"
    between = "" if x.low is None or x.high is None else f" ({x.low:.3g} … {x.high:.3g})"
    return f"crossover at {axis} {x.value:.3g}{between}"


def _summary(axis: str, group: Sequence[SweepCrossover], series: Sequence[Series]) -> str:
    parts = [
        f"{line.name} from {format_seconds(line.y[0])} at {line.x[0]:g} to "
        f"{format_seconds(line.y[-1])} at {line.x[-1]:g}, {crossing(each)}"
        for line, each in zip(series, group, strict=True)
    ]
    return f"Latency against {axis}, both logarithmic: {'; '.join(parts)}."


def against_macs(found: Materials) -> Section:
    """The paper's Figure 1: a figure for each device, a point for each case."""
    figures = []
    for material in found.results:
        for device in dict.fromkeys(row.case.device for row in material.cases):
            own = [
                row
                for row in material.cases
                if row.case.device == device and row.latency and row.case.macs and not row.case.twin
            ]
            if own:
                figures.append(_macs_figure(found, material, device, own))
    missing = None if figures else NO_MACS
    return Section("macs", "MACs", "Latency against MACs", (), figures, missing=missing)


def _macs_figure(
    found: Materials, material: Material, device: str, rows: Sequence[CaseSummary]
) -> Figure:
    kinds = {row.case.dtype for row in rows}
    groups: dict[tuple[str, str], list[CaseSummary]] = {}
    for row in rows:
        groups.setdefault((row.case.mode, row.case.dtype), []).append(row)
    series = tuple(
        _cloud(f"{mode} {dtype}" if len(kinds) > 1 else mode, mode, dtype, own)
        for (mode, dtype), own in groups.items()
    )
    macs = [row.case.macs or 0 for row in rows]
    summary = (
        f"{len(rows)} cases in {len(series)} series, from {min(macs):.3g} to {max(macs):.3g} MACs, "
        "both axes logarithmic. Were latency a matter of MACs alone, each series would be a line."
    )
    return Figure(
        slug("macs", material.name, device),
        found.title(material, f"Latency against MACs on {device}"),
        "points",
        Axis("MACs", log=True),
        Axis("latency", Unit.SECONDS, log=True),
        series,
        summary,
    )


def _cloud(name: str, mode: str, dtype: str, rows: Sequence[CaseSummary]) -> Series:
    found = [(row, row.latency) for row in rows if row.latency is not None]
    return Series(
        name=name,
        x=tuple(float(row.case.macs or 0) for row, _ in found),
        y=tuple(value.value for _, value in found),
        low=tuple(value.low for _, value in found),
        high=tuple(value.high for _, value in found),
        labels=tuple(case_label(row.case) for row, _ in found),
        colour=mode,
        style=dtype,
    )
