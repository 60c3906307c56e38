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

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftax_micro.analysis.streams import earlier, of_stream, stream_places

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


@dataclass(frozen=True)
class Pipeline:
    """Operations and their calls, and what follows from them whatever the times are: worked out
    once for all that is asked. The durations of `operations` are not looked at.
    """

    operations: Operations
    calls: Calls

    def latency(self, begin_s: ArrayLike, floor: Floor, duration_s: Array) -> Array:
        """(…): the last end and the wait; 0 without operations, for which nobody waits.

        `begin_s` is (…, M), (…, 1) for calls that begin at once, `duration_s` (…, N). Errors: as
        `timeline`.
        """
        if self.operations.count == 0:
            return np.zeros(np.asarray(begin_s).shape[:-1])
        ready, before = self._asked(begin_s, floor)
        last = [self._last_end(duration_s, ready, before, place) for place in self._streams]
        latest = last[0] if len(last) == 1 else np.max(np.stack(last), axis=0)
        return np.asarray(latest + np.asarray(floor.sync, dtype=float))

    def timeline(self, begin_s: ArrayLike, floor: Floor, duration_s: Array) -> Timeline:
        """The model of the module's head. An operation without a call may begin with the forward,
        at 0. Errors: `ValueError` where a graph was launched and the floor does not say what that
        costs.
        """
        ready, before = self._asked(begin_s, floor)
        before = before + np.zeros(self.operations.count)
        shape = np.broadcast_shapes(duration_s.shape, ready.shape, before.shape)
        starts, ends = np.empty(shape), np.empty(shape)
        for place in self._streams:
            early, step, _ = self._early(duration_s, ready, before, place)
            latest = step + np.maximum.accumulate(early, axis=-1)
            previous = np.full(latest.shape, -np.inf)
            previous[..., 1:] = latest[..., :-1]
            earliest, chained = of_stream(ready, place), self.operations.chained[place]
            waited = np.maximum(earliest, previous + before[..., place])
            starts[..., place] = np.where(chained, waited, earliest)
            ends[..., place] = starts[..., place] + duration_s[..., place]
        return Timeline(starts, ends)

    def least_begins(self, floor: Floor) -> Array:
        """(…, M): when calls begin on a host that does nothing else, each at the floor of its kind.

        A thread makes its calls one after the other; threads do not wait for each other. Errors:
        `KeyError` for a kind whose floor is not known, unless nothing comes after its calls.
        """
        costs = {kind: np.asarray(each, dtype=float) for kind, each in floor.submit.items()}
        extra = np.asarray(floor.graph_submit_node, dtype=float)
        shape = np.broadcast_shapes(extra.shape, *(each.shape for each in costs.values()))
        begins = [
            np.multiply.outer(extra if kind is None else costs[kind], before)
            for kind, before in self._charged
        ]
        whole = (*shape, self.calls.count)
        return np.broadcast_to(sum(begins[1:], begins[0]) if begins else 0.0, whole)

    @cached_property
    def _streams(self) -> list[slice | Integers]:
        return list(stream_places(self.operations.stream))

    @cached_property
    def _called(self) -> Booleans:
        return np.not_equal(self.operations.call, NO_CALL)

    @cached_property
    def _in_turn(self) -> bool:
        """Whether each call has one operation, in their order."""
        call = self.operations.call
        return bool(call.size == self.calls.count and np.all(call == np.arange(call.size)))

    @cached_property
    def _replayed(self) -> Booleans:
        """(N,): which operations a graph launch brings."""
        graph = np.zeros(self.operations.count, dtype=bool)
        called = self._called
        graph[called] = self.calls.kind[self.operations.call[called]] == CallKind.GRAPH
        return graph

    @cached_property
    def _within(self) -> Booleans:
        """(N,): which of them follow one of the same launch in their stream."""
        same = np.zeros(self.operations.count, dtype=bool)
        for place in self._streams:
            inside = np.zeros(self.operations.call[place].size, dtype=bool)
            inside[1:] = np.diff(self.operations.call[place]) == 0
            same[place] = inside
        return same & self._replayed

    @cached_property
    def _one_launch(self) -> bool:
        """Whether each follows one of the same launch, but for the first in its stream, before
        which there is none.
        """
        return all(bool(self._within[place][1:].all()) for place in self._streams)

    @cached_property
    def _charged(self) -> list[tuple[CallKind | None, Integers]]:
        """What of each kind a call's thread has done before it, (M,); None: nodes of graphs."""
        kinds, called = self.calls.kind, self.operations.call[self._called]
        nodes = np.where(
            kinds == CallKind.GRAPH, np.bincount(called, minlength=self.calls.count), 0
        )
        every = [(CallKind(int(kind)), kinds == kind) for kind in np.unique(kinds)]
        found = [(kind, earlier(self.calls.thread, each)) for kind, each in (*every, (None, nodes))]
        return [(kind, before) for kind, before in found if before.any()]

    def _asked(self, begin_s: ArrayLike, floor: Floor) -> tuple[Array, Array]:
        """When each operation is ready for all its call has to do with it, and the gap that what is
        before it in its stream leaves: each (…, N), or (…, 1) where it is the same for all.
        """
        begins = np.asarray(begin_s, dtype=float)
        called = self._called
        if not called.all():  # a call that begins at 0 and takes nothing
            begins = np.broadcast_to(begins, (*begins.shape[:-1], self.calls.count))
            begins = np.concatenate([begins, np.zeros((*begins.shape[:-1], 1))], axis=-1)
        start, gap = _wide(floor.to_start), _wide(floor.gap)
        if self._replayed.any():
            if floor.graph_start is None or floor.graph_gap is None:
                raise ValueError("a graph was launched, whose start and gap are not known")
            node, between = _wide(floor.graph_start), _wide(floor.graph_gap)
            start = node if self._replayed.all() else np.where(self._replayed, node, start)
            gap = between if self._one_launch else np.where(self._within, between, gap)
        if not called.all():
            start = np.where(called, start, 0.0)
        if begins.shape[-1] > 1 and not self._in_turn:
            begins = np.take(begins, self.operations.call, axis=-1)  # far faster than brackets
        return begins + start, gap

    def _last_end(
        self, duration_s: Array, ready: Array, before: Array, place: slice | Integers
    ) -> Array:
        """(…): the latest end in one stream. Where no operation ends before what it waits for, that
        is the last one's, for which a plain maximum does; where all are ready at once, a sum.
        """
        if ready.shape[-1] == before.shape[-1] == 1 and self.operations.chained[place].all():
            took, gap = duration_s[..., place], before[..., 0]
            if took.shape[-1] and took.min() + min(0.0, float(gap.min())) >= 0:
                return np.asarray(ready[..., 0] + took.sum(axis=-1) + (took.shape[-1] - 1) * gap)
        early, step, rising = self._early(duration_s, ready, before, place)
        if rising:
            return np.asarray(step[..., -1] + early.max(axis=-1))
        return np.asarray((step + np.maximum.accumulate(early, axis=-1)).max(axis=-1))

    def _early(
        self, duration_s: Array, ready: Array, before: Array, place: slice | Integers
    ) -> tuple[Array, Array, bool]:
        """Of one stream's operations: r_i + k_i − Σw, Σw, and whether no w is negative."""
        took, chained = duration_s[..., place], self.operations.chained[place]
        step = of_stream(before, place) + took
        if not chained.all():
            step = np.where(chained, step, 0.0)
        rising = bool(step.min() >= 0)
        np.cumsum(step, axis=-1, out=step)  # in place: what costs time here is memory
        early = of_stream(ready, place) + took
        if early.shape == np.broadcast_shapes(early.shape, step.shape):
            early -= step
            return early, step, rising
        return early - step, step, rising


def run_pipeline(
    operations: Operations, calls: Calls, begin_s: ArrayLike, floor: Floor
) -> Timeline:
    """When all begins and ends if calls begin at `begin_s`, (…, M). As `Pipeline.timeline`."""
    return Pipeline(operations, calls).timeline(begin_s, floor, operations.duration_s)


def pipeline_latency(
    operations: Operations, calls: Calls, begin_s: ArrayLike, floor: Floor
) -> Array:
    """(…): when all has ended if calls begin at `begin_s`, (…, M). As `Pipeline.latency`."""
    return Pipeline(operations, calls).latency(begin_s, floor, operations.duration_s)


def least_begins(operations: Operations, calls: Calls, floor: Floor) -> Array:
    """(…, M): as `Pipeline.least_begins`."""
    return Pipeline(operations, calls).least_begins(floor)


def _wide(value: ArrayLike) -> Array:
    """A cost with a last axis for operations."""
    return np.asarray(value, dtype=float)[..., np.newaxis]
