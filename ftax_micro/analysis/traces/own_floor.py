"""A floor for a trace that none was measured for: that of the shortest launches in it.

The true floor is at most what the best launch of the trace took, tracer included, so that bounds by
it may be too high, and the tax too small: it has what other launches took beyond the best.

* `to_start`: the least start less begin of the call, over kernel launches that found their stream
  idle. Others wait for what is before them.
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

from ftax_micro.analysis.floor_values import FloorValue, FloorValues, given_value
from ftax_micro.analysis.pipeline import Array, CallKind, Integers
from ftax_micro.analysis.traces.correlation import Correlation, queue_depths
from ftax_micro.analysis.traces.events import NS, Ints, Trace
from ftax_micro.analysis.traces.events import CallKind as TracedKind
from ftax_micro.analysis.traces.step_work import call_kinds, ticked
from ftax_micro.stats import Estimate
from ftax_micro.units import format_seconds

# The least of fewer could be any of them.
LEAST_IDLE = 10
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
    starts = {kind: _idle(launches, kind) for kind in (CallKind.LAUNCH, CallKind.GRAPH)}
    known = {kind: each for kind, each in starts.items() if len(each) >= LEAST_IDLE}
    if not known:
        number = sum(map(len, starts.values()))
        return OwnFloor(
            None,
            f"the trace has {number} launches that found their stream idle, of {LEAST_IDLE} that "
            "its own floor takes: give one of its machine by --floor",
        )
    impossible = sum(int((each < 0).sum()) for each in known.values())
    if impossible > _MOST_IMPOSSIBLE * sum(map(len, known.values())):
        return OwnFloor(
            None,
            f"{impossible} operations began before the call that launched them, though their "
            "stream was idle: the clocks of host and device disagree, so that the trace has no "
            "floor of its own; give one of its machine by --floor",
        )
    least = {kind: int(each[each >= 0].min()) for kind, each in known.items()}
    to_start = least.get(CallKind.LAUNCH, min(least.values()))
    submit = {
        CallKind(int(kind)): int(launches.took[launches.kind == kind].min())
        for kind in np.unique(launches.kind)
    }
    graph_start = least.get(CallKind.GRAPH, to_start) if CallKind.GRAPH in submit else None
    values = _values(to_start, submit, graph_start, tick_ns)
    return OwnFloor(values, notes=tuple(_notes(known, least, submit, impossible)))


def _idle(launches: _Launches, kind: CallKind) -> Ints:
    """From call to start of those that found their stream idle."""
    return np.asarray(launches.to_start[(launches.kind == kind) & launches.idle])


def _values(
    to_start: int, submit: dict[CallKind, int], graph_start: int | None, tick_ns: int
) -> FloorValues:
    def value(each: int) -> FloorValue:
        return _ticked_value(each, tick_ns)

    nothing = given_value(0.0)
    graph = None if graph_start is None else nothing
    return FloorValues(
        to_start=value(to_start),
        gap=nothing,
        sync=nothing,
        submit={kind: value(each) for kind, each in submit.items()},
        # Whose sum without sync is what lies before the first node (`FloorValues.point`).
        graph_launch=None if graph_start is None else value(graph_start),
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


def _notes(
    known: dict[CallKind, Ints],
    least: dict[CallKind, int],
    submit: dict[CallKind, int],
    impossible: int,
) -> list[str]:
    calls = ", ".join(
        f"{kind.name.lower()} call {format_seconds(each * NS)}" for kind, each in submit.items()
    )
    kind = CallKind.LAUNCH if CallKind.LAUNCH in known else CallKind.GRAPH
    notes = [
        f"bounds by the trace's own floor, its shortest launches: call to start "
        f"{format_seconds(least[kind] * NS)}, the least of {len(known[kind]):,} that found their "
        f"stream idle; {calls}; gap and wait unknown, so 0. Another floor: --floor"
    ]
    if CallKind.GRAPH in submit and CallKind.GRAPH not in known:
        notes.append(
            f"fewer than {LEAST_IDLE} graph launches found their stream idle: each is charged "
            "what a kernel launch takes to its start"
        )
    if impossible:
        notes.append(
            f"{impossible} idle launches whose operation began before the call are not in the "
            "trace's own floor: clocks disagree"
        )
    return notes
