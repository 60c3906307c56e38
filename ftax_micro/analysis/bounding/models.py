"""The bounds of work on a device as pipelines: the same operations, asked for in other ways."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.pipeline import (
    NO_CALL,
    Array,
    CallKind,
    Calls,
    Floor,
    Operations,
    Pipeline,
)

BOUNDS = ("device", "launch", "graph", "own")


@dataclass(frozen=True)
class BoundModel:
    """The pipeline of one bound; `full`: the queue is never empty."""

    pipeline: Pipeline
    full: bool

    @property
    def operations(self) -> Operations:
        """With median durations, and the calls they hang from here."""
        return self.pipeline.operations

    @property
    def calls(self) -> Calls:
        """Those that this bound makes."""
        return self.pipeline.calls

    def latency(self, floor: Floor, durations: Array) -> Array:
        """Of operations that take (…, N) `durations`, (…)."""
        charged, begins = self.asked(floor)
        return self.pipeline.latency(begins, charged, durations)

    def asked(self, floor: Floor) -> tuple[Floor, Array]:
        """What the machine charges of `floor`, and (…, M) when each call begins, (…, 1) where all
        begin at once.
        """
        if not self.full:
            return floor, self.pipeline.least_begins(floor)
        # Not more than any path costs: a graph may start its nodes closer together than a stream.
        start, gap = floor.graph_start, floor.graph_gap
        charged = replace(
            floor,
            graph_start=floor.to_start if start is None else np.minimum(floor.to_start, start),
            graph_gap=floor.gap if gap is None else np.minimum(floor.gap, gap),
        )
        return charged, np.zeros(1)  # all at once


def _as_it_is(work: DeviceWork) -> tuple[Operations, Calls]:
    return work.operations, work.calls


def _launched(work: DeviceWork) -> tuple[Operations, Calls]:
    """A call into its stream for each operation that a graph launch has brought."""
    if not work.replays:
        return _as_it_is(work)
    old = work.operations.call
    order = np.argsort(old, kind="stable")
    order = order[old[order] != NO_CALL]
    inside = work.calls.kind[old[order]] == CallKind.GRAPH
    begins_call = inside.copy()
    begins_call[:1] = True
    begins_call[1:] |= np.diff(old[order]) != 0
    call = np.full(old.size, NO_CALL)
    call[order] = np.cumsum(begins_call) - 1
    kind = np.where(inside, work.kind[order], work.calls.kind[old[order]])[begins_call]
    thread = work.calls.thread[old[order]][begins_call]
    return replace(work.operations, call=call), Calls(kind, thread)


def _one_graph(work: DeviceWork) -> tuple[Operations, Calls]:
    """All operations as nodes of one graph, but for what was there before it."""
    call = np.where(work.ahead, NO_CALL, 0)
    calls = Calls(np.array([int(CallKind.GRAPH)]), np.zeros(1, dtype=np.int64))
    return replace(work.operations, call=call), calls


_WORK = {"device": _as_it_is, "launch": _launched, "graph": _one_graph, "own": _as_it_is}


def bound_model(name: str, work: DeviceWork) -> BoundModel:
    """The model of the bound called ``device``, ``launch``, ``graph`` or ``own``."""
    return BoundModel(Pipeline(*_WORK[name](work)), full=name == "device")
