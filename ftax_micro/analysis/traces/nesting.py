"""What a host thread was doing at each moment: the latest begun of all that was running.

Spans (ops, annotations, Python frames) and runtime calls of a thread lie inside each other. Each
moment belongs to the innermost of them, so that the self times of a thread add up to the time in
which anything was recorded of it, to the nanosecond.

What crosses instead of lying inside each other (annotations that are ended out of order, times cut
to whole ticks) changes nothing of that: the latest begun of those that still run is innermost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ftax_micro.analysis.traces.correlation import Mask
from ftax_micro.analysis.traces.events import NONE, Ints, SpanKind, Trace

# Which of several with the same begin and end is the outer one, by kind of span; calls are inmost.
_OUTER_FIRST = np.zeros(len(SpanKind), dtype=np.int64)
_OUTER_FIRST[[SpanKind.STEP, SpanKind.ANNOTATION, SpanKind.PYTHON, SpanKind.OP]] = range(4)
_CALL = 4


class Segments(NamedTuple):
    """A thread's time without holes, in order: [begin, end) and its node, NONE: nothing ran."""

    begin: Ints
    end: Ints
    node: Ints


@dataclass(frozen=True, eq=False)
class Nesting:
    """Nodes are spans and calls, numbered by thread and in it by begin, the outer one first.

    `span` and `call` are the places of each node in the trace's columns, NONE where it is the
    other; `of_span` and `of_call` lead back. `parent` is the node each began in, `op` the nearest
    op at or above it, `frame` the nearest op or Python frame, `annotation` the nearest annotation
    that is no step; NONE where there is none. `segments`
    cover each thread that has a node from 0 to just after the trace's end. `crossing` counts nodes
    that outlast the one they began in.
    """

    span: Ints
    call: Ints
    of_span: Ints
    of_call: Ints
    parent: Ints
    op: Ints
    frame: Ints
    annotation: Ints
    segments: dict[int, Segments]
    crossing: int

    def op_of_call(self, call: Ints) -> Ints:
        """The op that made each call; NONE outside any op, and for NONE."""
        return np.where(call == NONE, NONE, look_up(self.op, look_up(self.of_call, call)))

    def common_op(self, one: Ints, other: Ints) -> Ints:
        """Of pairs of nodes, the nearest op that both are in; NONE where there is none."""
        one, other = look_up(self.op, one), look_up(self.op, other)
        while (apart := (one != other) & (one != NONE) & (other != NONE)).any():
            # The later one cannot hold the earlier one: it is the one to leave.
            leaves = apart & (one > other), apart & (one < other)
            one, other = (
                np.where(leave, look_up(self.op, look_up(self.parent, node)), node)
                for leave, node in zip(leaves, (one, other), strict=True)
            )
        return np.where(one == other, one, NONE)


def look_up(values: Ints, index: Ints) -> Ints:
    """``values[index]``, and NONE for NONE."""
    if not len(values):
        return np.full(len(index), NONE, dtype=np.int64)
    return np.where(index == NONE, NONE, values[index])


def nest(trace: Trace) -> Nesting:
    """Who is inside whom. Sorts once; otherwise n · log(depth), but for threads in which something
    crosses: those are walked, event by event.
    """
    nodes = _Nodes(trace)
    edges = _edges(nodes)
    parent = _parents(edges, len(nodes.start))
    inside = parent != NONE
    crossing = np.zeros(len(parent), dtype=bool)
    crossing[inside] = nodes.end[inside] > nodes.end[parent[inside]]
    owner = np.where(edges.begins, edges.node, parent[edges.node])
    for thread in np.unique(nodes.thread[crossing]).tolist():
        _walk(edges, edges.thread == thread, parent, owner)
    is_op, is_frame = nodes.kind == SpanKind.OP, nodes.kind == SpanKind.PYTHON
    return Nesting(
        span=nodes.span,
        call=nodes.call,
        of_span=nodes.place[: len(trace.spans)],
        of_call=nodes.place[len(trace.spans) :],
        parent=parent,
        op=_nearest(parent, is_op),
        frame=_nearest(parent, is_op | is_frame),
        annotation=_nearest(parent, nodes.kind == SpanKind.ANNOTATION),
        segments=_segments(edges, owner, trace.end_ns + 1),
        crossing=int(crossing.sum()),
    )


class _Nodes:
    """Spans and calls in the order of the nodes."""

    def __init__(self, trace: Trace) -> None:
        spans, calls = trace.spans, trace.calls
        thread = np.concatenate([spans.thread, calls.thread]).astype(np.int64)
        start = np.concatenate([spans.start_ns, calls.start_ns])
        end = np.concatenate([spans.end_ns, calls.end_ns])
        kind = np.concatenate([spans.kind, np.full(len(calls), NONE)]).astype(np.int64)
        outer = np.concatenate([_OUTER_FIRST[spans.kind], np.full(len(calls), _CALL)])
        order = np.lexsort((outer, -end, start, thread))
        self.thread, self.start, self.end = thread[order], start[order], end[order]
        self.kind = kind[order]
        self.span = np.where(order < len(spans), order, NONE)
        self.call = np.where(order < len(spans), NONE, order - len(spans))
        self.place = np.empty(len(order), dtype=np.int64)
        self.place[order] = np.arange(len(order))


class _Edges(NamedTuple):
    """Begins and ends of all nodes, by thread and time; what ended goes before what begins."""

    thread: Ints
    time: Ints
    node: Ints
    begins: Mask


def _edges(nodes: _Nodes) -> _Edges:
    number = np.arange(len(nodes.start))
    empty = nodes.start == nodes.end
    # An empty node ends right behind its own begin; others begin outer first, end inner first.
    rank = np.concatenate([2 * number, np.where(empty, 2 * number + 1, -number - 1)])
    time = np.concatenate([nodes.start, nodes.end])
    thread = np.concatenate([nodes.thread, nodes.thread])
    order = np.lexsort((rank, time, thread))
    node = np.concatenate([number, number])[order]
    return _Edges(thread[order], time[order], node, order < len(number))


def _parents(edges: _Edges, count: int) -> Ints:
    """The latest node before each that is one level up, which is right where nothing crosses."""
    depth = np.cumsum(np.where(edges.begins, 1, -1))[edges.begins]  # of nodes, in their order
    key = depth * (count + 1) + np.arange(count)
    by_depth = np.argsort(key, kind="stable")
    above = np.searchsorted(key[by_depth], key - (count + 1)) - 1
    return np.where(depth > 1, by_depth[above], NONE) if count else np.empty(0, dtype=np.int64)


def _walk(edges: _Edges, which: Mask, parent: Ints, owner: Ints) -> None:
    """Parents and owners of one thread, filled in; linear in its events."""
    places = np.flatnonzero(which)
    nodes, begins = edges.node[places].tolist(), edges.begins[places].tolist()
    running: list[int] = []
    over: set[int] = set()
    found: list[int] = []
    for node, begin in zip(nodes, begins, strict=True):
        if begin:
            parent[node] = running[-1] if running else NONE
            running.append(node)
        else:
            over.add(node)
            while running and running[-1] in over:
                running.pop()
        found.append(running[-1] if running else NONE)
    owner[places] = found


def _nearest(parent: Ints, wanted: Mask) -> Ints:
    """The nearest wanted node at or above each; every round looks twice as far up."""
    up = np.where(wanted | (parent == NONE), np.arange(len(parent)), parent)
    while not np.array_equal(further := up[up], up):
        up = further
    return np.where(wanted[up], up, NONE)


def _segments(edges: _Edges, owner: Ints, end: int) -> dict[int, Segments]:
    """From each edge of a thread to the next, and what is before the first and after the last."""
    border = np.flatnonzero(np.diff(edges.thread)) + 1
    found = {}
    for places in np.split(np.arange(len(edges.thread)), border):
        if not len(places):
            continue
        begin = np.concatenate([[0], edges.time[places]])
        until = np.concatenate([edges.time[places], [end]])
        node = np.concatenate([[NONE], owner[places]])
        some = until > begin
        found[int(edges.thread[places[0]])] = Segments(begin[some], until[some], node[some])
    return found
