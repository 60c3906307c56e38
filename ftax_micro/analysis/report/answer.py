"""The answer in words: what binds, what the tax is, and which mode is fastest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ftax_micro.analysis.bounds_view import case_label
from ftax_micro.analysis.case_bounds import CaseBounds
from ftax_micro.analysis.hinge import SweepCrossover
from ftax_micro.analysis.latency_view import CaseSummary
from ftax_micro.analysis.report.latencies import crossing
from ftax_micro.analysis.report.material import Material, Materials, TraceMaterial, device_title
from ftax_micro.analysis.report.page import Section
from ftax_micro.units import format_seconds

NOTHING = "The files have no measured values: nothing can be said."
# Beyond so many sentences of a kind the tables below are read more easily.
_MOST = 5
_REFERENCE = "eager"
_FLOOR_ROWS = ("launch_sync", "submit", "to_start", "call_direct")


def answer(found: Materials) -> Section:
    """A few sentences for each file, those that say what binds first."""
    results = sorted(found.results, key=lambda each: not any(b.bounds for b in each.bounds))
    groups = [(each.name, list(_of_result(each))) for each in results]
    groups += [(each.name, list(_of_trace(each))) for each in found.traces]
    groups = [(name, lines) for name, lines in groups if lines]
    missing = None if groups else NOTHING
    heading = "The answer"
    if len(groups) == 1:
        return Section("answer", "Answer", heading, groups[0][1])
    return Section("answer", "Answer", heading, missing=missing, groups=groups)


def _of_result(material: Material) -> Iterator[str]:
    yield from _regimes(material.bounds)
    yield from _cut([line for group in _workloads(material) for line in _workload(group)])
    yield from _cut([line for each in material.crossovers for line in _crossing(each)])
    yield from _floor(material)
    yield from _ladder(material)


def _cut(lines: Sequence[str]) -> list[str]:
    left = len(lines) - _MOST
    return [
        *lines[:_MOST],
        *([f"{left} more of this kind are in the tables below."] if left > 0 else []),
    ]


def _regimes(bounds: Sequence[CaseBounds]) -> Iterator[str]:
    counts = Counter(each.regime.text for each in bounds if each.regime)
    if counts:
        number = sum(counts.values())
        words = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        yield f"Of {number} {'case' if number == 1 else 'cases'} with bounds: {words}."


_Pair = tuple[CaseSummary, CaseBounds | None]


def _workloads(material: Material) -> list[list[_Pair]]:
    """Timed cases of the smallest workload of each model on each device, with their bounds."""
    bounds = {id(each.case): each for each in material.bounds}
    groups: dict[tuple[object, ...], list[_Pair]] = {}
    for row in material.cases:
        case = row.case
        if row.latency is not None and not case.twin:
            key = (case.model, case.device, case.dtype, case.batch, case.sequence, case.lengths)
            groups.setdefault(key, []).append((row, bounds.get(id(case))))
    smallest: dict[tuple[str, str], list[_Pair]] = {}
    for group in groups.values():
        case = group[0][0].case
        own = (case.model, case.device)
        if own not in smallest or _size(group) < _size(smallest[own]):
            smallest[own] = group
    return list(smallest.values())


def _size(group: Sequence[_Pair]) -> tuple[int, int]:
    case = group[0][0].case
    return case.batch, case.sequence or 0


def _workload(group: Sequence[_Pair]) -> Iterator[str]:
    rows = [row for row, _ in group]
    eager = next((pair for pair in group if pair[0].case.mode == _REFERENCE), group[0])
    row, bound = eager
    assert row.latency is not None  # a timed case
    text = f"{case_label(row.case)} takes {format_seconds(row.latency.value)} in {row.case.mode}"
    yield f"{text}{_taxed(bound)}{_fastest(rows, row)}."


def _taxed(found: CaseBounds | None) -> str:
    if found is None or found.bounds is None or found.bounds.tax is None:
        return ""
    tax, share = found.bounds.tax, found.bounds.tax_share
    of = "" if share is None else f" ({share.value * 100:.0f} %)"
    between = ""
    if tax.low is not None and tax.high is not None:
        between = f", between {format_seconds(tax.low)} and {format_seconds(tax.high)}"
    sure = " and not distinguishable from none" if found.bounds.taxed is False else ""
    regime = f"; it is {found.regime.text}" if found.regime else ""
    return f", of which {format_seconds(tax.value)}{of} are framework tax{between}{sure}{regime}"


def _fastest(rows: Sequence[CaseSummary], eager: CaseSummary) -> str:
    others = [row for row in rows if row is not eager and row.speedup is not None]
    best = max(others, key=lambda row: row.speedup.value if row.speedup else 0.0, default=None)
    if best is None or best.speedup is None or best.latency is None:
        return ""
    speedup, mode = best.speedup, best.case.mode
    own = format_seconds(best.latency.value)
    if speedup.low is None or speedup.low <= 1:
        return f"; no mode is faster beyond doubt, {mode} at {own} comes nearest"
    between = f" ({speedup.low:.2f} … {speedup.high:.2f})"
    return f"; the fastest mode is {mode} at {own}, {speedup.value:.2f} × as fast{between}"


def _crossing(each: SweepCrossover) -> Iterator[str]:
    swept = each.sweep
    if each.crossover.x is None or swept.mode != _REFERENCE:
        return
    yield (
        f"{swept.model} {swept.dtype} in {swept.mode} on {swept.device}: {crossing(each)}; below "
        "it a larger input costs little."
    )


def _floor(material: Material) -> Iterator[str]:
    for device in material.result.devices:
        own = {
            row.name: row
            for row in reversed(material.floor.rows)
            if row.device == device.name and row.value is not None and row.unit == "s"
        }
        words = [f"{name} {format_seconds(own[name].value)}" for name in _FLOOR_ROWS if name in own]
        if words:
            yield f"Launch floor of {device_title(device)}: {', '.join(words)}."


def _ladder(material: Material) -> Iterator[str]:
    for device in material.result.devices:
        rows = [row for row in material.ladder.on(device) if row.slope and row.ratio_to_floor]
        if len(rows) < 2:
            continue
        low = min(rows, key=lambda row: row.slope.value if row.slope else 0.0)
        high = max(rows, key=lambda row: row.slope.value if row.slope else 0.0)
        if low.slope and high.slope:
            yield (
                f"One operation on {device_title(device)} costs the host from "
                f"{format_seconds(low.slope.value)} ({low.rung}) to "
                f"{format_seconds(high.slope.value)} ({high.rung})."
            )


def _of_trace(material: TraceMaterial) -> Iterator[str]:
    rows = [row for row in material.rows if row.latency and row.busy]
    for row in rows[:_MOST]:
        if row.latency and row.busy and row.idle:
            yield (
                f"{row.case} takes {format_seconds(row.latency.value)}; the device is busy for "
                f"{format_seconds(row.busy.value)} and idle for {format_seconds(row.idle.value)}."
            )
    if len(rows) > _MOST:
        yield f"{len(rows) - _MOST} more steps are below."
