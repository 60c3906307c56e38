"""What a latency would be if something were different: floor, kernels, launches, batch.

The pipeline model predicts the latency from the host's own times, the durations and the floor, as
they are and as they would be. What it says of the change is added to the measured latency, so that
what the model does not know of stays as it is. Lower bounds have no part in it: the host keeps the
time it takes now, except for what the change takes off it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ftax_micro import stats
from ftax_micro.analysis.bounding.fusion import Fusion, Runs
from ftax_micro.analysis.bounding.joint import (
    DeviceWork,
    Drawing,
    draw_together,
    drawn_latency,
    estimate,
)
from ftax_micro.analysis.bounding.models import bound_model
from ftax_micro.analysis.bounding.pipeline import (
    Array,
    CallKind,
    Floor,
    Pipeline,
)
from ftax_micro.analysis.floor.values import FloorValues, submit_name
from ftax_micro.stats import Estimate


@dataclass(frozen=True)
class Change:
    """What would be different; nothing, as it stands.

    `floor`: another machine's. `graph`: all operations replayed as one graph. `duration_factor`:
    durations times so much, 0.5 for kernels twice as fast, 0 for kernels that take no time, the
    ratio of the batches for another batch whose work grows in proportion. `fused`: places (first,
    last) of operations that follow each other in a stream and become one, as long as all of them:
    what is saved is their launches and gaps, not their reads and writes.
    """

    floor: FloorValues | None = None
    graph: bool = False
    duration_factor: float = 1.0
    fused: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Prediction:
    """Seconds. `model` is what the model makes of it, `saved` what the change takes off that, and
    `latency` the measured latency less what is saved.
    """

    model: Estimate
    saved: Estimate
    latency: Estimate


def what_if(
    work: DeviceWork,
    latency: Sequence[float],
    floor: FloorValues,
    change: Change | None = None,
    returned: Sequence[float] = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> Prediction:
    """The latency of a forward on a GPU after `change`; without one, what the model says as it is.

    `returned` are samples of when the forward returned to its caller: the latency is never less.
    Errors: `ValueError` for no samples, a floor without what the work needs, or places that cannot
    be fused.
    """
    return Forward(work, latency, floor, returned, confidence, seed).after(change or Change())


class Forward:
    """A forward on a GPU that is asked about several changes: as it is, it is worked out once.

    Arguments and errors as of `what_if`.
    """

    def __init__(
        self,
        work: DeviceWork,
        latency: Sequence[float],
        floor: FloorValues,
        returned: Sequence[float] = (),
        confidence: float = 0.95,
        seed: int = 0,
    ) -> None:
        self._work, self._latency, self._floor = work, latency, floor
        self._confidence, self._seed = confidence, seed
        self._pipeline = Pipeline(work.operations, work.calls)
        self._joint = draw_together(
            *(work, floor, latency, confidence, seed), hosted=True, returned=returned
        )
        self._point = Drawing(
            floor=floor.point(),
            durations=work.operations.duration_s,
            begins=np.median(work.begins, axis=0),
            returned=np.array(self._joint.returned_s),
        )
        self._now = float(self._as_it_is(self._point))
        known = self._joint.latency is not None
        self._drawn = self._joint.apply(self._as_it_is) if known else None

    def after(self, change: Change) -> Prediction:
        """What it would take."""
        if change == Change():
            return self._prediction(self._now, self._drawn)
        joint, point = self._joint, self._point
        if change.floor is not None:
            _check_charges(self._work, (self._floor, change.floor))
            other = change.floor.drawn_for(joint.resamples, self._seed)
            joint = replace(joint, other=other)
            point = replace(point, other=change.floor.point())
        after = _After(self._work, change)
        drawn = None if self._drawn is None else joint.apply(after.latency)
        return self._prediction(float(after.latency(point)), drawn)

    def _as_it_is(self, each: Drawing) -> Array:
        return _latency(self._pipeline, each)

    def _prediction(self, then: float, drawn: Array | None) -> Prediction:
        pair = None if drawn is None or self._drawn is None else (self._drawn, drawn)
        latencies = self._joint.latency
        return _prediction(self._now, then, pair, self._latency, latencies, self._confidence)


def saved_by_fusion(work: DeviceWork, floor: Floor, runs: Runs, returned_s: float = 0.0) -> float:
    """`saved_once` if `runs` are fused."""
    return saved_once(work, floor, Change(fused=tuple(runs)), returned_s)


def saved_once(work: DeviceWork, floor: Floor, change: Change, returned_s: float = 0.0) -> float:
    """What the model takes off a forward that happened once, after `change` (of the same machine);
    seconds.

    Errors: `ValueError` for places that cannot be fused, or a graph of unknown cost.
    """
    point = Drawing(
        floor=floor,
        durations=work.operations.duration_s,
        begins=np.median(work.begins, axis=0),
        returned=np.array(returned_s),
    )
    after = _After(work, change)
    now = _latency(Pipeline(work.operations, work.calls), point)
    return float(now - after.latency(point))


def what_if_inline(
    latency: Sequence[float],
    twin: Sequence[float],
    operations: int,
    change: Change,
    floor: FloorValues | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Prediction:
    """The latency of a forward on the cpu after `change`: its work takes latency less `twin`, and
    what is fused takes its share of the twin with it.

    Errors: `ValueError` for no samples, a graph, or another floor where either call is not known.
    """
    if change.graph:
        raise ValueError("nothing is replayed on the cpu, where operations run inline")
    left = operations - sum(last - first for first, last in change.fused)
    calls = 0.0
    if change.floor is not None:
        theirs, ours = change.floor.call_direct, None if floor is None else floor.call_direct
        if theirs is None or ours is None:
            raise ValueError("the cost of a call is not known on both machines")
        calls = left * (theirs.estimate.value - ours.estimate.value)
    part = left / operations if operations else 1.0

    def after(whole: ArrayLike, host: ArrayLike) -> Array:
        worked = np.asarray(whole, dtype=float) - np.asarray(host, dtype=float)
        return np.asarray(worked * change.duration_factor + np.asarray(host) * part + calls)

    rng = np.random.default_rng(seed)
    resamples = stats.resamples_for(confidence)
    drawn = drawn_latency(latency, resamples, confidence, rng)
    twins = drawn_latency(twin, resamples, confidence, rng)
    now = float(np.median(latency))
    pair = None if drawn is None or twins is None else (drawn, after(drawn, twins))
    then = float(after(now, float(np.median(twin))))
    return _prediction(now, then, pair, latency, drawn, confidence)


def _check_charges(work: DeviceWork, floors: Sequence[FloorValues]) -> None:
    kinds = {CallKind(int(kind)) for kind in np.unique(work.calls.kind)}
    for kind in sorted(kinds):
        if any(kind not in each.submit for each in floors):
            raise ValueError(f"{submit_name(kind)} is not known on both machines")


def _prediction(
    now: float,
    then: float,
    drawn: tuple[Array, Array] | None,
    latency: Sequence[float],
    latencies: Array | None,
    confidence: float,
) -> Prediction:
    measured = float(np.median(latency))
    models = saved = left = None
    if drawn is not None and latencies is not None:
        models, saved = drawn[1], drawn[0] - drawn[1]
        left = latencies - saved
    return Prediction(
        model=estimate(then, models, confidence),
        saved=estimate(now - then, saved, confidence),
        latency=estimate(measured - (now - then), left, confidence),
    )


class _After:
    """The model of a forward after a change."""

    def __init__(self, work: DeviceWork, change: Change) -> None:
        self._change = change
        self._before = Pipeline(work.operations, work.calls)
        self._fusion = Fusion(work, change.fused) if change.fused else None
        work = work if self._fusion is None else self._fusion.work
        self._after = Pipeline(work.operations, work.calls)
        self._graph = bound_model("graph", work) if change.graph else None

    def latency(self, each: Drawing) -> Array:
        """(…): what it would take."""
        each = replace(each, durations=each.durations * self._change.duration_factor)
        if each.other is not None:
            each = _on_another(self._before, each)
        if self._fusion is not None:
            each = self._fusion.apply(each)
        if self._graph is not None:
            return self._graph.latency(each.floor, each.durations)
        return _latency(self._after, each)


def _latency(pipeline: Pipeline, each: Drawing) -> Array:
    done = pipeline.latency(each.begins, each.floor, each.durations)
    return np.maximum(done, each.returned)


def _on_another(pipeline: Pipeline, each: Drawing) -> Drawing:
    """Its calls at the other machine's floor: later by what they cost more there."""
    assert each.other is not None  # whoever calls has looked
    ours, theirs = (pipeline.least_begins(floor) for floor in (each.floor, each.other))
    later = theirs - ours
    last = later[..., -1] if pipeline.calls.count else 0.0
    return replace(
        each, floor=each.other, begins=each.begins + later, returned=each.returned + last
    )
