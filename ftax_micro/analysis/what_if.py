"""What a latency would be if something were different: floor, kernels, launches, batch.

The pipeline model predicts the latency from the host's own times, the durations and the floor, as
they are and as they would be. What it says of the change is added to the measured latency, so that
what the model does not know of stays as it is. Lower bounds have no part in it: the host keeps the
time it takes now, except for what the change takes off it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ftax_micro import stats
from ftax_micro.analysis.bound_models import bound_model
from ftax_micro.analysis.floor_values import FloorValues, submit_name
from ftax_micro.analysis.joint import (
    DeviceWork,
    Drawing,
    draw_together,
    drawn_latency,
    estimate,
)
from ftax_micro.analysis.pipeline import (
    NO_CALL,
    Array,
    Booleans,
    CallKind,
    Calls,
    Operations,
    least_begins,
    pipeline_latency,
)
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
        return _latency(self._work.operations, self._work.calls, each)

    def _prediction(self, then: float, drawn: Array | None) -> Prediction:
        pair = None if drawn is None or self._drawn is None else (self._drawn, drawn)
        latencies = self._joint.latency
        return _prediction(self._now, then, pair, self._latency, latencies, self._confidence)


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
        self._work, self._change = work, change
        self._fusion = _Fusion(work, change.fused) if change.fused else None

    def latency(self, each: Drawing) -> Array:
        """(…): what it would take."""
        work, change = self._work, self._change
        each = replace(each, durations=each.durations * change.duration_factor)
        if each.other is not None:
            each = _on_another(work, each)
        if self._fusion is not None:
            work, each = self._fusion.apply(each)
        if change.graph:
            return bound_model("graph", work).latency(each.floor, each.durations)
        return _latency(work.operations, work.calls, each)


def _latency(operations: Operations, calls: Calls, each: Drawing) -> Array:
    timed = replace(operations, duration_s=each.durations)
    done = pipeline_latency(timed, calls, each.begins, each.floor)
    return np.maximum(done, each.returned)


def _on_another(work: DeviceWork, each: Drawing) -> Drawing:
    """Its calls at the other machine's floor: later by what they cost more there."""
    assert each.other is not None  # whoever calls has looked
    operations = replace(work.operations, duration_s=each.durations)
    ours, theirs = (least_begins(operations, work.calls, f) for f in (each.floor, each.other))
    later = theirs - ours
    last = later[..., -1] if work.calls.count else 0.0
    return replace(
        each, floor=each.other, begins=each.begins + later, returned=each.returned + last
    )


class _Fusion:
    """Runs of operations as one each: where they stand, and which calls are not made any more.

    Errors: `ValueError` for places that are none, in several runs, or of several streams.
    """

    def __init__(self, work: DeviceWork, runs: Sequence[tuple[int, int]]) -> None:
        self._work = work
        stays = np.ones(work.operations.count, dtype=bool)
        for first, last in runs:
            _check_run(work.operations, first, last)
            stays[first + 1 : last + 1] = False
        _check_apart(runs)
        self._places = np.flatnonzero(stays)
        self._made = self._still_made(stays)

    def _still_made(self, stays: Booleans) -> Booleans:
        """Calls that bring an operation still, or never brought one."""
        call, number = self._work.operations.call, self._work.calls.count
        before = np.bincount(call[call != NO_CALL], minlength=number)
        after = np.bincount(call[stays & (call != NO_CALL)], minlength=number)
        return np.asarray((after > 0) | (before == 0))

    def apply(self, each: Drawing) -> tuple[DeviceWork, Drawing]:
        """The work and the drawing with the runs as one operation each."""
        work, places, made = self._work, self._places, self._made
        durations = np.add.reduceat(each.durations, places, axis=-1)
        # From one call to the next the host does what the next one needs.
        steps = np.diff(each.begins, axis=-1, prepend=0.0)
        begins = np.cumsum(np.where(made, steps, 0.0), axis=-1)[..., made]
        returned = each.returned - np.where(made, 0.0, steps).sum(axis=-1)
        call = work.operations.call[places]
        index = np.cumsum(made) - 1
        operations = Operations(
            duration_s=durations,
            call=np.where(call == NO_CALL, NO_CALL, index[call] if index.size else call),
            stream=work.operations.stream[places],
            chained=work.operations.chained[places],
        )
        calls = Calls(work.calls.kind[made], work.calls.thread[made])
        fused = replace(work, operations=operations, calls=calls, kind=work.kind[places])
        return fused, replace(each, durations=durations, begins=begins, returned=returned)


def _check_run(operations: Operations, first: int, last: int) -> None:
    if not 0 <= first <= last < operations.count:
        raise ValueError(f"there are no operations {first} to {last} of {operations.count}")
    if np.unique(operations.stream[first : last + 1]).size > 1:
        raise ValueError(f"operations {first} to {last} are not of one stream")


def _check_apart(runs: Sequence[tuple[int, int]]) -> None:
    ordered = sorted(runs)
    for (_, last), (first, _) in itertools.pairwise(ordered):
        if first <= last:
            raise ValueError(f"operation {first} is in two runs")
