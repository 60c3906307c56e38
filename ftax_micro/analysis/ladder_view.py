"""The dispatch ladder from raw bursts: cost per operation, per call, and what each layer adds.

Everything a reporter shows of a ladder is computed here once; pure, so that a saved file renders as
it did when it was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from ftax_micro import stats
from ftax_micro.analysis.summary import Summary, summarise, with_undisturbed
from ftax_micro.analysis.undisturbed import undisturbed
from ftax_micro.records import Data, DeviceFacts, Measurement, Verdict
from ftax_micro.results import Result
from ftax_micro.stats import Estimate
from ftax_micro.trust import TrustWarning, trust_warnings

# A level's median may be off the line by this much of itself, and outside its own interval
# too, before the cost is called not linear.
_OFF_THE_LINE = 0.05
NOT_LINEAR = "not_linear"


@dataclass(frozen=True)
class LadderRow:
    """One rung at one number of arguments; times in seconds, None where there is no value.

    `slope` is the cost of one more operation, `intercept` that of the call they are made in.
    `increment` is the slope less that of the rung `below`, `ratio_to_floor` the slope over that of
    the device's lowest rung, at the same number of arguments where it has one. `summary` is that of
    the slope: samples, stop reason, verdicts.
    """

    summary: Summary
    slope: Estimate | None = None
    intercept: Estimate | None = None
    below: str | None = None
    increment: Estimate | None = None
    ratio_to_floor: Estimate | None = None

    @property
    def rung(self) -> str:
        """Its name."""
        return self.summary.name

    @property
    def operation(self) -> str:
        """``call``, ``kernel`` or ``add``."""
        return str(self.summary.setting.get("op", ""))

    @property
    def arguments(self) -> int | None:
        """How many arguments an operation has; None where the layer takes none."""
        number = self.summary.setting.get("arguments")
        return None if number is None else int(number)


@dataclass(frozen=True)
class LadderView:
    """A result with its rungs, lowest first on each device, and its trust warnings."""

    result: Result
    rows: list[LadderRow]
    warnings: list[TrustWarning]

    @property
    def summaries(self) -> list[Summary]:
        """Those of the slopes."""
        return [row.summary for row in self.rows]

    def on(self, device: DeviceFacts) -> list[LadderRow]:
        """The rungs of one device that have a value."""
        return [row for row in self.rows if row.summary.device == device.name and row.slope]


def ladder_view(result: Result) -> LadderView:
    """The view of `result`."""
    rows = ladder_rows(result.rungs, result.plan.confidence)
    return LadderView(result, rows, trust_warnings(result.environment, gpu_uuids=[]))


def ladder_rows(rungs: Sequence[Measurement], confidence: float = 0.95) -> list[LadderRow]:
    """One row per device, rung and number of arguments, in the order they come."""
    slopes = with_undisturbed(summarise(rungs, confidence=confidence), rungs, confidence)
    intercepts = summarise(map(_of_intercept, rungs), confidence=confidence)
    lower = {(each.device, each.name): each.facts.get("below") for each in rungs}
    bent = _not_linear(rungs, confidence)
    rows = []
    for slope, intercept in zip(slopes, intercepts, strict=True):
        below = lower.get((slope.device, slope.name))
        verdict = bent.get(_key(slope))
        told = replace(slope, verdicts=(*slope.verdicts, verdict)) if verdict else slope
        rows.append(
            LadderRow(
                told,
                _estimate(slope),
                _estimate(intercept),
                None if below is None else str(below),
            )
        )
    floors = {row.summary.device: row.rung for row in reversed(rows) if _is_floor(row)}
    return [_compared(row, rows, floors.get(row.summary.device)) for row in rows]


def _compared(row: LadderRow, rows: Sequence[LadderRow], floor: str | None) -> LadderRow:
    """`row` with what it adds to the rung below, and its ratio to the device's lowest."""
    if row.slope is None:
        return row
    under = _like(row, rows, row.below)
    lowest = _like(row, rows, floor)
    positive = lowest is not None and lowest.value > 0 and row.slope.value > 0
    return replace(
        row,
        increment=None if under is None else stats.difference(row.slope, under),
        ratio_to_floor=stats.ratio_interval(row.slope, lowest) if lowest and positive else None,
    )


def _like(row: LadderRow, rows: Iterable[LadderRow], rung: str | None) -> Estimate | None:
    """The slope of `rung` on the device of `row`, at its number of arguments or else the least."""
    own = [each for each in rows if each.rung == rung and each.slope]
    own = [each for each in own if each.summary.device == row.summary.device]
    same = [each for each in own if each.arguments == row.arguments]
    least = sorted(own, key=lambda each: each.arguments or 0)
    found = next(iter(same or least), None)
    return None if found is None else found.slope


def _is_floor(row: LadderRow) -> bool:
    return row.slope is not None and row.below is None


def _of_intercept(row: Measurement) -> Measurement:
    if row.data is None:
        return row
    data = msgspec.structs.replace(row.data, estimate="intercept")
    return msgspec.structs.replace(row, data=data)


def _estimate(row: Summary) -> Estimate | None:
    return None if row.value is None else Estimate(row.value, row.low, row.high)


def _key(row: Summary | Measurement) -> tuple[str, str, str]:
    return row.device, row.name, str(sorted(row.setting.items()))


def _not_linear(rungs: Sequence[Measurement], confidence: float) -> dict[object, Verdict]:
    """What is to be said of rungs whose cost does not grow with the operations alone.

    Of several processes most have to say so, by their undisturbed samples where there are enough:
    what a neighbour takes from one of them is no matter of the rung.
    """
    worst: dict[object, list[tuple[int, float] | None]] = {}
    for each, quiet in zip(rungs, undisturbed(rungs), strict=True):
        data = quiet or each.data
        if data is not None:
            worst.setdefault(_key(each), []).append(_worst_level(data, confidence))
    found: dict[object, Verdict] = {}
    for key, levels in worst.items():
        bent = sorted((each for each in levels if each), key=lambda level: abs(level[1]))
        if 2 * len(bent) > len(levels):
            count, off = bent[len(bent) // 2]
            sentence = (
                f"its cost is not linear: {count} operations take {abs(off):.0%} "
                f"{'more' if off > 0 else 'less'} than the line through all counts says"
            )
            found[key] = Verdict(code=NOT_LINEAR, sentence=sentence)
    return found


def _worst_level(data: Data, confidence: float) -> tuple[int, float] | None:
    """The count whose median is furthest off the fitted line, and by what share; None where all
    are on it, as far as their intervals can tell.
    """
    counts = [level.count for level in data.levels]
    medians = [stats.median_interval(level.samples_s, confidence) for level in data.levels]
    slope, intercept = stats.fit_line(counts, np.array([each.value for each in medians]))
    worst: tuple[int, float] | None = None
    for count, median in zip(counts, medians, strict=True):
        fitted = float(intercept + slope * count)
        if median.low is None or median.high is None or median.low <= fitted <= median.high:
            continue
        off = (median.value - fitted) / abs(median.value) if median.value else 0.0
        if abs(off) > _OFF_THE_LINE and (worst is None or abs(off) > abs(worst[1])):
            worst = count, off
    return worst
