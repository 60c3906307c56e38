"""The answer in words: what binds, what the tax is, which mode is fastest, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ftax_micro.analysis.advice.advisor import advise_steps
from ftax_micro.analysis.advice.contract import Advice, NoAdvice
from ftax_micro.analysis.advice.text import sentence, together
from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.report.material import Material, Materials, TraceMaterial, device_title
from ftax_micro.analysis.report.page import Section
from ftax_micro.units import format_seconds

NOTHING = "The files have no measured values: nothing can be said."
# Beyond so many sentences of a kind the tables below are read more easily.
_MOST = 6
# Advice that answers; the rest says what would change it.
_ANSWERS = ("regime", "mode")
_FLOOR_ROWS = ("launch_sync", "submit", "to_start", "call_direct")
_Groups = list[tuple[str, Sequence[str]]]


def answer(found: Materials) -> Section:
    """A few sentences for each file, those that say what binds first."""
    results = sorted(found.results, key=lambda each: not any(b.bounds for b in each.bounds))
    groups: _Groups = []
    for result in results:
        groups += _groups(result.name, list(_of_result(result)), result.advice)
    for trace in found.traces:
        groups += _groups(trace.name, list(_of_trace(trace)), advise_steps(trace.rows))
    groups = [(name, lines) for name, lines in groups if lines]
    heading = "The answer"
    if len(found.results) + len(found.traces) == 1 and groups:
        (_, lines), *rest = groups
        rest = [("What would change it", more) for _, more in rest]
        return Section("answer", "Answer", heading, lines, groups=rest)
    missing = None if groups else NOTHING
    return Section("answer", "Answer", heading, missing=missing, groups=groups)


def _groups(name: str, told: list[str], advice: Sequence[Advice]) -> _Groups:
    """What binds behind the first of the sentences `told`, and what would change it apart."""
    told[1:1] = _sentences([each for each in advice if each.kind in _ANSWERS])
    more = _sentences([each for each in advice if each.kind not in _ANSWERS])
    return [(name, told), (f"What would change it: {name}", more)]


def _sentences(advice: Sequence[Advice]) -> list[str]:
    """One for those that are alike; few of each kind."""
    told = [each for each in advice if each.told and not isinstance(each, NoAdvice)]
    kinds: dict[str, list[str]] = {}
    for group in together(told):
        kinds.setdefault(group[0].kind, []).append(sentence(group) + ".")
    return [line for lines in kinds.values() for line in _cut(lines)]


def _cut(lines: Sequence[str]) -> list[str]:
    left = len(lines) - _MOST
    more = [f"{left} more of this kind: python -m ftax_micro.bound_analysis --view advice has all."]
    return [*lines[:_MOST], *(more if left > 0 else [])]


def _of_result(material: Material) -> Iterator[str]:
    yield from _regimes(material.bounds)
    yield from _floor(material)
    yield from _ladder(material)


def _regimes(bounds: Sequence[CaseBounds]) -> Iterator[str]:
    counts = Counter(each.regime.text for each in bounds if each.regime)
    if counts:
        number = sum(counts.values())
        words = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        yield f"Of {number} {'case' if number == 1 else 'cases'} with bounds: {words}."


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
    """On the first row of each trace: that of several steps has their medians."""
    rows = [row for row in material.rows if row.latency and row.busy]
    for row in rows[:1]:
        if row.latency and row.busy and row.idle:
            more = f" {len(rows) - 1} more are below." if len(rows) > 1 else ""
            yield (
                f"{row.case} takes {format_seconds(row.latency.value)}; the device is busy for "
                f"{format_seconds(row.busy.value)} and idle for {format_seconds(row.idle.value)}."
                f"{more}"
            )
