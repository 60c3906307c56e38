"""Robust statistics of machines: middle, spread between and within them, and who is off.

The modified z-score is that of Iglewicz and Hoaglin, How to Detect and Handle Outliers (ASQC, 1993;
NIST/SEMATECH e-Handbook 1.3.5.17): 0.6745 (x − median) / MAD, off beyond 3.5. The MAD of few values
is too small, by a sixth of six; the factors that undo it are those of Croux and Rousseeuw (COMPSTAT
1992). Of normal values a row then has an outlier in one fleet of ten, whatever the fleet's size.
Differences of one value to the next are free of what differs from machine to machine, as in charts
of moving ranges (NIST/SEMATECH e-Handbook 6.3.2.2); here with their median.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ftax_micro import stats
from ftax_micro.stats import Estimate

# Of a normal distribution with standard deviation 1: the median of |x|, that of |x − y|, the mean
# of |x|.
_MEDIAN_DEVIATION = 0.6745
_MEDIAN_DIFFERENCE = 0.6745 * math.sqrt(2)
_MEAN_DEVIATION = math.sqrt(2 / math.pi)
# From here on a value is off, as the source has it.
OUTLIER_SCORE = 3.5
# Of fewer, any two that happen to agree would make all others outliers.
FEWEST_FOR_OUTLIERS = 6
# Of 2 to 9 values; of more, n / (n − 0.8).
_FEW = (1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107)
# A list that is shorter is sorted before an array is made of it.
_SHORT = 200


def middle(values: Sequence[float]) -> float:
    """The median, the mean of the middle two of an even number. Errors: `ValueError` for none."""
    count = len(values)
    if count == 0:
        raise ValueError("no values")
    low, high = (count - 1) // 2, count // 2
    if count < _SHORT:
        ordered = sorted(values)
        return (ordered[low] + ordered[high]) / 2
    parts = np.partition(np.asarray(values, dtype=float), (low, high))
    return float(parts[low] + parts[high]) / 2


def median_estimate(values: Sequence[float], confidence: float) -> Estimate:
    """The median of independent values in any order, with an interval of order statistics; None
    for fewer than it takes (6 at 95 %).
    """
    ordered = sorted(values)
    ranks = stats.median_ranks(len(ordered), confidence)
    if ranks is None:
        return Estimate(middle(ordered), None, None)
    return Estimate(middle(ordered), ordered[ranks[0]], ordered[ranks[1]])


def deviation(values: Sequence[float]) -> float:
    """Standard deviation as the median absolute deviation has it; where more than half are equal,
    so that this is 0, as the mean absolute deviation has it. In the unit of `values`.
    """
    centre = middle(values)
    away = [abs(value - centre) for value in values]
    count = len(away)
    few = _FEW[count - 2] if 2 <= count < 2 + len(_FEW) else count / (count - 0.8)
    return few * middle(away) / _MEDIAN_DEVIATION or sum(away) / count / _MEAN_DEVIATION


def spread(values: Sequence[float]) -> float | None:
    """`deviation` as a share of the median; None for fewer than two, or a median of 0."""
    centre = middle(values)
    return deviation(values) / abs(centre) if len(values) > 1 and centre else None


def repeat_spread(series: Sequence[Sequence[float]]) -> float | None:
    """Standard deviation of one machine's values, as a share of its median, in the order they were
    read; None where no machine has two.
    """
    steps = [
        abs(second - first) / abs(centre)
        for values in series
        for centre in [middle(values)]
        if centre
        for first, second in pairwise(values)
    ]
    return middle(steps) / _MEDIAN_DIFFERENCE if steps else None


def scores(values: Sequence[float]) -> list[float]:
    """How many standard deviations each is away from the median; all 0 for too few to tell."""
    scale = deviation(values) if len(values) >= FEWEST_FOR_OUTLIERS else 0.0
    if scale == 0:
        return [0.0] * len(values)
    centre = middle(values)
    return [(value - centre) / scale for value in values]
