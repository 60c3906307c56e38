"""Which op each moment of a host thread belongs to, and what kind of time it is.

Of an op's time, what is in calls of the runtime is told by the call, the rest is its own code
(dispatch) or, where the trace has Python stacks, that of Python frames. Frames in no op count for
the op that their thread begins next, since that is what they lead to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ftax_micro.analysis.traces.events import LAUNCHING, NONE, Ints, SpanKind, Trace
from ftax_micro.analysis.traces.nesting import Nesting, Segments, look_up

HOST_PARTS = ("dispatch", "python", "launch", "other call", "blocked")
_DISPATCH, _PYTHON, _LAUNCH, _OTHER_CALL, _BLOCKED = range(len(HOST_PARTS))


class Owned(NamedTuple):
    """A thread's segments, each with the innermost node, the op node it belongs to (NONE: no op),
    and its part of the host's time, an index into `HOST_PARTS`, NONE where nothing was recorded.
    """

    begin: Ints
    end: Ints
    node: Ints
    op: Ints
    part: Ints


def owned_time(trace: Trace, nesting: Nesting) -> dict[int, Owned]:
    """The time of each thread, by op and part; covers what `Nesting.segments` does."""
    part = _parts(trace, nesting)
    is_op = nesting.op == np.arange(len(nesting.op))
    start = np.where(nesting.span == NONE, NONE, look_up(trace.spans.start_ns, nesting.span))
    thread = _threads(trace, nesting)
    ops = np.flatnonzero(is_op)
    found = {}
    for number, segments in nesting.segments.items():
        mine = ops[np.searchsorted(thread[ops], number) : np.searchsorted(thread[ops], number + 1)]
        found[number] = _owned(segments, nesting, part, mine, start[mine])
    return found


def _owned(segments: Segments, nesting: Nesting, part: Ints, ops: Ints, starts: Ints) -> Owned:
    op, kind = look_up(nesting.op, segments.node), look_up(part, segments.node)
    leading = np.flatnonzero((op == NONE) & (kind == _PYTHON))
    coming = np.searchsorted(starts, segments.begin[leading], side="left")
    op[leading] = np.concatenate([ops, [NONE]])[coming]
    return Owned(*segments, op, kind)


def _parts(trace: Trace, nesting: Nesting) -> Ints:
    """The part of the host's time that is each node's own."""
    calls = np.where(trace.calls.blocks, _BLOCKED, _OTHER_CALL)
    calls[np.isin(trace.calls.kind, LAUNCHING)] = _LAUNCH
    framed = look_up(trace.spans.kind.astype(np.int64), look_up(nesting.span, nesting.frame))
    spans = np.where(framed == SpanKind.PYTHON, _PYTHON, _DISPATCH)
    return np.where(nesting.call == NONE, spans, look_up(calls.astype(np.int64), nesting.call))


def _threads(trace: Trace, nesting: Nesting) -> Ints:
    """The thread of each node, which ascends."""
    spans = look_up(trace.spans.thread.astype(np.int64), nesting.span)
    calls = look_up(trace.calls.thread.astype(np.int64), nesting.call)
    return np.where(nesting.span == NONE, calls, spans)
