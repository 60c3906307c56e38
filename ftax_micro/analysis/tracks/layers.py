"""Schedules as layers of a timeline, beside the layer of what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ftax_micro.analysis.bounding.bounds import Bound, Bounds
from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.pipeline import CallKind, Floor
from ftax_micro.analysis.traces.step_bounds import StepBounds
from ftax_micro.analysis.tracks.contract import (
    NONE,
    NOTHING,
    Fact,
    Ints,
    Layer,
    Stretches,
    Timeline,
    nanoseconds,
    queue_depth,
)
from ftax_micro.analysis.tracks.schedules import Schedule, bound_schedules
from ftax_micro.stats import Estimate

TITLES = {
    "device": "device bound",
    "launch": "launch bound",
    "graph": "graph bound",
    "own": "bound of its own launch path",
    "predicted": "prediction",
}
HOST = "host calls"
_WORDS = {
    CallKind.LAUNCH: "kernel launch",
    CallKind.COPY: "copy",
    CallKind.SET: "set",
    CallKind.GRAPH: "graph launch",
}


def bound_layers(
    work: DeviceWork, bounds: Bounds | None, floor: Floor | None, measured: Layer
) -> list[Layer]:
    """A layer for each bound of what was measured; none without bounds."""
    if bounds is None or floor is None:
        return []
    made = []
    for schedule in bound_schedules(work, bounds, floor):
        bound: Bound = getattr(bounds, schedule.name)
        facts = {
            **_interval("bound", bound.seconds),
            **_interval("share_of_latency", bound.share, ""),
            **_interval("latency_above_it", bound.above),
        }
        made.append(schedule_layer(schedule, measured, facts))
    return made


def schedule_layer(
    schedule: Schedule,
    measured: Layer,
    facts: dict[str, Fact],
    names: Sequence[str] | None = None,
) -> Layer:
    """The layer of a schedule of what was `measured`, whose names and rows it has; `names` are
    those of its calls, where these are measured ones.
    """
    hosted = schedule.begin_s is not None
    start, end = nanoseconds(schedule.start_s), nanoseconds(schedule.stop_s)
    return Layer(
        name=TITLES[schedule.name],
        measured=False,
        end_ns=int(nanoseconds(schedule.end_s)),
        calls=_calls(schedule, measured.calls.rows, names),
        operations=replace(measured.operations, start_ns=start, end_ns=end, facts=()),
        call=schedule.operations.call if hosted else np.full(len(start), NONE),
        waits_ns=(int(nanoseconds(schedule.done_s)), int(nanoseconds(schedule.known_s))),
        facts=facts,
    )


def _calls(
    schedule: Schedule, threads: Mapping[int, str], names: Sequence[str] | None
) -> Stretches:
    if schedule.begin_s is None or schedule.return_s is None:
        return NOTHING
    kinds = [CallKind(kind) for kind in schedule.calls.kind.tolist()]
    own = np.unique(schedule.calls.thread).tolist()
    return Stretches(
        name=names or [_WORDS[kind] for kind in kinds],
        kind=["call"] * len(kinds),
        row=schedule.calls.thread,
        rows={each: HOST if len(own) == 1 else threads[each] for each in own},
        start_ns=nanoseconds(schedule.begin_s),
        end_ns=nanoseconds(schedule.return_s),
    )


def timeline(name: str, measured: Layer, left_over: Ints, bounds: Sequence[Layer]) -> Timeline:
    """All layers, with the measured one's queue depth: of operations whose call is known, and of
    those `left_over` (places), which were in the queue from the begin on.
    """
    called = np.flatnonzero(measured.call != NONE)
    asked = measured.calls.start_ns[measured.call[called]]
    ends = measured.operations.end_ns
    depth = queue_depth(
        np.concatenate([asked, np.zeros(len(left_over), np.int64)]),
        np.concatenate([ends[called], ends[left_over]]),
    )
    return Timeline(name, [measured, *bounds], depth)


def about_bounds(found: CaseBounds | StepBounds) -> dict[str, Fact]:
    """What the bounds say of a latency, or why there are none, for the measured layer."""
    bounds, binds, notes = found.bounds, found.regime, found.notes
    facts: dict[str, Fact] = {}
    if found.reason is not None:
        facts["no_bounds"] = found.reason
    if bounds is not None:
        facts |= _interval("latency", bounds.latency)
        if bounds.tax is not None and bounds.tax_share is not None:
            facts |= _interval("tax", bounds.tax)
            facts |= _interval("tax_share", bounds.tax_share, "")
        facts |= {f"no_{name}_bound": why for name, why in bounds.reasons.items()}
    if binds is not None:
        facts |= {"regime": binds.text, "why": binds.reason}
    if notes:
        facts["notes"] = tuple(notes)
    return facts


def _interval(name: str, value: Estimate, unit: str = "_s") -> dict[str, Fact]:
    found: dict[str, Fact] = {f"{name}{unit}": value.value}
    if value.low is not None and value.high is not None:
        found |= {f"{name}_low{unit}": value.low, f"{name}_high{unit}": value.high}
    return found
