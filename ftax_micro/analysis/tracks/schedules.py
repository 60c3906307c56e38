"""When the pipeline model has each call and operation begin and end, bound by bound.

A bound is one number; its schedule is how the model comes to it: the same operations, asked for as
the bound has it, each as soon as the machine's floor allows. The end of a schedule is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ftax_micro.analysis.bounding.bounds import Bounds
from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.models import BOUNDS, bound_model
from ftax_micro.analysis.bounding.pipeline import (
    NO_CALL,
    Array,
    CallKind,
    Calls,
    Floor,
    Operations,
    run_pipeline,
)


@dataclass(frozen=True, eq=False)
class Schedule:
    """Times in seconds after the forward's begin: of operations (N,), of calls (M,).

    `operations` are those of the work, in its order, with the calls they hang from here. Where
    there is no host, since the queue is never empty, `begin_s` and `return_s` of calls are None.
    From `done_s`, the last operation's end, the host waits until `known_s`; it is over at `end_s`.
    """

    name: str
    operations: Operations
    calls: Calls
    start_s: Array
    stop_s: Array
    begin_s: Array | None
    return_s: Array | None
    done_s: float
    known_s: float
    end_s: float


def bound_schedules(work: DeviceWork, bounds: Bounds, floor: Floor) -> list[Schedule]:
    """Of every bound that has a value, in the order `bound_models.BOUNDS`; the mode's own path only
    where it has a bound of its own.
    """
    names = [name for name in BOUNDS if getattr(bounds, name) is not None]
    if bounds.path == "stream" and "launch" in names:
        names.remove("own")
    return [bound_schedule(name, work, floor) for name in names]


def bound_schedule(name: str, work: DeviceWork, floor: Floor) -> Schedule:
    """Of the bound called ``device``, ``launch``, ``graph`` or ``own``, of median durations.

    Errors: `KeyError` and `ValueError` where the floor does not know what the bound needs.
    """
    model = bound_model(name, work)
    charged, begins = model.asked(floor)
    made = _schedule(name, model.operations, model.calls, charged, begins)
    if model.full:
        return made
    return _with_host(made, begins, begins + _inside_calls(model.operations, model.calls, floor))


def predicted_schedule(
    work: DeviceWork, floor: Floor, return_s: Array, returned_s: float
) -> Schedule:
    """What the model makes of the host's own times: `return_s` is (M,) when each call returns,
    `returned_s` when the forward does, 0 where that is not known. Errors: as `bound_schedule`.
    """
    begins = np.median(work.begins, axis=0)
    made = _schedule("predicted", work.operations, work.calls, floor, begins, returned_s)
    return _with_host(made, begins, return_s)


def _schedule(
    name: str,
    operations: Operations,
    calls: Calls,
    floor: Floor,
    begins: Array,
    returned_s: float = 0.0,
) -> Schedule:
    timeline = run_pipeline(operations, calls, begins, floor)
    done = float(timeline.end_s.max())
    known = done + float(np.asarray(floor.sync))
    return Schedule(
        name=name,
        operations=operations,
        calls=calls,
        start_s=timeline.start_s,
        stop_s=timeline.end_s,
        begin_s=None,
        return_s=None,
        done_s=done,
        known_s=known,
        end_s=max(known, returned_s),
    )


def _with_host(made: Schedule, begin_s: Array, return_s: Array) -> Schedule:
    return replace(made, begin_s=begin_s, return_s=return_s)


def _inside_calls(operations: Operations, calls: Calls, floor: Floor) -> Array:
    """(M,): the host's time inside each call; 0 where the floor does not know it."""
    nodes = np.bincount(operations.call[operations.call != NO_CALL], minlength=calls.count)
    cost = np.zeros(calls.count)
    for kind in CallKind:
        if kind in floor.submit:
            cost[calls.kind == kind] = float(np.asarray(floor.submit[kind]))
    replays = calls.kind == CallKind.GRAPH
    cost[replays] += float(np.asarray(floor.graph_submit_node)) * nodes[replays]
    return cost
