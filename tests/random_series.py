"""Seeded samples as launches give them: bounded below, right-skewed, correlated."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import lfilter

from ftax_micro import stats

Array = NDArray[np.float64]
sample_lists = st.lists(st.floats(1e-9, 1e-3), min_size=8, max_size=60)
scales = st.sampled_from([0.5, 2.0, 4.0, 1024.0])  # powers of two: scaling is exact


def skewed(rng: np.random.Generator, size: int) -> Array:
    """Values with median 1, bounded below and with a long upper tail, as launch times have."""
    return 0.7 + 0.3 * np.exp(rng.standard_normal(size))


def ar1(rng: np.random.Generator, size: int, r: float) -> Array:
    """A stationary skewed AR(1) series with median 1."""
    noise = rng.standard_normal(size) * math.sqrt(1 - r * r)
    noise[0] /= math.sqrt(1 - r * r)
    series: Array = np.exp(0.3 * lfilter([1.0], [1.0, -r], noise))
    return series


def fraction_covered(intervals: list[stats.Estimate], truth: float) -> float:
    """How many of the intervals enclose `truth`."""
    inside = [
        e.low is not None and e.high is not None and e.low <= truth <= e.high for e in intervals
    ]
    return sum(inside) / len(inside)
