"""Floors of several machines, or of one machine before and after, side by side.

The samples of two results are not paired: they were taken at different times. So every row gets the
ratio of its two estimates (medians, slopes or counts) with an interval joined from theirs, which
are already widened for autocorrelation and, here, for the number of ratios in the whole table.
What corrections may be wrong by is no matter of chance and is kept apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ftax_micro import stats
from ftax_micro.analysis.matching import Match, absence_reason, difference_reason, match_rows
from ftax_micro.analysis.sides import Side, describe_sides
from ftax_micro.analysis.summary import Summary, setting_text, summarise
from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.records import Measurement, Setting
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

# A count (a queue's depth) that differs is neither faster nor slower.
RatioVerdict = Literal["faster", "slower", "same", "different", "ambiguous"]


@dataclass(frozen=True)
class Ratio:
    """One row of one result over the baseline's: above 1 it takes longer (a count: is larger).

    `low`/`high` is the statistical interval, None where there are too few independent samples;
    `systematic_low`/`systematic_high` where the ratio could lie for any truth of the corrections.
    `firm` is False where that could change the verdict. `identical`: both hold the same samples, so
    that there is nothing to compare.
    """

    value: float
    low: float | None
    high: float | None
    systematic_low: float | None
    systematic_high: float | None
    verdict: RatioVerdict
    firm: bool = True
    identical: bool = False


@dataclass(frozen=True)
class ComparedRow:
    """A row in all results, in their order: `values` are None where it is not in one at all, and
    `ratios` are None for the baseline and where nothing could be compared.
    """

    device: str
    name: str
    setting: Setting
    values: tuple[Summary | None, ...]
    ratios: tuple[Ratio | None, ...]

    @property
    def setting_text(self) -> str:
        """The setting on one line."""
        return setting_text(self.setting)

    @property
    def title(self) -> str:
        """Device, row and setting on one line."""
        return f"{self.device} {self.name} {self.setting_text}".strip()


@dataclass(frozen=True)
class NotCompared:
    """A row that one result (index `side`) cannot be compared on, and why."""

    row: str
    side: int
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Several results against one of them, `sides[baseline]`.

    `confidence` holds for all `comparisons` ratios together, `margin` is the relative difference
    that counts as none (0.02 = 2 %). `notes` are what concerns the table as a whole.
    """

    sides: tuple[Side, ...]
    baseline: int
    confidence: float
    margin: float
    comparisons: int
    rows: tuple[ComparedRow, ...]
    not_compared: tuple[NotCompared, ...]
    notes: tuple[str, ...]

    def count(self, verdict: RatioVerdict) -> int:
        """How many ratios have this verdict."""
        return sum(r is not None and r.verdict == verdict for row in self.rows for r in row.ratios)


def compare_results(
    results: Sequence[Result],
    *,
    baseline: int = 0,
    confidence: float = 0.95,
    margin: float = 0.02,
    labels: Sequence[str] | None = None,
    probes: Sequence[str] | None = None,
) -> Comparison:
    """`results` row by row against `results[baseline]`.

    A row is ``slower`` or ``faster`` where its interval lies wholly beyond `margin`, ``same`` where
    it lies wholly within, ``ambiguous`` otherwise; a count is ``different`` where it is either of
    the first two. `labels` name the results (default: their host names), `probes` restrict the
    comparison to rows of these names. Pure: nothing is measured or drawn.

    Errors: `UsageError` for fewer than two results, a baseline that is none of them, a margin or a
    confidence that makes no sense; `UnknownNameError` for a probe no result has.
    """
    _check(results, baseline, confidence, margin)
    matches = _selected(match_rows(results), probes)
    sides = describe_sides(results, labels)
    values = [_values(match, confidence) for match in matches]
    pairs, missing = _pairs(matches, values, baseline)
    level = stats.familywise(confidence, len(pairs))
    ratios: list[list[Ratio | None]] = [[None] * len(results) for _ in matches]
    for row, side in pairs:
        ratios[row][side] = _ratio(matches[row], values[row], (baseline, side), level, margin)
    rows = tuple(
        ComparedRow(match.device, match.name, match.setting, values[row], tuple(ratios[row]))
        for row, match in enumerate(matches)
    )
    absent = tuple(NotCompared(matches[row].title, side, why) for row, side, why in missing)
    notes = _notes(sides, baseline, [ratio for row in ratios for ratio in row if ratio])
    return Comparison(sides, baseline, confidence, margin, len(pairs), rows, absent, tuple(notes))


def verdict_of(
    low: float | None, high: float | None, margin: float, unit: str = "s"
) -> RatioVerdict:
    """Where the interval of a ratio lies: beyond 1 + margin, below 1 / (1 + margin), or between.

    The borders are each other's inverse, so that exchanging two results exchanges the verdicts.
    """
    if low is None or high is None:
        return "ambiguous"
    most = 1 + margin
    if low >= 1 / most and high <= most:
        return "same"
    if low > most:
        return "slower" if unit == "s" else "different"
    if high < 1 / most:
        return "faster" if unit == "s" else "different"
    return "ambiguous"


def _check(results: Sequence[Result], baseline: int, confidence: float, margin: float) -> None:
    if len(results) < 2:
        raise UsageError(f"a comparison needs two results or more, not {len(results)}")
    if not 0 <= baseline < len(results):
        raise UsageError(f"baseline {baseline} is none of the {len(results)} results (from 0)")
    if not 0 <= margin < 1:
        raise UsageError(f"a margin of {margin:g} is not from 0 up to below 1")
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence of {confidence:g} is not between 0 and 1")


def _selected(matches: Sequence[Match], probes: Sequence[str] | None) -> list[Match]:
    known = {match.name for match in matches}
    for name in probes or ():
        if name not in known:
            raise UnknownNameError("probe", name, known)
    return [match for match in matches if probes is None or match.name in probes]


def _values(match: Match, confidence: float) -> tuple[Summary | None, ...]:
    return tuple(
        summarise(group, confidence=confidence)[0] if group else None for group in match.groups
    )


def _pairs(
    matches: Sequence[Match], values: Sequence[Sequence[Summary | None]], baseline: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int, str]]]:
    """(row, side) of what can be compared, and (row, side, reason) of what cannot.

    What the baseline lacks is said of the baseline alone.
    """
    pairs: list[tuple[int, int]] = []
    missing: list[tuple[int, int, str]] = []
    for row, match in enumerate(matches):
        base = match.groups[baseline]
        reason = _no_ratio(base, values[row][baseline])
        if reason:
            missing.append((row, baseline, reason))
            continue
        for side, group in enumerate(match.groups):
            if side == baseline:
                continue
            why = _no_ratio(group, values[row][side]) or difference_reason(base, group)
            if why:
                missing.append((row, side, why))
            else:
                pairs.append((row, side))
    return pairs, missing


def _no_ratio(group: Sequence[Measurement], row: Summary | None) -> str | None:
    reason = absence_reason(group)
    if reason is None and (row is None or row.value is None or row.value <= 0):
        return "its value is not positive, which has no ratio"
    return reason


def _ratio(
    match: Match,
    values: Sequence[Summary | None],
    sides: tuple[int, int],
    level: float,
    margin: float,
) -> Ratio:
    base, other = (match.groups[side] for side in sides)
    if [(m.data, m.corrections) for m in base] == [(m.data, m.corrections) for m in other]:
        return Ratio(1.0, 1.0, 1.0, 1.0, 1.0, "same", identical=True)
    one, two = (values[side] for side in sides)
    assert one is not None
    assert two is not None
    found = stats.ratio_interval(_estimate(other, level), _estimate(base, level))
    low, high = _systematic(one, two)
    verdict = verdict_of(found.low, found.high, margin, one.unit)
    firm = _is_firm(found, (low, high), verdict, margin, one.unit)
    return Ratio(*found, low, high, verdict, firm)


def _is_firm(
    found: Estimate,
    systematic: tuple[float | None, float | None],
    verdict: RatioVerdict,
    margin: float,
    unit: str,
) -> bool:
    """Whether the verdict holds for any truth of the corrections."""
    low, high = systematic
    if low is None or high is None or found.low is None or found.high is None:
        return verdict == "ambiguous"
    down, up = low / found.value, high / found.value
    return verdict_of(found.low * down, found.high * up, margin, unit) == verdict


def _estimate(group: Sequence[Measurement], level: float) -> Estimate:
    """The row's value and interval, never finer than the clock that saw it."""
    row = summarise(group, confidence=level)[0]
    assert row.value is not None  # rows without a number are sorted out before
    samples = [each.data.samples for each in group if each.data is not None]
    if row.unit == "count" and any(samples):  # a handful of repeats: their range is what is known
        every = [value for part in samples for value in part]
        return Estimate(row.value, min(every), max(every))
    if row.low is None or row.high is None:
        return Estimate(row.value, None, None)
    half = max(stats.resolution(part) for part in samples) / 2
    return Estimate(row.value, row.low - half, row.high + half)


def _systematic(base: Summary, other: Summary) -> tuple[float | None, float | None]:
    """The ratio's least and greatest value if all corrections were wrong the worst way."""
    low, high = other.systematic_low, other.systematic_high
    below, above = base.systematic_low, base.systematic_high
    if low is None or high is None or below is None or above is None or below <= 0:
        return None, None
    return low / above, high / below


def _notes(sides: Sequence[Side], baseline: int, ratios: Sequence[Ratio]) -> list[str]:
    """What a reader has to know before believing the table."""
    notes: list[str] = []
    base = sides[baseline]
    for side in sides:
        if side is not base:
            notes += base.differences(side)
        if not side.complete:
            notes.append(f"{side.label} is incomplete: {side.incomplete_reason}")
    if ratios and all(ratio.identical for ratio in ratios):
        notes.append("the results hold the same samples: one run is compared with itself")
    elif min(side.processes for side in sides) == 1:
        notes.append(
            "a single process hides what differs from run to run (layout, placement): repeat with "
            "--processes 5 before trusting small differences"
        )
    return notes
