"""Quantities out of measurements, of one process or several: rows of a floor, rungs of a ladder."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from statistics import median, median_high

from ftax_micro import stats
from ftax_micro.analysis.core_distance import CODE as APART
from ftax_micro.analysis.core_speed import CODE as SLOWED
from ftax_micro.analysis.core_speed import slowdowns, slowed_verdict
from ftax_micro.analysis.quantities.contract import Fact, Quantity, Value
from ftax_micro.analysis.summary import Summary, summarise
from ftax_micro.analysis.undisturbed import works
from ftax_micro.records import WORKER, Data, Measurement
from ftax_micro.stats import Estimate

_Key = tuple[str, str, frozenset[tuple[str, str | int | float]]]


def measured_quantities(
    measurements: Iterable[Measurement], confidence: float
) -> Iterator[Quantity]:
    """One for each device, row and setting, the processes joined, in order of first appearance."""
    every = list(measurements)
    groups: dict[_Key, list[Measurement]] = {}
    slowed: dict[_Key, list[float]] = {}
    beside: dict[_Key, list[float]] = {}
    for each, slowdown, work_s in zip(every, slowdowns(every), works(every), strict=True):
        key = (each.device, each.name, frozenset(each.setting.items()))
        groups.setdefault(key, []).append(each)
        if slowdown is not None:
            slowed.setdefault(key, []).append(slowdown)
        if work_s is not None:
            beside.setdefault(key, []).append(work_s)
    for key, group in groups.items():
        first = group[0]
        summary = summarise(group, confidence=confidence)[0]
        known = summary.value is not None
        yield Quantity(
            device=first.device,
            name=first.name,
            setting=first.setting,
            value=_value(
                summary,
                median_high(slowed[key]) if key in slowed else None,
                median(beside[key]) if key in beside else None,
            ),
            estimate=functools.partial(_estimate, group) if known else None,
            alike=measured_alike(group),
            facts=dict(_facts(group)),
            source=[(each.data, each.corrections) for each in group],
        )


def ticked(found: Estimate, samples: Iterable[Sequence[float]]) -> Estimate:
    """`found` never finer than the clock that saw its samples."""
    if found.low is None or found.high is None:
        return Estimate(found.value, None, None)
    half = max(stats.resolution(part) for part in samples) / 2
    return Estimate(found.value, found.low - half, found.high + half)


def _estimate(group: Sequence[Measurement], level: float) -> Estimate:
    row = summarise(group, confidence=level)[0]
    assert row.value is not None  # quantities without a number have no estimate
    samples = [each.data.samples for each in group if each.data is not None]
    if row.unit == "count" and any(samples):  # a handful of repeats: their range is what is known
        every = [value for part in samples for value in part]
        return Estimate(row.value, min(every), max(every))
    return ticked(Estimate(row.value, row.low, row.high), samples)


def _value(row: Summary, slowdown: float | None, work_s: float | None) -> Value:
    return Value(
        status=row.status,
        reason=row.reason,
        unit="count" if row.unit == "count" else "s",
        value=row.value,
        low=row.low,
        high=row.high,
        systematic_low=row.systematic_low,
        systematic_high=row.systematic_high,
        step=row.step,
        samples=row.count,
        processes=row.processes,
        slowdown=slowdown if slowed_verdict(slowdown) else None,
        hop_s=row.distance.hop_s if row.distance else None,
        work_s=work_s,
        notes=tuple(_notes(row)),
    )


def _notes(row: Summary) -> Iterator[str]:
    if row.censored:
        yield f"{row.censored} of {row.censored + row.count} shots censored"
    yield from (each.sentence for each in row.verdicts if each.code not in {SLOWED, APART})


def measured_alike(group: Sequence[Measurement]) -> dict[str, str]:
    """The number of loops a sample was calibrated to and the counts of a slope follow the machine's
    speed and do not stand in the way; a single shot against a loop does, because a shot holds the
    cost of its own clock reads.
    """
    return alike_words(tuple(map(way_measured, group)))


# How one was measured: unit, estimate, sampling, the names of corrections, and what the worker of a
# hand-over did meanwhile, where that is told.
Way = tuple[str, str, str, tuple[str, ...], str | None]


def way_measured(row: Measurement) -> Way | None:
    """Of a row with data; None without."""
    data = row.data
    if data is None:
        return None
    corrections = tuple([each.name for each in row.corrections])
    worker = row.facts.get(WORKER)
    told = None if worker is None else str(worker)
    return data.unit, data.estimate, _sampling(data), corrections, told


@functools.lru_cache(maxsize=1024)  # thousands of results have a few dozen between them
def alike_words(ways: tuple[Way | None, ...]) -> dict[str, str]:
    """`measured_alike` of rows that were measured in these ways; not to be changed."""
    data = [each for each in ways if each is not None]
    corrections = sorted({name for each in data for name in each[3]})
    found = {
        "unit": _words(each[0] for each in data),
        "estimate": _words(each[1] for each in data),
        "sampling": _words(each[2] for each in data),
        "corrections": ", ".join(corrections) or "none",
    }
    workers = _words(each[4] for each in data if each[4])
    return {**found, WORKER: workers} if workers else found


def _sampling(data: Data) -> str:
    if data.levels:
        return "bursts"
    return "single shots" if data.loops == 1 else "loops"


def _words(values: Iterator[str]) -> str:
    return " and ".join(sorted(set(values)))


def _facts(group: Sequence[Measurement]) -> Iterator[tuple[str, Fact]]:
    states = [state for each in group for state in (each.state_before, each.state_after)]
    clocks = [state.sm_clock_hz for state in states if state and state.sm_clock_hz]
    if clocks:
        yield "SM clock (GHz)", median(clocks) / 1e9
