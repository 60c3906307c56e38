"""When each operation of a device begins and ends, given when the host asks for it.

The problem: most of what a launch costs hides behind the operations before it, so that the floor
times the number of launches is no bound of anything.

  wrong:  latency ≥ N × floor + Σ durations

  right:  s_i = max(b_i + ℓ, e_{i−1} + g), e_i = s_i + k_i, latency = e_N + y

with b_i the begin of the host's call, ℓ from there to the start (`to_start`), g what a full queue
leaves between two operations (`gap`), k_i the duration and y until the waiting host runs (`sync`).

Streams run side by side; what one waits for from another is left out, so that the result stays a
lower bound. Operations of one graph launch follow each other at the graph's own spacing. One that
overlaps what is before it in its stream (programmatic dependent launch) waits for its call alone.

In terms of m_i, the latest end up to operation i, the recurrence is m_i = max(r_i + k_i, m_{i−1} +
w_i), which a running maximum over r_i + k_i − Σw solves: linear in operations, without a loop. All
times are seconds; arrays may have leading axes (resamples), operations are on the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Of operations whose call the trace does not have.
NO_CALL = -1


class CallKind(IntEnum):
    """What a host call asks for; each kind has a floor of its own."""

    LAUNCH = 0
    COPY = 1
    SET = 2
    GRAPH = 3


@dataclass(frozen=True)
class Operations:
    """N operations; those of one stream in the order the device runs them.

    `duration_s` is (…, N); `call` the index of the host call that asked for each, or `NO_CALL`;
    `stream` a number for each stream; `chained` False for those that overlap what is before them.
    """

    duration_s: Array
    call: Integers
    stream: Integers
    chained: Booleans

    @property
    def count(self) -> int:
        """N."""
        return int(self.call.size)

    @property
    def unchained(self) -> int:
        """How many overlap what is before them in their stream."""
        return int(np.count_nonzero(~self.chained))


@dataclass(frozen=True)
class Calls:
    """M host calls in the order of their begins: the `CallKind` and the host thread of each."""

    kind: Integers
    thread: Integers

    @property
    def count(self) -> int:
        """M."""
        return int(self.kind.size)


@dataclass(frozen=True)
class Floor:
    """What the machine charges at least; seconds, each a number or an array over resamples.

    `submit` is the host's time inside one call by kind; a graph launch takes ``submit[GRAPH]`` and
    `graph_submit_node` for each of its operations. `graph_start` is from the begin of a graph
    launch to the start of its first operation, `graph_gap` what lies between two of them.
    """

    to_start: ArrayLike
    gap: ArrayLike
    sync: ArrayLike
    submit: Mapping[CallKind, ArrayLike] = field(default_factory=dict)
    graph_submit_node: ArrayLike = 0.0
    graph_start: ArrayLike | None = None
    graph_gap: ArrayLike | None = None


@dataclass(frozen=True)
class Timeline:
    """Starts and ends of operations, (…, N), on the clock of the begins."""

    start_s: Array
    end_s: Array


def run_pipeline(
    operations: Operations, calls: Calls, begin_s: ArrayLike, floor: Floor
) -> Timeline:
    """The model of the module's head. `begin_s` is (…, M): when each call begins.

    An operation without a call may begin with the forward, at 0. Errors: `ValueError` where a graph
    was launched and the floor does not say what that costs.
    """
    ready, before = _asked(operations, calls, begin_s, floor)
    shape = np.broadcast_shapes(operations.duration_s.shape, ready.shape, before.shape)
    starts, ends = np.empty(shape), np.empty(shape)
    for place in streams_of(operations):
        latest = _latest(operations, ready, before, place)
        previous = np.full(latest.shape, -np.inf)
        previous[..., 1:] = latest[..., :-1]
        earliest, chained = ready[..., place], operations.chained[place]
        waited = np.maximum(earliest, previous + before[..., place])
        starts[..., place] = np.where(chained, waited, earliest)
        ends[..., place] = starts[..., place] + operations.duration_s[..., place]
    return Timeline(starts, ends)


def pipeline_latency(
    operations: Operations, calls: Calls, begin_s: ArrayLike, floor: Floor
) -> Array:
    """(…): the last end in `run_pipeline` and the wait; 0 without operations, for which nobody
    waits. Errors: as `run_pipeline`.
    """
    if operations.count == 0:
        return np.zeros(np.asarray(begin_s).shape[:-1])
    ready, before = _asked(operations, calls, begin_s, floor)
    last = [
        _latest(operations, ready, before, place).max(axis=-1) for place in streams_of(operations)
    ]
    return np.asarray(np.max(np.stack(last), axis=0) + np.asarray(floor.sync, dtype=float))


def _asked(
    operations: Operations, calls: Calls, begin_s: ArrayLike, floor: Floor
) -> tuple[Array, Array]:
    """(…, N) when each operation is ready for all its call has to do with it, and the gap that what
    is before it in its stream leaves.
    """
    begins = np.asarray(begin_s, dtype=float)
    called = operations.call != NO_CALL
    if not called.all():  # a call that begins at 0 and takes nothing
        begins = np.concatenate([begins, np.zeros((*begins.shape[:-1], 1))], axis=-1)
    start, gap = _wide(floor.to_start), _wide(floor.gap)
    graph = np.zeros(operations.count, dtype=bool)
    graph[called] = calls.kind[operations.call[called]] == CallKind.GRAPH
    if graph.any():
        if floor.graph_start is None or floor.graph_gap is None:
            raise ValueError("a graph was launched, whose start and gap are not known")
        start = np.where(graph, _wide(floor.graph_start), start)
        gap = np.where(graph & _same_call(operations), _wide(floor.graph_gap), gap)
    if not called.all():
        start = np.where(called, start, 0.0)
    ready = np.take(begins, operations.call, axis=-1)  # of an index, far faster than brackets
    return ready + start, gap + np.zeros(operations.count)


def _same_call(operations: Operations) -> Booleans:
    """(N,): whether what is before an operation in its stream is of the same call."""
    same = np.zeros(operations.count, dtype=bool)
    for place in streams_of(operations):
        inside = np.zeros(operations.call[place].size, dtype=bool)
        inside[1:] = np.diff(operations.call[place]) == 0
        same[place] = inside
    return same


def _latest(operations: Operations, ready: Array, before: Array, place: slice | Integers) -> Array:
    """The latest end up to each operation of one stream."""
    took, chained = operations.duration_s[..., place], operations.chained[place]
    step = before[..., place] + took
    if not chained.all():
        step = np.where(chained, step, 0.0)
    step = np.cumsum(step, axis=-1)
    return np.asarray(step + np.maximum.accumulate(ready[..., place] + took - step, axis=-1))


def _wide(value: ArrayLike) -> Array:
    """A cost with a last axis for operations."""
    return np.asarray(value, dtype=float)[..., np.newaxis]


def streams_of(operations: Operations) -> Iterator[slice | Integers]:
    """The places of each stream's operations, in their order."""
    stream = operations.stream
    if stream.size == 0:
        return
    if np.all(stream == stream[0]):
        yield slice(None)
        return
    order = np.argsort(stream, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(stream[order])) + 1)


def least_begins(operations: Operations, calls: Calls, floor: Floor) -> Array:
    """(…, M): when calls begin on a host that does nothing else, each at the floor of its kind.

    A thread makes its calls one after the other; threads do not wait for each other. Errors:
    `KeyError` for a kind whose floor is not known, unless nothing comes after its calls.
    """
    nodes = np.bincount(operations.call[operations.call != NO_CALL], minlength=calls.count)
    costs = [np.asarray(each, dtype=float) for each in floor.submit.values()]
    extra = np.asarray(floor.graph_submit_node, dtype=float)
    shape = np.broadcast_shapes(extra.shape, *(each.shape for each in costs))
    begins = np.zeros((*shape, calls.count))
    for thread in np.unique(calls.thread):
        mine = np.flatnonzero(calls.thread == thread)[:-1]
        cost = np.zeros((*shape, mine.size))
        for number in np.unique(calls.kind[mine]):
            each = calls.kind[mine] == number
            cost[..., each] = _wide(floor.submit[CallKind(int(number))])
            if number == CallKind.GRAPH:
                cost[..., each] += _wide(extra) * nodes[mine[each]]
        after = np.flatnonzero(calls.thread == thread)[1:]
        begins[..., after] = np.cumsum(cost, axis=-1)
    return begins


def overlapping(stream: Integers, start_s: ArrayLike, duration_s: ArrayLike) -> Booleans:
    """(N,): which operations begin before all that is before them in their stream has ended.

    `start_s` and `duration_s` are (N,) or (forwards, N): of several forwards, the median counts.
    """
    starts = np.atleast_2d(np.asarray(start_s, dtype=float))
    ends = starts + np.atleast_2d(np.asarray(duration_s, dtype=float))
    found = np.zeros(starts.shape[-1], dtype=bool)
    every = np.ones(found.size, dtype=bool)
    for place in streams_of(Operations(starts, np.zeros_like(stream), stream, every)):
        until = np.maximum.accumulate(ends[:, place], axis=1)[:, :-1]
        early = np.median(starts[:, place][:, 1:] - until, axis=0) < 0
        found[np.arange(found.size)[place][1:]] = early
    return found
