"""Drawing what is computed from several sets of samples anew, so that its interval has all of them.

A bound takes medians and slopes of many rows. Each is drawn again and again from its own samples,
the bound is computed from each drawing, and the ends of the interval are percentiles of the bounds.
Where samples are autocorrelated, drawings are spread by the square root of n / n_eff, as in
`stats.slope_interval`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftax_micro import stats
from ftax_micro.records import Data, Measurement
from ftax_micro.stats import Estimate

Array = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Array]

# Values held at once while medians are drawn over forwards.
_AT_ONCE = 2_000_000


def drawn_median(samples: ArrayLike, resamples: int, rng: np.random.Generator) -> Array:
    """Medians of resamples, (resamples,). Errors: `ValueError` without samples."""
    drawn = stats.bootstrap_medians(samples, resamples, rng)
    return _spread(drawn, float(np.median(np.asarray(samples))), _widening(samples))


def drawn_headline(data: Data, resamples: int, rng: np.random.Generator) -> Array:
    """The headline of `data` (median, slope or intercept) from resamples, (resamples,)."""
    if data.estimate == "median":
        return drawn_median(data.samples, resamples, rng)
    counts = [level.count for level in data.levels]
    levels = [level.samples_s for level in data.levels]
    drawn = np.stack([drawn_median(each, resamples, rng) for each in levels], axis=1)
    slopes, intercepts = stats.fit_line(counts, drawn)
    return slopes if data.estimate == "slope" else intercepts


def drawn_row(processes: Sequence[Measurement], resamples: int, rng: np.random.Generator) -> Array:
    """A row's headline less its corrections, (resamples,); the median over its processes.

    Processes are drawn too: what differs between them, no number of samples in one reduces.
    """
    each = []
    for row in processes:
        if row.data is not None:
            shift = sum(correction.value_s for correction in row.corrections)
            each.append(drawn_headline(row.data, resamples, rng) - shift)
    if len(each) == 1:
        return each[0]
    chosen = rng.integers(0, len(each), (resamples, len(each)))
    return np.asarray(np.median(np.stack(each, axis=1)[np.arange(resamples)[:, None], chosen], 1))


def drawn_places(samples: Array, resamples: int, rng: np.random.Generator) -> Array:
    """Median over forwards at each place, (resamples, places), of samples (forwards, places).

    Whole forwards are drawn: what made one slow (a clock, a neighbour) made all its places slow.
    """
    forwards, places = samples.shape
    chosen = rng.integers(0, forwards, (resamples, forwards))
    step = max(1, _AT_ONCE // max(1, samples.size))
    drawn = np.empty((resamples, places))
    for first in range(0, resamples, step):
        drawn[first : first + step] = np.median(samples[chosen[first : first + step]], axis=1)
    return drawn


def percentile_interval(value: float, drawn: Array, confidence: float) -> Estimate:
    """`value` between percentiles of its drawings; one that lies outside them is their end."""
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return Estimate(value, min(value, float(low)), max(value, float(high)))


def _widening(samples: ArrayLike) -> float:
    return math.sqrt(np.size(samples) / stats.effective_size(samples))


def _spread(drawn: Array, value: float, widen: float) -> Array:
    return drawn if widen == 1.0 else value + (drawn - value) * widen
