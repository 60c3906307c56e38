"""What bounds are computed from, out of a step of a trace: its operations, their calls, the clock.

To a step belongs what was launched in it. Where the device is behind the host, its streams still
have to do what earlier steps launched: a bound without that would call a busy device idle.
  wrong:  the step's own operations, on a device that is free when the step begins
  right:  before them, what their streams were left with, from the step's begin, without a call
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ftax_micro.analysis.bounding import pipeline
from ftax_micro.analysis.bounding.joint import DeviceWork, Joint
from ftax_micro.analysis.bounding.pipeline import NO_CALL, Array, Calls, Integers, Operations
from ftax_micro.analysis.floor.values import FloorValues
from ftax_micro.analysis.streams import overlapping
from ftax_micro.analysis.traces.correlation import Correlation
from ftax_micro.analysis.traces.events import NONE, NS, CallKind, Ints, Kinds, OperationKind, Trace
from ftax_micro.analysis.traces.steps import Step

# The call that would launch each into a stream; a graph that was recorded whole takes one at least.
_KINDS = {
    OperationKind.KERNEL: pipeline.CallKind.LAUNCH,
    OperationKind.COPY: pipeline.CallKind.COPY,
    OperationKind.SET: pipeline.CallKind.SET,
    OperationKind.GRAPH: pipeline.CallKind.LAUNCH,
}
# Operations times drawings: what an interval of a step may cost, and a trace may have a thousand
# steps. The more operations, the less clock and floor are beside their time. Durations are drawn
# fewer times still, as what clocks cut off of many of them is little beside their sum.
_IN_ALL, _DURATIONS_IN_ALL = 100_000, 4_000_000
_MOST, _LEAST, _LEAST_DURATIONS = 400, 20, 2


@dataclass(frozen=True, eq=False)
class StepWork:
    """A step's work on its device; seconds after the step's begin.

    `work` has one forward, its operations in the order of their starts: those at `index` in the
    trace's columns, and its calls those at `calls`. The first operations are not always the step's
    own: `ahead` counts those of earlier steps that are among them, and without a call. `streams`
    and `threads` count those of its own operations and their calls. `waited`: a call that blocks
    was waiting when the last operation ended, and returned within the step.
    """

    work: DeviceWork
    index: Ints
    calls: Ints
    ahead: int
    ahead_s: float
    streams: int
    threads: int
    waited: bool
    tick_s: float


class StepWorks:
    """The work of steps of one trace; each costs as much as it has operations."""

    def __init__(self, trace: Trace, correlation: Correlation) -> None:
        self._trace, self._correlation = trace, correlation
        self._ends = trace.operations.end_ns
        self._reach = np.maximum.accumulate(self._ends)
        blocking = np.flatnonzero(trace.calls.blocks)
        self._waits = trace.calls.start_ns[blocking], trace.calls.end_ns[blocking]

    def of(self, step: Step) -> StepWork:
        """The work of a step on its device. Errors: `ValueError` where it has none."""
        own, operations = step.index, self._trace.operations
        if not len(own):
            raise ValueError("a step without operations has no work")
        ahead = self._ahead(step)
        index = np.sort(np.concatenate([ahead, own]))
        early = np.isin(index, ahead, assume_unique=True)
        start, begin = operations.start_ns[index], step.window.begin_ns
        start[early] = np.maximum(start[early], begin)
        duration = self._ends[index] - start
        calls, call = self._calls(index, early)
        return StepWork(
            work=replace(self._work(index, start, duration, call, calls, begin), left_over=early),
            index=index,
            calls=calls,
            ahead=len(ahead),
            ahead_s=float(duration[early].sum() * NS),
            streams=len(np.unique(operations.stream[own])),
            threads=len(np.unique(self._trace.calls.thread[calls])),
            waited=self._waited(step),
            tick_s=self._trace.tick_ns * NS,
        )

    def _ahead(self, step: Step) -> Ints:
        """What other steps launched into the streams of this one and these do before its last
        operation, but not before the step begins.
        """
        own, operations = step.index, self._trace.operations
        if step.window.everything:
            return np.empty(0, dtype=np.int64)
        begin = step.window.begin_ns
        first = int(np.searchsorted(self._reach, begin, side="right"))
        found: Ints = np.arange(first, int(own[-1]) + 1)
        found = found[(operations.device[found] == step.device) & (self._ends[found] > begin)]
        found = found[~np.isin(found, own, assume_unique=True)]
        if not len(found):
            return found
        # By stream, its last own operation.
        streams = np.unique(operations.stream[own])
        last = np.zeros(len(streams), dtype=np.int64)
        np.maximum.at(last, np.searchsorted(streams, operations.stream[own]), own)
        stream = operations.stream[found]
        place = np.minimum(np.searchsorted(streams, stream), len(streams) - 1)
        before: Ints = found[(streams[place] == stream) & (found < last[place])]
        return before

    def _calls(self, index: Ints, early: pipeline.Booleans) -> tuple[Ints, Integers]:
        """The calls of some operations, in the order of their begins, and the place of each
        operation's among them; `NO_CALL` for `early` ones.
        """
        owner = np.where(early, NONE, self._correlation.call[index])
        calls: Ints = np.unique(owner[owner != NONE])
        place = np.searchsorted(calls, owner)
        return calls, np.where(owner == NONE, NO_CALL, place).astype(np.int64)

    def _work(
        self, index: Ints, start: Ints, duration: Ints, call: Integers, calls: Ints, begin: int
    ) -> DeviceWork:
        trace = self._trace
        stream = trace.operations.stream[index]
        kind = call_kinds(trace.operations.kind[index])
        # A clock of whole ticks lets an end reach into the next start.
        slack = trace.tick_ns if trace.tick_ns > 1 else 0
        # The first operation of a call says what it is.
        kinds = np.full(len(calls), int(pipeline.CallKind.LAUNCH), dtype=np.int64)
        called = np.flatnonzero(call != NO_CALL)[::-1]
        kinds[call[called]] = kind[called]
        kinds[trace.calls.kind[calls] == CallKind.GRAPH_LAUNCH] = int(pipeline.CallKind.GRAPH)
        seconds = duration * np.float64(NS)
        return DeviceWork(
            operations=Operations(
                duration_s=seconds,
                call=call,
                stream=stream,
                chained=~overlapping(stream, start - begin, duration - slack),
            ),
            calls=Calls(kinds, trace.calls.thread[calls].astype(np.int64)),
            kind=kind,
            durations=seconds[np.newaxis],
            begins=((trace.calls.start_ns[calls] - begin) * np.float64(NS))[np.newaxis],
        )

    def _waited(self, step: Step) -> bool:
        end = int(self._ends[step.index].max())
        start, until = self._waits
        first, last = np.searchsorted(start, [step.window.begin_ns, end], side="left")
        until = until[first:last]
        slack = self._trace.tick_ns
        return bool(np.any((until + slack >= end) & (until <= step.window.end_ns)))


def call_kinds(kinds: Kinds) -> Integers:
    """The kind of call that would launch operations of some kinds into a stream."""
    table = np.array([int(_KINDS[each]) for each in OperationKind], dtype=np.int64)
    return np.asarray(table[kinds])


def draw_step(found: StepWork, latency_s: float, floor: FloorValues, seed: int = 0) -> Joint:
    """Drawings of a step that happened once: its clock's ticks, and the floor.

    A time between two events is known to a tick either way, the difference of two uniform errors.
    Errors: as `FloorValues.drawn`.
    """
    rng = np.random.default_rng(seed)
    number = found.work.operations.count
    resamples = int(np.clip(_IN_ALL // number, _LEAST, _MOST))
    times = int(np.clip(_DURATIONS_IN_ALL // number, _LEAST_DURATIONS, resamples))
    return Joint(
        resamples=resamples,
        latency=latency_s + ticked(found.tick_s, (resamples,), rng),
        floor=floor.drawn(resamples, rng),
        durations=found.work.durations + ticked(found.tick_s, (times, number), rng),
        begins=np.zeros((times, 0)),
        returned=np.zeros(resamples),
        returned_s=0.0,
    )


def ticked(tick_s: float, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Errors of times between two events on a clock of such ticks; seconds."""
    return np.asarray(tick_s * (rng.random(shape) - rng.random(shape)))
