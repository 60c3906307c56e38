"""A floor for a trace that none was measured for: that of the shortest launches in it.

The true floor is at most what the best launch of the trace took, tracer included, so that bounds by
it may be too high, and the tax too small: it has what other launches took beyond the best.

* `to_start`: the least start less begin of the call, over kernel launches that found their stream
  idle. Others wait for what is before them; where all do, 0: no bound has it more than once a
  stream.
* `submit`: the shortest call of each kind.
* `gap`: 0, since nothing of a trace tells it from what kernels wait for each other.
* `sync`: 0, since no event tells when the device's end was known to the host.
* of a graph: from the begin of its launch to its first operation as above, its host's time as
  above; between its nodes 0.

All have the tracer's own time in them, as `begin_to_begin` has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ftax_micro.analysis.bounding.pipeline import Array, CallKind, Integers
from ftax_micro.analysis.floor.values import FloorValue, FloorValues, given_value
from ftax_micro.analysis.traces.correlation import Correlation, queue_depths
from ftax_micro.analysis.traces.events import NS, Ints, Trace
from ftax_micro.analysis.traces.events import CallKind as TracedKind
from ftax_micro.analysis.traces.step_work import call_kinds, ticked
from ftax_micro.stats import Estimate
from ftax_micro.units import format_seconds

# The least of fewer could be any of them.
LEAST = 10
# Of what is called to start: by whichever of these a trace has enough.
_STARTS = (CallKind.LAUNCH, CallKind.GRAPH)
# Of idle launches: those whose operation began before the call did, beyond which clocks are off.
_MOST_IMPOSSIBLE = 0.01
_NO_GRAPH = "no graph was launched in the trace, whose shortest launches its floor is"
_CPU = "a trace has no plain calls to take it from"


@dataclass(frozen=True)
class OwnFloor:
    """The floor of one device of a trace; `values` None: `reason` says why. `notes` are sentences
    on where its values come from.
    """

    values: FloorValues | None
    reason: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Launches:
    """Launching calls of one device, each with its first operation; nanoseconds."""

    kind: Integers
    took: Ints
    to_start: Ints
    idle: np.ndarray[tuple[int], np.dtype[np.bool_]]


def own_floors(trace: Trace, correlation: Correlation) -> dict[int, OwnFloor]:
    """The floor of each device that did something. Linear in the calls, sorting aside."""
    first = np.flatnonzero(correlation.first)
    call = correlation.call[first]
    depths = queue_depths(trace, correlation)
    depth = depths.depth[np.searchsorted(depths.call, call)]
    kind = call_kinds(trace.operations.kind[first])
    kind[trace.calls.kind[call] == TracedKind.GRAPH_LAUNCH] = int(CallKind.GRAPH)
    to_start = trace.operations.start_ns[first] - trace.calls.start_ns[call]
    took = trace.calls.duration_ns[call]
    found = {}
    for device in trace.device_ids:
        mine = trace.operations.device[first] == device
        launches = _Launches(kind[mine], took[mine], to_start[mine], depth[mine] == 0)
        found[device] = _floor(launches, trace.tick_ns)
    return found


def _floor(launches: _Launches, tick_ns: int) -> OwnFloor:
    number = len(launches.kind)
    if number < LEAST:
        return OwnFloor(
            None,
            f"the trace has {number} launches, of {LEAST} that its own floor takes: give one of "
            "its machine by --floor",
        )
    impossible = int((launches.to_start[launches.idle] < 0).sum())
    if impossible > _MOST_IMPOSSIBLE * launches.idle.sum():
        return OwnFloor(
            None,
            f"{impossible} operations began before the call that launched them, though their "
            "stream was idle: the clocks of host and device disagree, so that the trace has no "
            "floor of its own; give one of its machine by --floor",
        )
    starts = {kind: _idle(launches, kind) for kind in (CallKind.LAUNCH, CallKind.GRAPH)}
    known = {kind: each for kind, each in starts.items() if len(each) >= LEAST}
    submit = {
        CallKind(int(kind)): int(launches.took[launches.kind == kind].min())
        for kind in np.unique(launches.kind)
    }
    values = _values({kind: int(each.min()) for kind, each in known.items()}, submit, tick_ns)
    return OwnFloor(values, notes=tuple(_notes(known, submit, impossible)))


def _idle(launches: _Launches, kind: CallKind) -> Ints:
    """From call to start of those that found their stream idle, by clocks that agree."""
    possible = launches.idle & (launches.to_start >= 0)
    return np.asarray(launches.to_start[(launches.kind == kind) & possible])


def _values(starts: dict[CallKind, int], submit: dict[CallKind, int], tick_ns: int) -> FloorValues:
    def value(each: int) -> FloorValue:
        return _ticked_value(each, tick_ns)

    nothing = given_value(0.0)
    least = next((value(starts[kind]) for kind in _STARTS if kind in starts), nothing)
    graph_start = value(starts[CallKind.GRAPH]) if CallKind.GRAPH in starts else least
    graph = nothing if CallKind.GRAPH in submit else None
    return FloorValues(
        to_start=least,
        gap=nothing,
        sync=nothing,
        submit={kind: value(each) for kind, each in submit.items()},
        # Whose sum without sync is what lies before the first node (`FloorValues.point`).
        graph_launch=None if graph is None else graph_start,
        graph_node=graph,
        graph_submit_node=graph,
        kernel_duration=graph,
        reasons={
            **({"graph_launch": _NO_GRAPH} if graph is None else {}),
            "call_direct": _CPU,
        },
    )


def _ticked_value(value_ns: int, tick_ns: int) -> FloorValue:
    """A time between two events, known to the clock's tick either way."""
    value, tick = value_ns * NS, tick_ns * NS

    def drawn(resamples: int, rng: np.random.Generator) -> Array:
        return value + ticked(tick, (resamples,), rng)

    return FloorValue(Estimate(value, value - tick, value + tick), (value, value), drawn)


def _notes(known: dict[CallKind, Ints], submit: dict[CallKind, int], impossible: int) -> list[str]:
    start = f"call to start unknown, since fewer than {LEAST} launches found their stream idle"
    for kind in reversed(_STARTS):
        if kind in known:
            start = (
                f"call to start {format_seconds(int(known[kind].min()) * NS)}, the least of "
                f"{len(known[kind]):,} that found their stream idle"
            )
    calls = ", ".join(
        f"{kind.name.lower()} call {format_seconds(each * NS)}" for kind, each in submit.items()
    )
    notes = [
        f"bounds by the trace's own floor, its shortest launches: {start}; {calls}; gap and wait "
        "unknown; what is unknown counts as 0. Another floor: --floor"
    ]
    if CallKind.GRAPH in submit and CallKind.GRAPH not in known:
        notes.append(
            f"fewer than {LEAST} graph launches found their stream idle: each is charged what a "
            "kernel launch takes to its start"
        )
    if impossible:
        notes.append(
            "idle launches whose operation began before the call, which clocks that disagree do, "
            f"are not in the trace's own floor: {impossible}"
        )
    return notes
