"""The headline of every row of a result, and nothing else: what a comparison shows as its value,
without the intervals that cost fifty times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import mul

from ftax_micro.analysis.pools.spread import middle
from ftax_micro.analysis.quantities.latency import case_alike, case_setting, wait_styles
from ftax_micro.analysis.quantities.measured import Way, alike_words, way_measured
from ftax_micro.records import Case, Data, Measurement, Setting
from ftax_micro.results import Result

Frozen = tuple[tuple[str, str | int | float], ...]


@dataclass(frozen=True)
class RowName:
    """What a number is about: equal ones are about the same, measured the same way.

    `device` is its kind, ``cpu`` or ``cuda``; `alike` is what had to agree; `shown` is the setting
    in the order in which it was written, which makes no other row.
    """

    kind: str
    device: str
    name: str
    quantity: str | None
    setting: Frozen
    alike: Frozen
    shown: Frozen = field(default=(), compare=False)


@dataclass(frozen=True)
class RowValue:
    """A row's number (seconds, or a count), or why it has none; `device` as the file names it."""

    row: RowName
    device: str
    value: float | None
    unit: str = "s"
    reason: str | None = None


def floor_values(result: Result) -> Iterator[RowValue]:
    """Of a launch floor."""
    return _measured("floor", result.measurements)


def ladder_values(result: Result) -> Iterator[RowValue]:
    """Of a dispatch ladder."""
    return _measured("ladder", result.rungs)


def latency_values(result: Result) -> Iterator[RowValue]:
    """Of models: latency, host time where it is another, pipelined interval; seconds a forward."""
    waits = wait_styles(result) if result.cases else {}
    for case in result.cases:
        yield from _of_case(case, waits.get(case.device))


# By the names that `compare --kind` has.
POOLED: Mapping[str, Callable[[Result], Iterator[RowValue]]] = {
    "floor": floor_values,
    "ladder": ladder_values,
    "latency": latency_values,
}


def headline(data: Data) -> float:
    """The median of the samples, or the slope or intercept over the levels' medians."""
    if data.estimate == "median":
        return middle(data.samples)
    counts = [level.count for level in data.levels]
    slope, intercept = _line(counts, [middle(level.samples_s) for level in data.levels])
    return slope if data.estimate == "slope" else intercept


def _line(counts: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Slope and intercept as `stats.fit_line` has them; an array costs more than four numbers."""
    mean = sum(counts) / len(counts)
    centred = [count - mean for count in counts]
    slope = sum(map(mul, centred, values)) / sum(map(mul, centred, centred))
    return slope, sum(values) / len(values) - slope * mean


def _measured(kind: str, rows: Sequence[Measurement]) -> Iterator[RowValue]:
    groups: dict[tuple[str, str, Frozen], list[Measurement]] = {}
    for each in rows:
        groups.setdefault((each.device, each.name, _frozen(each.setting)), []).append(each)
    for (device, name, setting), group in groups.items():
        shown = tuple(group[0].setting.items())
        bad = next((each for each in group if each.status != "ok" or each.data is None), None)
        if bad is not None:  # one process that failed fails the row, as everywhere
            row = RowName(kind, _kind(device), name, None, setting, ())
            yield RowValue(row, device, None, reason=f"{bad.status}: {bad.reason}")
            continue
        row = _row(kind, device, name, setting, shown, tuple(map(way_measured, group)))
        yield RowValue(row, device, _joined(group), _unit(group[0].data))


@lru_cache(maxsize=4096)  # of thousands of results all have the same few dozen
def _row(
    kind: str,
    device: str,
    name: str,
    setting: Frozen,
    shown: Frozen,
    ways: tuple[Way | None, ...],
) -> RowName:
    return RowName(kind, _kind(device), name, None, setting, _frozen(alike_words(ways)), shown)


def _joined(group: Sequence[Measurement]) -> float:
    """The median over processes, each less its corrections."""
    return middle(
        [
            headline(each.data) - sum(correction.value_s for correction in each.corrections)
            for each in group
            if each.data is not None
        ]
    )


def _of_case(case: Case, wait: str | None) -> Iterator[RowValue]:
    device, found = _kind(case.device), case_setting(case)
    setting, shown = _frozen(found), tuple(found.items())
    latency, host = case.latency, case.host
    if case.status != "ok" or latency is None:
        row = RowName("latency", device, case.model, "latency", setting, ())
        yield RowValue(row, case.device, None, reason=f"{case.status}: {case.reason}")
        return
    alike = _frozen(case_alike(case, wait))
    times = {"latency": latency, "host": host, "pipelined": case.pipelined}
    if host is not None and host.samples == latency.samples:
        del times["host"]
    for name, data in times.items():
        if data is not None:
            row = RowName("latency", device, case.model, name, setting, alike, shown)
            yield RowValue(row, case.device, middle(data.samples), _unit(data))


def _kind(device: str) -> str:
    return device.partition(":")[0]


def _unit(data: Data | None) -> str:
    return "count" if data is not None and data.unit == "count" else "s"


def _frozen(setting: Setting | Mapping[str, str]) -> Frozen:
    return tuple(sorted(setting.items()))
