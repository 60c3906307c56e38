"""Statistics of latency samples: free functions on arrays, distribution-free where they can be.

Launch times are right-skewed, bounded below and autocorrelated; means and standard deviations
mislead, so everything here rests on order statistics and resampling. What is undefined is ``None``.
Sources: order-statistic interval of a quantile (David and Nagaraja, Order Statistics, 7.1);
effective sample size of an AR(1) series (Priestley, Spectral Analysis and Time Series, 5.3.2);
median of log ratios over paired blocks as in nanobench's ``compare`` (martinus/nanobench).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Estimate(NamedTuple):
    """A value and its interval, all in the unit of the samples; `low`/`high` None: undefined."""

    value: float
    low: float | None
    high: float | None

    @property
    def half_width(self) -> float | None:
        """Half the interval's width relative to the value; None where undefined."""
        if self.low is None or self.high is None or self.value == 0:
            return None
        return (self.high - self.low) / 2 / abs(self.value)


class Line(NamedTuple):
    """T(n) = intercept + slope · n, and the largest relative residual of the fitted medians."""

    slope: Estimate
    intercept: Estimate
    worst_residual: float


def _heads_cdf(n: int) -> Array:
    """P(X ≤ k), k = 0 … n heads in n fair tosses; in logarithms, since 2⁻ⁿ underflows."""
    k = np.arange(1, n + 1)
    log_choose = np.concatenate([[0.0], np.cumsum(np.log((n + 1 - k) / k))])
    return np.cumsum(np.exp(log_choose - n * math.log(2)))


@lru_cache(maxsize=1024)  # the cases of a result have few numbers of samples between them
def median_ranks(n: int, confidence: float) -> tuple[int, int] | None:
    """0-based ranks whose order statistics enclose the median with at least `confidence`.

    None where even the extremes do not (n < 6 at 95 %). Symmetric, so the ranks are (k, n−1−k).
    """
    # Rounding of `confidence` and of the sums must not cost a rank that holds with equality.
    tail = (1 - confidence) / 2 * (1 + 1e-9)
    if n < 1 or 0.5**n > tail:
        return None
    # The interval [x_(k), x_(n-1-k)] (0-based) misses low with P(X <= k), X ~ Binomial(n, 1/2).
    k = int(np.searchsorted(_heads_cdf(n), tail, side="right")) - 1
    return k, n - 1 - k


def lag1_autocorrelation(samples: ArrayLike) -> float:
    """Lag-1 autocorrelation of the ranks, 0 for fewer than 8 samples or constant ones.

    Ranks, because a single scheduler hiccup would otherwise dominate the product moment.
    """
    x = np.asarray(samples, dtype=float)
    ordered = np.sort(x)
    if x.size < 8 or ordered[0] == ordered[-1]:
        return 0.0
    # Equal samples share the middle of their ranks.
    ranks = (np.searchsorted(ordered, x, "left") + np.searchsorted(ordered, x, "right") + 1) / 2
    centred = ranks - (x.size + 1) / 2
    return float(np.dot(centred[:-1], centred[1:]) / np.dot(centred, centred))


def effective_size(samples: ArrayLike) -> int:
    """Number of independent samples that carry as much, where autocorrelation is significant.

    n (1 − r) / (1 + r) for a lag-1 autocorrelation r above its 97.5 % bound under independence,
    else n: negative or insignificant correlation never makes an interval narrower.
    """
    n = int(np.size(samples))
    r = lag1_autocorrelation(samples)
    if n < 8 or r <= 1.96 / math.sqrt(n):
        return n
    return max(1, math.floor(n * (1 - r) / (1 + r)))


def median_interval(samples: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Median with a distribution-free interval on the effective sample size.

    Interval ends are order statistics; with n_eff < n the ranks found for n_eff are taken at the
    same quantiles of all n samples. Errors: `ValueError` without samples.
    """
    x = np.sort(np.asarray(samples, dtype=float))
    if x.size == 0:
        raise ValueError("no samples")
    median = float(x[(x.size - 1) // 2] + x[x.size // 2]) / 2
    size = effective_size(samples)
    ranks = median_ranks(size, confidence)
    if ranks is None:
        return Estimate(median, None, None)
    low = math.floor(ranks[0] * x.size / size)
    return Estimate(median, float(x[low]), float(x[x.size - 1 - low]))


def noise(samples: ArrayLike) -> float | None:
    """Relative dispersion: interquartile range over median; None where the median is 0."""
    low, mid, high = np.percentile(np.asarray(samples, dtype=float), [25, 50, 75])
    return float((high - low) / mid) if mid else None


def percentile(samples: ArrayLike, q: float) -> float | None:
    """The q-th percentile (0 … 100), None where too few samples lie beyond it to mean anything.

    At least 5 samples must lie in the tail: p5 and p95 need 100 samples, p99 needs 500.
    """
    x = np.asarray(samples, dtype=float)
    tail = min(q, 100 - q) / 100
    if x.size == 0 or x.size * tail < 5 - 1e-9:
        return None
    return float(np.percentile(x, q))


def outliers(samples: ArrayLike) -> int:
    """How many samples lie over 3 interquartile ranges off the quartiles; none is ever dropped."""
    x = np.asarray(samples, dtype=float)
    low, high = np.percentile(x, [25, 75])
    reach = 3 * (high - low)
    return int(np.count_nonzero((x < low - reach) | (x > high + reach)))


def fit_line(counts: ArrayLike, values: ArrayLike) -> tuple[Array, Array]:
    """Least-squares slopes and intercepts of `values` (…, levels) over `counts` (levels)."""
    x = np.asarray(counts, dtype=float)
    y = np.asarray(values, dtype=float)
    centred = x - x.mean()
    slope = (y @ centred) / (centred @ centred)
    return slope, y.mean(axis=-1) - slope * x.mean()


def slope_interval(
    counts: Sequence[int],
    levels: Sequence[ArrayLike],
    confidence: float = 0.95,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Line:
    """Slope and intercept of the per-level medians, bootstrapped within levels.

    `counts`: operations per burst, `levels`: seconds per burst, one array a level. Each resample
    draws every level anew; intervals are percentile intervals about the estimate, widened by the
    square root of n / n_eff where the samples of the levels are autocorrelated. Fewer than 2
    samples in a level: intervals None. Errors: `ValueError` for fewer than two distinct counts.
    """
    if len(set(counts)) < 2:
        raise ValueError("a slope needs two distinct counts")
    data = [np.asarray(level, dtype=float) for level in levels]
    medians = np.array([np.median(level) for level in data])
    slopes, intercepts = fit_line(counts, medians)
    slope, intercept = float(slopes), float(intercepts)
    fitted = intercept + slope * np.asarray(counts, dtype=float)
    worst = float(np.max(np.abs(medians - fitted) / np.where(medians == 0, 1.0, np.abs(medians))))
    if min(level.size for level in data) < 2:
        return Line(Estimate(slope, None, None), Estimate(intercept, None, None), worst)
    rng = np.random.default_rng(seed)
    drawn = np.stack([bootstrap_medians(x, resamples, rng) for x in data], axis=1)
    b_slopes, b_intercepts = fit_line(counts, drawn)
    widen = float(np.median([math.sqrt(x.size / effective_size(x)) for x in data]))
    return Line(
        _percentile_interval(slope, b_slopes, confidence, widen),
        _percentile_interval(intercept, b_intercepts, confidence, widen),
        worst,
    )


def _percentile_interval(value: float, drawn: Array, confidence: float, widen: float) -> Estimate:
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    # Medians of few samples are so coarse that all resamples may lie on one side of the estimate.
    below, above = max(0.0, value - float(low)), max(0.0, float(high) - value)
    return Estimate(value, value - below * widen, value + above * widen)


def paired_ratio(
    a: ArrayLike, b: ArrayLike, confidence: float = 0.95, comparisons: int = 1
) -> Estimate:
    """Median ratio a/b over paired blocks (same length), with its sign-test interval.

    Taken on log ratios, so that a/b and b/a agree; `comparisons` widens the interval for a whole
    table (Šidák). Errors: `ValueError` for unequal lengths, no pairs, or values that are not
    positive.
    """
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    positive = all(np.all((v > 0) & np.isfinite(v)) for v in (x, y))
    if x.shape != y.shape or x.size == 0 or not positive:
        raise ValueError("paired blocks need equally many positive values")
    log = median_interval(np.log(x / y), familywise(confidence, comparisons))
    return Estimate(*(None if v is None else math.exp(v) for v in log))  # type: ignore[arg-type]


def familywise(confidence: float, comparisons: int) -> float:
    """Confidence of each of `comparisons` intervals so that all hold together with `confidence`."""
    return float(confidence ** (1 / max(1, comparisons)))


def bootstrap_medians(samples: ArrayLike, resamples: int, rng: np.random.Generator) -> Array:
    """Medians of `resamples` bootstrap samples of `samples`, without drawing the samples.

    The order statistics of n draws with replacement from n sorted values are the values at n times
    the order statistics of n uniform numbers, and those are Beta distributed (David and Nagaraja,
    2.3), so one or two random numbers make a median. Errors: `ValueError` without samples.
    """
    x = np.sort(np.asarray(samples, dtype=float))
    n = x.size
    if n == 0:
        raise ValueError("no samples")
    middle = (n + 1) // 2  # 1-based rank of the median, the lower one of two for even n
    lower = rng.beta(middle, n + 1 - middle, resamples)
    below: Array = x[np.minimum((n * lower).astype(int), n - 1)]
    if n % 2:
        return below
    upper = lower + (1 - lower) * rng.beta(1, n - middle, resamples)
    above: Array = x[np.minimum((n * upper).astype(int), n - 1)]
    return (below + above) / 2


def resamples_for(confidence: float) -> int:
    """Bootstrap samples enough for an interval at `confidence`: ten beyond each end, 1000 at least.

    Capped, so that no wish for confidence costs more than some milliseconds.
    """
    return int(min(100_000, max(1000.0, 20 / (1 - confidence))))


def resolution(samples: ArrayLike) -> float:
    """The step samples come in where more than half of them are ties, else 0; their unit.

    A clock ticks: where most samples are equal, their median is known to a step, however narrow its
    interval of order statistics. Differences under 10⁻¹⁶ are rounding, not steps.
    """
    x = np.unique(np.round(np.asarray(samples, dtype=float), 16))
    if x.size < 2 or x.size > np.size(samples) / 2:
        return 0.0
    return float(np.min(np.diff(x)))


# An interval whose end is further away than this many powers of e reaches zero.
_ZERO_DISTANCE = 50.0


def ratio_interval(a: Estimate, b: Estimate) -> Estimate:
    """a/b of two independent positive estimates, with an interval at the confidence of theirs.

    The ends' distances are joined in quadrature on the logarithmic scale (MOVER: Donner and Zou,
    Stat. Methods Med. Res. 21, 2012), so that a/b and b/a agree and skewed intervals stay skewed.
    `low`/`high` are None where an interval is missing or reaches zero. Errors: `ValueError` where a
    value is not positive.
    """
    if not (a.value > 0 and b.value > 0):
        raise ValueError("a ratio needs two positive values")
    ratio = a.value / b.value
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Estimate(ratio, None, None)
    if a.low <= 0 or b.low <= 0:
        return Estimate(ratio, None, None)
    down = math.hypot(math.log(a.value / a.low), math.log(b.high / b.value))
    up = math.hypot(math.log(a.high / a.value), math.log(b.value / b.low))
    if max(down, up) > _ZERO_DISTANCE:
        return Estimate(ratio, None, None)
    return Estimate(ratio, ratio * math.exp(-down), ratio * math.exp(up))


def difference(a: Estimate, b: Estimate) -> Estimate:
    """a − b of two independent estimates, with an interval at the confidence of theirs.

    The ends' distances are joined in quadrature (MOVER, as in `ratio_interval`); `low`/`high` are
    None where an interval is missing.
    """
    value = a.value - b.value
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Estimate(value, None, None)
    down = math.hypot(a.value - a.low, b.high - b.value)
    up = math.hypot(a.high - a.value, b.value - b.low)
    return Estimate(value, value - down, value + up)
