"""A ratio of two quantities, its interval, and what may be said of it.

Two results are not paired: they were taken at different times. So a ratio is that of two estimates
(medians, slopes, taxes), with an interval joined from theirs, which are already widened for
autocorrelation. Where two quantities took turns in one run, it is the median over the rounds, in
which what drifted falls on both alike. What corrections may be wrong by is no matter of chance and
is kept apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ftax_micro import stats
from ftax_micro.analysis.quantities.contract import Quantity, Value
from ftax_micro.stats import Estimate

# A count (a queue's depth) that differs is neither faster nor slower.
RatioVerdict = Literal["faster", "slower", "same", "different", "ambiguous"]


@dataclass(frozen=True)
class Ratio:
    """One quantity of one result over the baseline's: above 1 it takes longer (a count: is larger).

    `low`/`high` is the statistical interval, None where there are too few independent samples;
    `systematic_low`/`systematic_high` where the ratio could lie for any truth of the corrections.
    `firm` is False where that could change the verdict. `identical`: both hold the same samples, so
    that there is nothing to compare. `paired`: over rounds in which both took turns.
    """

    value: float
    low: float | None
    high: float | None
    systematic_low: float | None
    systematic_high: float | None
    verdict: RatioVerdict
    firm: bool = True
    identical: bool = False
    paired: bool = False


def ratio_of(
    base: Quantity, other: Quantity, level: float, margin: float, *, one_result: bool = False
) -> Ratio:
    """`other` over `base`, both with a positive value, the interval at the confidence `level`.

    `one_result`: both are of the same one, so that they may have taken turns.
    """
    if base.source == other.source:
        return Ratio(1.0, 1.0, 1.0, 1.0, 1.0, "same", identical=True)
    assert base.estimate is not None
    assert other.estimate is not None
    paired = _paired(base, other, level) if one_result else None
    divided = quotient if other.signed else stats.ratio_interval
    found = paired or divided(other.estimate(level), base.estimate(level))
    low, high = _systematic(base.value, other.value)
    unit = base.value.unit
    verdict = verdict_of(found.low, found.high, margin, unit)
    plain = (other.value.value or 0.0) / (base.value.value or 1.0)
    firm = _is_firm(found, plain, (low, high), verdict, margin, unit)
    return Ratio(*found, low, high, verdict, firm, paired=paired is not None)


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


def quotient(a: Estimate, b: Estimate) -> Estimate:
    """a/b of two independent estimates, b positive, with an interval at the confidence of theirs.

    As `stats.ratio_interval` where a is clearly positive. Where it could be zero or less, as a tax
    could, logarithms are of no use: then the interval is of those r for which a − r·b could be
    zero, the distances joined in quadrature (MOVER: Donner and Zou, Stat. Methods Med. Res. 21,
    2012). None where b could be zero too.
    """
    if a.value > 0 and (a.low is None or a.low > 0):
        return stats.ratio_interval(a, b)
    ratio = a.value / b.value
    if a.low is None or a.high is None or b.low is None or b.low <= 0:
        return Estimate(ratio, None, None)
    # (b² − e²) r² − 2ab r + a² − d² = 0, with the distances d of a's end and e of b's lower one.
    square, product = b.low * (2 * b.value - b.low), a.value * b.value
    ends = []
    for sign, end in ((-1.0, a.low), (1.0, a.high)):
        rest = a.value**2 - (end - a.value) ** 2
        ends.append((product + sign * (product**2 - square * rest) ** 0.5) / square)
    return Estimate(ratio, ends[0], ends[1])


def _paired(base: Quantity, other: Quantity, level: float) -> Estimate | None:
    """The median over the rounds both took part in; None where there are none, or too few."""
    if base.rounds is None or other.rounds is None or base.rounds.run != other.rounds.run:
        return None
    # Blocks of one number were taken in one round, as long as both took part in it.
    count = min(len(base.rounds.medians), len(other.rounds.medians))
    if count == 0:
        return None
    found = stats.paired_ratio(other.rounds.medians[:count], base.rounds.medians[:count], level)
    return None if found.low is None else found


def _systematic(base: Value, other: Value) -> tuple[float | None, float | None]:
    """The ratio's least and greatest value if all corrections were wrong the worst way."""
    low, high = other.systematic_low, other.systematic_high
    below, above = base.systematic_low, base.systematic_high
    if low is None or high is None or below is None or above is None or below <= 0:
        return None, None
    return low / (above if low > 0 else below), high / (below if high > 0 else above)


def _is_firm(
    found: Estimate,
    plain: float,
    systematic: tuple[float | None, float | None],
    verdict: RatioVerdict,
    margin: float,
    unit: str,
) -> bool:
    """Whether the verdict holds for any truth of the corrections; without them, and without
    chance, the ratio is `plain`.
    """
    low, high = systematic
    if low is None or high is None or found.low is None or found.high is None:
        return verdict == "ambiguous"
    if plain > 0 and low > 0:
        least, most = found.low * (low / plain), found.high * (high / plain)
    else:
        least, most = found.low + (low - plain), found.high + (high - plain)
    return verdict_of(least, most, margin, unit) == verdict
