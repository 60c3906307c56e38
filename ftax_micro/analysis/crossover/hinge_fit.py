"""Least squares on relative residuals for many sweeps at once: lines, and hinges of a plateau and
a line.

A hinge is fitted by trying every place of its kink: between two points, where plateau and line are
fitted each to its side, and at a point, where they are fitted together. The best of these is the
best of all hinges with enough points on either side, found without a start value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Relative residuals below this are nobody's noise; it keeps the logarithm of an exact fit finite.
_FINEST = 1e-4

ENDS_EARLY = "latency grows at the last point alone: the sweep ends too early"
NO_PLATEAU = "latency grows from the first points on: the sweep has no plateau"


@dataclass(frozen=True)
class Lines:
    """T = intercept + slope · x, one entry a sweep; `residual_sum` of squared relative ones."""

    intercept: Array
    slope: Array
    residual_sum: Array
    worst_residual: Array


@dataclass(frozen=True)
class Hinges(Lines):
    """T = max(plateau, intercept + slope · x), crossing at `x`; `residual_sum` is infinite where no
    hinge has two points on either side.
    """

    plateau: Array
    x: Array


def fit_lines(x: Array, y: Array) -> Lines:
    """A line through each row of `y` (sweeps × points, positive) over `x` (points)."""
    intercept, slope = _line(x, y)
    residuals = (intercept[:, None] + slope[:, None] * x) / y - 1
    return Lines(intercept, slope, np.sum(residuals**2, axis=1), np.max(np.abs(residuals), axis=1))


def fit_hinges(x: Array, y: Array) -> Hinges:
    """The best hinge through each row of `y` (sweeps × points, positive) over ascending `x`."""
    n = x.size
    candidates = [_split(x, y, k) for k in range(2, n - 1)]
    candidates += [_bent_at(x, y, k) for k in range(1, n - 2)]
    plateau, intercept, slope = (np.stack(each) for each in zip(*candidates, strict=True))
    law = np.maximum(plateau[..., None], intercept[..., None] + slope[..., None] * x)
    residuals = law / y - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        where = (plateau - intercept) / slope
    # Rounding must not move a kink that was fitted at a point to its other side.
    where = np.where(np.isfinite(where), where, np.inf)
    sums = np.sum(residuals**2, axis=2)
    inside = (slope > 0) & (where >= x[1] * (1 - 1e-9)) & (where < x[n - 2] * (1 - 1e-9))
    sums = np.where(inside, sums, np.inf)
    best = np.argmin(sums, axis=0)
    rows = np.arange(y.shape[0])
    return Hinges(
        intercept[best, rows],
        slope[best, rows],
        sums[best, rows],
        np.max(np.abs(residuals[best, rows]), axis=1),
        plateau[best, rows],
        where[best, rows],
    )


def simpler_law(x: Array, y: Array, residual_sum: float) -> str | None:
    """Why a law without a crossover in reach describes `y` as well as a hinge with `residual_sum`;
    None where none does. Laws are weighed by the Bayesian information criterion (Schwarz 1978).
    """
    n = x.size
    line = fit_lines(x, y[None, :])
    later = fit_lines(x[1:], y[None, 1:])
    flat = y[: n - 1]
    level = (1 / flat).sum() / (1 / flat**2).sum()
    laws = [
        (float(line.residual_sum[0]), 2, NO_PLATEAU),
        (float(later.residual_sum[0]), 3, NO_PLATEAU),
        (
            float(np.sum((level / flat - 1) ** 2)),
            2,
            ENDS_EARLY,
        ),
    ]
    hinge = _criterion(residual_sum, 3, n)
    best = min(laws, key=lambda law: _criterion(law[0], law[1], n))
    return best[2] if _criterion(best[0], best[1], n) <= hinge else None


def _criterion(residual_sum: float, parameters: int, n: int) -> float:
    if math.isinf(residual_sum):
        return math.inf
    return n * math.log(residual_sum / n + _FINEST**2) + parameters * math.log(n)


def _line(x: Array, y: Array) -> tuple[Array, Array]:
    """Intercepts and slopes of each row of `y`, weighted by 1 / y²."""
    weight = 1 / y**2
    total = weight.sum(axis=1)
    centre = (weight * x).sum(axis=1) / total
    height = (1 / y).sum(axis=1) / total
    off = x - centre[:, None]
    slope = (weight * off * y).sum(axis=1) / (weight * off**2).sum(axis=1)
    return np.asarray(height - slope * centre), np.asarray(slope)


def _split(x: Array, y: Array, k: int) -> tuple[Array, Array, Array]:
    """Plateau through the first `k` points, line through the others."""
    first = y[:, :k]
    plateau = (1 / first).sum(axis=1) / (1 / first**2).sum(axis=1)
    return plateau, *_line(x[k:], y[:, k:])


def _bent_at(x: Array, y: Array, k: int) -> tuple[Array, Array, Array]:
    """Plateau and line that meet at the `k`-th point."""
    plateau, slope = _line(np.maximum(x - x[k], 0.0), y)
    return plateau, plateau - slope * x[k], slope
