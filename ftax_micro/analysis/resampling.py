"""Drawing what is computed from several sets of samples anew, so that its interval has all of them.

A bound takes medians and slopes of many rows. Each is drawn again and again from its own samples,
the bound is computed from each drawing, and the ends of the interval are percentiles of the bounds.
Where samples are autocorrelated, drawings are spread by the square root of n / n_eff, as in
`stats.slope_interval`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftax_micro import stats
from ftax_micro.records import Data, Measurement
from ftax_micro.stats import Estimate

Array = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Array]

_NORMAL = NormalDist()
# Of the drawings; a value with fewer on one side is no nearer to that side's end for it.
_LEAST_SHARE = 0.02

# Values held at once while medians are drawn over forwards.
_AT_ONCE = 50_000


def median_draw(samples: ArrayLike) -> Draw:
    """Draws medians of resamples. Errors: `ValueError` without samples."""
    x = np.sort(np.asarray(samples, dtype=float))
    if x.size == 0:
        raise ValueError("no samples")
    value = float(np.median(x))
    widen = math.sqrt(x.size / stats.effective_size(samples))

    def drawn(resamples: int, rng: np.random.Generator) -> Array:
        return value + (stats.bootstrap_medians(x, resamples, rng) - value) * widen

    return drawn


def headline_draw(data: Data) -> Draw:
    """Draws the headline of `data`: median, slope or intercept."""
    if data.estimate == "median":
        return median_draw(data.samples)
    counts = [level.count for level in data.levels]
    levels = [median_draw(level.samples_s) for level in data.levels]
    which = 0 if data.estimate == "slope" else 1

    def drawn(resamples: int, rng: np.random.Generator) -> Array:
        medians = np.stack([level(resamples, rng) for level in levels], axis=1)
        return stats.fit_line(counts, medians)[which]

    return drawn


def row_draw(processes: Sequence[Measurement]) -> Draw:
    """Draws a row's headline less its corrections; of several processes, the median.

    Processes are drawn too: what differs between them, no number of samples in one reduces.
    """
    draws = [headline_draw(row.data) for row in processes if row.data is not None]
    shifts = [sum(each.value_s for each in row.corrections) for row in processes if row.data]

    def drawn(resamples: int, rng: np.random.Generator) -> Array:
        each = np.stack([draw(resamples, rng) for draw in draws], axis=1) - np.array(shifts)
        if len(draws) == 1:
            return np.asarray(each[:, 0])
        chosen = rng.integers(0, len(draws), (resamples, len(draws)))
        return np.asarray(np.median(np.take_along_axis(each, chosen, axis=1), axis=1))

    return drawn


def drawn_places(samples: Array, resamples: int, rng: np.random.Generator) -> Array:
    """Median over forwards at each place, (resamples, places), of samples (forwards, places).

    Whole forwards are drawn: what made one slow (a clock, a neighbour) made all its places slow.
    Medians are not sorted for again: with the forwards of each place in order once, the middle of a
    resample is where the number of times that they were drawn reaches half.
    """
    forwards, places = samples.shape
    order, ordered = np.argsort(samples, axis=0), np.sort(samples, axis=0)
    chosen = rng.integers(0, forwards, (forwards, resamples)) * resamples + np.arange(resamples)
    times = np.bincount(chosen.ravel(), minlength=forwards * resamples)
    # Counts up to the number of forwards, in the fewest bytes: most of the time is spent here.
    times = times.astype(np.min_scalar_type(forwards)).reshape(forwards, resamples)
    drawn = np.empty((resamples, places))
    step, every = max(1, _AT_ONCE // max(1, places)), np.arange(places)[:, np.newaxis]
    for first in range(0, resamples, step):
        some = np.ascontiguousarray(times[:, first : first + step])
        seen = np.zeros((places, some.shape[1]), dtype=times.dtype)
        lower, upper = np.zeros_like(seen), np.zeros_like(seen)
        for place in order:
            seen += some[place]
            lower += (seen <= (forwards - 1) // 2).view(np.uint8)
            upper += (seen <= forwards // 2).view(np.uint8)
        drawn[first : first + step] = ((ordered[lower, every] + ordered[upper, every]) / 2).T
    middle = np.median(samples, axis=0)
    return middle + (drawn - middle) * _few_forwards(forwards)


def _few_forwards(forwards: int) -> float:
    """By how much resamples of so few spread too little: their variance, and Student's factor at
    95 % (Cornish and Fisher's expansion, first term).
    """
    if forwards < 2:
        return 1.0
    z = _NORMAL.inv_cdf(0.975)
    student = 1 + (z * z + 1) / (4 * (forwards - 1))
    return math.sqrt(forwards / (forwards - 1)) * student


def percentile_interval(value: float, drawn: Array, confidence: float) -> Estimate:
    """`value` between percentiles of its drawings; one that lies outside them is their end.

    Bias-corrected (Efron, J. Am. Stat. Assoc. 82, 1987): a sum of medians of few skewed samples is
    off to one side, its drawings are so twice, and the share of them below `value` tells how far.
    """
    ordered = np.sort(drawn)
    below = (np.searchsorted(ordered, value, "left") + np.searchsorted(ordered, value, "right")) / 2
    share = min(max(below / drawn.size, _LEAST_SHARE), 1 - _LEAST_SHARE)
    bias, reach = 2 * _NORMAL.inv_cdf(share), _NORMAL.inv_cdf((1 + confidence) / 2)
    low, high = (_quantile(ordered, _NORMAL.cdf(bias + each)) for each in (-reach, reach))
    return Estimate(value, min(value, low), max(value, high))


def _quantile(ordered: Array, share: float) -> float:
    """Between the two nearest of sorted values, linear; as `numpy.quantile`, at a tenth of its
    time.
    """
    place = share * (ordered.size - 1)
    first = min(int(place), ordered.size - 2) if ordered.size > 1 else 0
    low, high = float(ordered[first]), float(ordered[min(first + 1, ordered.size - 1)])
    return low + (high - low) * (place - first)
