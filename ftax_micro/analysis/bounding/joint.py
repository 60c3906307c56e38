"""A forward's work on the device, and everything a bound of it rests on, drawn anew together.

The problem: a tax is a latency less a bound, and a share one over the other; with intervals of its
parts joined afterwards, what they have in common counts twice.
  wrong:  interval of the latency, interval of the floor, and some rule to join them
  right:  latency, floor and durations drawn anew, and the tax computed from each drawing
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ftax_micro import stats
from ftax_micro.analysis.bounding.pipeline import (
    Array,
    Booleans,
    CallKind,
    Calls,
    Floor,
    Integers,
    Operations,
)
from ftax_micro.analysis.floor.values import FloorValues
from ftax_micro.analysis.resampling import drawn_places, median_draw, percentile_interval
from ftax_micro.stats import Estimate

# Drawings of all durations are the dearest part: fewer than resamples where there are many, since
# a sum of many varies little.
_PLACES_DRAWN = 400_000
# Values held at once, some megabytes of them, and in all: beyond that, fewer resamples, so that a
# result of a thousand cases takes a minute, not an hour.
_AT_ONCE = 200_000
_IN_ALL = 400_000
_LEAST_RESAMPLES = 200


@dataclass(frozen=True)
class Drawing:
    """One set of what a latency of the model rests on, or some at once, on leading axes.

    `returned` is when the forward returns to its caller, 0 where it is not known; `other` is the
    floor of a machine that is compared with.
    """

    floor: Floor
    durations: Array
    begins: Array
    returned: Array
    other: Floor | None = None


Evaluate = Callable[[Drawing], Array]


@dataclass(frozen=True)
class DeviceWork:
    """The operations of one forward and the calls they hang from; seconds.

    `durations` (forwards, N) and `begins` (forwards, M; after the forward's begin) are the samples,
    both of the same forwards; `operations` has the median durations. `kind` (N,) is the call that
    would launch each into a stream. Begins are those of an untraced forward. `left_over` (N,)
    marks what an earlier forward left to be done first; None: nothing.
    """

    operations: Operations
    calls: Calls
    kind: Integers
    durations: Array
    begins: Array
    left_over: Booleans | None = None

    @property
    def ahead(self) -> Booleans:
        """(N,): which operations an earlier forward left to be done first."""
        if self.left_over is None:
            return np.zeros(self.operations.count, dtype=bool)
        return self.left_over

    @property
    def replays(self) -> bool:
        """Whether a graph is launched."""
        return bool(np.any(self.calls.kind == CallKind.GRAPH))


@dataclass(frozen=True)
class Joint:
    """So many drawings of a latency (None: too few samples for an interval), of the floor, and
    fewer of the places: durations, and begins of the same forwards (none: not drawn).
    `returned_s` is the median of when the forward returns, of which `returned` are drawings.
    """

    resamples: int
    latency: Array | None
    floor: Floor
    durations: Array
    begins: Array
    returned: Array
    returned_s: float
    other: Floor | None = None

    def apply(self, evaluate: Evaluate) -> Array:
        """(resamples,): `evaluate` of all drawings, few at a time."""
        found = np.empty(self.resamples)
        drawn, places = self.durations.shape
        step = max(1, _AT_ONCE // max(1, places))
        for first in range(0, self.resamples, step):
            rows = np.arange(first, min(first + step, self.resamples))
            # Fewer drawings serve again; if there are as many, none is copied.
            which = rows % drawn if drawn < self.resamples else slice(first, first + step)
            # Begins are those of a forward as long as the median one.
            pace = self.returned[rows] / self.returned_s if self.returned_s else np.ones(rows.size)
            drawing = Drawing(
                floor=_rows(self.floor, rows),
                durations=self.durations[which],
                begins=self.begins[which] * pace[:, np.newaxis],
                returned=self.returned[rows],
                other=None if self.other is None else _rows(self.other, rows),
            )
            found[rows] = evaluate(drawing)
        return found


def draw_together(
    work: DeviceWork,
    floor: FloorValues,
    latency: Sequence[float],
    confidence: float = 0.95,
    seed: int = 0,
    *,
    hosted: bool = False,
    returned: Sequence[float] = (),
) -> Joint:
    """Drawings enough for intervals at `confidence`; of the begins only where `hosted`, and of the
    times when the forward `returned`, where these are known.

    Errors: as `FloorValues.drawn`.
    """
    rng = np.random.default_rng(seed)
    most = _IN_ALL // max(1, work.operations.count)
    resamples = max(_LEAST_RESAMPLES, min(stats.resamples_for(confidence), most))
    places = work.durations
    if hosted:
        places = np.concatenate([work.durations, work.begins], axis=1)
    times = max(_LEAST_RESAMPLES, min(resamples, _PLACES_DRAWN // max(1, places.shape[1])))
    drawn = drawn_places(places, times, rng)
    number = work.operations.count
    return Joint(
        resamples=resamples,
        latency=drawn_latency(latency, resamples, confidence, rng),
        floor=floor.drawn_for(resamples, seed),
        durations=drawn[:, :number],
        begins=drawn[:, number:],
        returned=median_draw(returned)(resamples, rng) if returned else np.zeros(resamples),
        returned_s=float(np.median(returned)) if returned else 0.0,
    )


def drawn_latency(
    samples: Sequence[float], resamples: int, confidence: float, rng: np.random.Generator
) -> Array | None:
    """Medians of resamples; None where the samples are too few for an interval of their median."""
    if stats.median_interval(samples, confidence).low is None:
        return None
    return median_draw(samples)(resamples, rng)


def estimate(value: float, drawn: Array | None, confidence: float) -> Estimate:
    """`value` with the interval of its drawings; without one where there are none."""
    if drawn is None:
        return Estimate(value, None, None)
    return percentile_interval(value, drawn, confidence)


def _rows(floor: Floor, rows: Integers) -> Floor:
    """Some of the drawings of a floor."""

    def some(value: object) -> Array:
        array = np.asarray(value, dtype=float)
        return array[rows] if array.ndim else array

    return replace(
        floor,
        to_start=some(floor.to_start),
        gap=some(floor.gap),
        sync=some(floor.sync),
        submit={kind: some(cost) for kind, cost in floor.submit.items()},
        graph_submit_node=some(floor.graph_submit_node),
        graph_start=None if floor.graph_start is None else some(floor.graph_start),
        graph_gap=None if floor.graph_gap is None else some(floor.graph_gap),
    )
