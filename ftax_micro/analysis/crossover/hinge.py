"""Where a sweep changes its regime: the crossover of two laws, with an interval (docs/bounds.md).

On a GPU latency is the larger of what the host takes, whatever the size, and of what the device
takes, which grows with it: T(x) = max(plateau, a + b·x), and they cross at x* = (plateau − a) / b.
On the cpu the operations run inline and times add: T(x) = a + b·x, and work overtakes dispatch at
x* = a / b. Residuals are relative, so that points of a millisecond and of a second count alike.

  wrong:  the first size whose latency is some per cent above the smallest one's

  right:  a law through all points, and an interval that says how well they place the crossover

Two points a side are the least that show a law there; with fewer there is no crossover, but a
reason. No interval is narrower than the measured points around it: nothing was seen in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ftax_micro import stats
from ftax_micro.analysis.crossover.hinge_fit import (
    ENDS_EARLY,
    Array,
    Hinges,
    Lines,
    fit_hinges,
    fit_lines,
    simpler_law,
)
from ftax_micro.analysis.crossover.sweeps import Sweep, sweeps
from ftax_micro.records import Case
from ftax_micro.stats import Estimate

Law = Literal["max", "sum"]
Point = tuple[float, ArrayLike]

_A_SIDE = 2
# Less growth from the first points to the last than this is not told from a machine's drift.
_LEAST_GROWTH = 0.05


@dataclass(frozen=True)
class Crossover:
    """The law through a sweep; seconds, `x` and `slope` in the unit of the axis and per that unit.

    `x` is the crossover; where there is none, `reason` says why. `plateau` is what latency keeps to
    below it (``max``; also where the whole sweep is flat), `intercept` and `slope` are those of the
    growing part. `worst_residual` is the largest relative distance of a median from the law.
    """

    law: Law
    points: int
    x: Estimate | None = None
    plateau: Estimate | None = None
    intercept: Estimate | None = None
    slope: Estimate | None = None
    worst_residual: float | None = None
    reason: str | None = None

    @property
    def fixed(self) -> Estimate | None:
        """The time that does not depend on x, as far as the law tells it apart."""
        return self.plateau if self.law == "max" else self.intercept


@dataclass(frozen=True)
class SweepCrossover:
    """A recorded sweep and the crossover of its latency."""

    sweep: Sweep
    crossover: Crossover


def crossovers(
    cases: Sequence[Case], confidence: float = 0.95, known: Iterable[SweepCrossover] = ()
) -> list[SweepCrossover]:
    """One for every sweep in `cases` (`sweeps.sweeps`): per workload, mode, dtype and device.

    One of `known` is taken where it is of the same cases; these have to be of the same confidence.
    """
    have = {_identity(each.sweep): each.crossover for each in known}
    return [
        SweepCrossover(sweep, have.get(_identity(sweep)) or _of_sweep(sweep, confidence))
        for sweep in sweeps(cases)
    ]


def _identity(sweep: Sweep) -> tuple[object, ...]:
    return (sweep.axis, *map(id, sweep.cases))


def _of_sweep(sweep: Sweep, confidence: float) -> Crossover:
    law: Law = "sum" if sweep.device == "cpu" else "max"
    if not sweep.plausible:
        return Crossover(law, len(sweep.points), reason="a latency in it is not positive")
    return crossover(sweep.points, law, confidence)


def crossover(
    points: Sequence[Point],
    law: Law,
    confidence: float = 0.95,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Crossover:
    """The crossover of `points`, each a size and its samples (positive seconds), in any order.

    Points of the same size are joined. Intervals are percentile intervals over resampled medians,
    which also vary by what the law leaves unexplained; None where a point has a single sample.
    Errors: `ValueError` for a point without samples, sizes or samples that are not positive.
    """
    x, samples = _sorted(points)
    if x.size < 2 * _A_SIDE:
        reason = f"the sweep has {x.size} points; a crossover needs {_A_SIDE} on either side"
        return Crossover(law, x.size, reason=reason)
    data = _Data(x, samples, confidence, resamples, np.random.default_rng(seed))
    return _of_max(data) if law == "max" else _of_sum(data)


class _Data:
    """A sweep's medians (1 × points), and resampled ones (resamples × points)."""

    def __init__(
        self,
        x: Array,
        samples: list[Array],
        confidence: float,
        resamples: int,
        rng: np.random.Generator,
    ) -> None:
        self.x = x
        self.medians = np.array([[np.median(each) for each in samples]])
        self.known = min(each.size for each in samples) > 1
        self.confidence = confidence
        self._tail = 100 * (1 - confidence) / 2
        self._rng = rng
        drawn = np.stack([stats.bootstrap_medians(s, resamples, rng) for s in samples], axis=1)
        # In logarithms, so that widening for autocorrelation leaves every median positive.
        widen = [math.sqrt(s.size / stats.effective_size(s)) for s in samples]
        self._steps = np.log(drawn / self.medians) * widen

    def drawn(self, residual: float = 0.0) -> Array:
        """Resampled medians; beyond their own, they vary by the `residual` of a law."""
        extra = residual**2 - float(np.mean(np.var(self._steps, axis=0)))
        noise = math.sqrt(max(0.0, extra)) * self._rng.standard_normal(self._steps.shape)
        return np.asarray(self.medians * np.exp(self._steps + noise), dtype=float)

    def interval(self, value: float, drawn: Array) -> Estimate:
        """`value` with the percentile interval of what it was in the resamples."""
        if not self.known or drawn.size == 0:
            return Estimate(value, None, None)
        low, high = np.percentile(drawn, [self._tail, 100 - self._tail])
        return Estimate(value, min(value, float(low)), max(value, float(high)))

    def place(self, value: float, drawn: Array) -> Estimate:
        """As `interval`, and not narrower than the measured points on either side of `value`."""
        found = self.interval(value, drawn)
        if found.low is None or found.high is None:
            return found
        below, above = self.x[self.x < value], self.x[self.x > value]
        ends = min(found.low, float(below.max())), max(found.high, float(above.min()))
        return Estimate(value, *ends)

    def growth(self) -> float:
        """The least that latency grows from the first two points to the last two, relative."""
        drawn = self.drawn()
        return self.least(drawn[:, -2:].mean(axis=1) / drawn[:, :2].mean(axis=1)) - 1

    def least(self, drawn: Array) -> float:
        """The lower end of what a value was in the resamples."""
        return float(np.percentile(drawn, self._tail))


def _of_max(data: _Data) -> Crossover:
    n = data.x.size
    if data.growth() <= _LEAST_GROWTH:
        level = data.interval(_level(data.medians)[0], _level(data.drawn()))
        reason = f"latency does not grow up to {data.x[-1]:g}"
        worst = float(np.max(np.abs(data.medians / level.value - 1)))
        return Crossover("max", n, plateau=level, worst_residual=worst, reason=reason)
    fitted = fit_hinges(data.x, data.medians)
    simpler = simpler_law(data.x, data.medians[0], float(fitted.residual_sum[0]))
    if simpler is not None:
        return Crossover("max", n, reason=simpler)
    resampled = data.drawn(_residual(fitted, n, 3))
    drawn = fit_hinges(data.x, resampled)
    found = np.isfinite(drawn.residual_sum)
    if np.mean(found) < data.confidence:
        return Crossover("max", n, reason="the points are too noisy to place a crossover")
    # A kink just below a point that is on the plateau, but for its noise, shows nothing.
    if data.least(resampled[found, -_A_SIDE] / drawn.plateau[found]) <= 1 and data.known:
        return Crossover("max", n, reason=ENDS_EARLY)
    return Crossover(
        "max",
        n,
        x=data.place(float(fitted.x[0]), drawn.x[found]),
        plateau=data.interval(float(fitted.plateau[0]), drawn.plateau[found]),
        intercept=data.interval(float(fitted.intercept[0]), drawn.intercept[found]),
        slope=data.interval(float(fitted.slope[0]), drawn.slope[found]),
        worst_residual=float(fitted.worst_residual[0]),
    )


def _of_sum(data: _Data) -> Crossover:
    n = data.x.size
    fitted = fit_lines(data.x, data.medians)
    drawn = fit_lines(data.x, data.drawn(_residual(fitted, n, 2)))
    intercept, slope = float(fitted.intercept[0]), float(fitted.slope[0])
    line = Crossover(
        "sum",
        n,
        intercept=data.interval(intercept, drawn.intercept),
        slope=data.interval(slope, drawn.slope),
        worst_residual=float(fitted.worst_residual[0]),
    )
    where = intercept / slope if slope > 0 else math.inf
    reason = _one_sided(data, line, where)
    if reason is not None:
        return _with(line, None, reason)
    rising = drawn.slope > 0
    return _with(line, data.place(where, drawn.intercept[rising] / drawn.slope[rising]), None)


def _one_sided(data: _Data, line: Crossover, where: float) -> str | None:
    """Why the points do not show both sides of a crossover at `where`, if they do not."""
    if data.growth() <= _LEAST_GROWTH:
        return f"latency does not grow up to {data.x[-1]:g}"
    if line.slope is not None and line.slope.low is not None and line.slope.low <= 0:
        return "the points are too noisy to place a crossover"
    below, above = int(np.sum(data.x <= where)), int(np.sum(data.x > where))
    if below < _A_SIDE:
        return f"work outweighs the fixed time from the first points on ({below} below)"
    if above < _A_SIDE:
        return f"the fixed time outweighs work up to the last points ({above} beyond)"
    return None


def _with(line: Crossover, x: Estimate | None, reason: str | None) -> Crossover:
    return Crossover(
        line.law, line.points, x, None, line.intercept, line.slope, line.worst_residual, reason
    )


def _residual(fitted: Hinges | Lines, points: int, parameters: int) -> float:
    """Standard deviation of the relative residuals, for the parameters fitted."""
    return math.sqrt(float(fitted.residual_sum[0]) / max(1, points - parameters))


def _level(medians: Array) -> Array:
    """The constants (…) nearest to medians (…, points) by relative residuals."""
    return np.asarray((1 / medians).sum(axis=-1) / (1 / medians**2).sum(axis=-1), dtype=float)


def _sorted(points: Sequence[Point]) -> tuple[Array, list[Array]]:
    joined: dict[float, list[Array]] = {}
    for x, samples in points:
        values = np.asarray(samples, dtype=float)
        if not (x > 0 and values.size and np.all(values > 0) and np.all(np.isfinite(values))):
            raise ValueError("a sweep needs positive sizes, each with positive samples")
        joined.setdefault(float(x), []).append(values)
    sizes = sorted(joined)
    return np.array(sizes), [np.concatenate(joined[size]) for size in sizes]
