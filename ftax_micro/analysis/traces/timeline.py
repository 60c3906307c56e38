"""When a device was busy, and why it was not: exact sums over any stretch of time.

Busy time and each cause of idleness are sets of disjoint intervals that together cover all time
without overlap, so their shares of a stretch add up to its length, to the nanosecond.

An idle interval ends when an operation begins, and its cause is what that operation waited for:

- *synchronising*: its launch call had not begun, and its host thread was in a call that blocks
  (`cudaStreamSynchronize`, a plain `cudaMemcpy`);
- *not launched*: its launch call had not begun, and its host thread was doing something else;
- *launching*: its launch call had begun and not returned;
- *waiting*: its launch call had returned, but it had not begun: launch latency, a dependency, or
  what lies between two operations of a queue;
- *other*: its launch call is not in the trace (one from before the trace counts as returned).

After the last operation nothing more was launched: *not launched* or, in a blocking call of the
thread that launched last, *synchronising*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ftax_micro.analysis.traces.correlation import Correlation, Mask
from ftax_micro.analysis.traces.events import NONE, Calls, Indices, Ints, Trace

CAUSES = ("synchronising", "not launched", "launching", "waiting", "other")


class Merged(NamedTuple):
    """Disjoint intervals in order, and for each the index of the first of those it was made of."""

    start: Ints
    end: Ints
    first: Ints


def merge(start: Ints, end: Ints) -> Merged:
    """The union of intervals; those that touch become one, empty ones vanish unless alone."""
    if not len(start):
        return Merged(start, end, np.empty(0, dtype=np.int64))
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.concatenate([[0], np.flatnonzero(start[1:] > reach[:-1]) + 1])
    last = np.concatenate([first[1:] - 1, [len(start) - 1]])
    return Merged(start[first], reach[last], order[first])


class Coverage:
    """How much of the time before t some disjoint intervals, given in order, cover."""

    def __init__(self, start: Ints, end: Ints) -> None:
        self._start, self._end = start, end
        self._before = np.concatenate([np.zeros(1, np.int64), np.cumsum(end - start)])

    def before(self, time: Ints) -> Ints:
        """Covered nanoseconds before each of `time`."""
        if not len(self._start):
            return np.zeros(len(time), dtype=np.int64)
        index = np.searchsorted(self._start, time, side="right")
        current = np.maximum(index - 1, 0)
        unfinished = np.maximum(self._end[current] - time, 0)
        return self._before[index] - np.where(index > 0, unfinished, 0)

    def between(self, begin: Ints, end: Ints) -> Ints:
        """Covered nanoseconds from `begin` to `end`, pairwise."""
        return self.before(end) - self.before(begin)


class Gaps(NamedTuple):
    """Idle intervals: [begin, called) no call, [called, returned) in the call, [returned, end)."""

    begin: Ints
    called: Ints
    returned: Ints
    end: Ints
    thread: Indices  # whose call ended it, NONE where that call is not in the trace
    known: Mask  # whether anything is known of that call


class Timeline:
    """Busy and idle time of one device, from time `low` to `high` at least, and its idle `gaps`."""

    def __init__(
        self, trace: Trace, correlation: Correlation, device: int | None, low: int, high: int
    ) -> None:
        operations = trace.operations
        index = np.flatnonzero(operations.device == device)
        merged = merge(operations.start_ns[index], operations.end_ns[index])
        self.busy = Coverage(merged.start, merged.end)
        self.intervals = merged.start
        self.gaps = gaps = _gaps(trace.calls, correlation, index, merged, (low, high))
        known = gaps.known
        self._blocked = _Blocked(trace.calls, gaps)
        self._not_launched = Coverage(gaps.begin[known], gaps.called[known])
        self._parts = {
            "launching": Coverage(gaps.called[known], gaps.returned[known]),
            "waiting": Coverage(gaps.returned[known], gaps.end[known]),
            "other": Coverage(gaps.begin[~known], gaps.end[~known]),
        }

    def idle(self, begin: Ints, end: Ints) -> dict[str, Ints]:
        """Idle nanoseconds from `begin` to `end`, pairwise, by each of the `CAUSES`."""
        blocked = self._blocked.before(end) - self._blocked.before(begin)
        parts = {
            "synchronising": blocked,
            "not launched": self._not_launched.between(begin, end) - blocked,
        }
        parts.update({name: part.between(begin, end) for name, part in self._parts.items()})
        return parts


def _gaps(
    calls: Calls, correlation: Correlation, index: Ints, merged: Merged, span: tuple[int, int]
) -> Gaps:
    """The idle intervals of a device within a span; `merged` was made of its operations `index`."""
    low = min(span[0], int(merged.start[0])) if len(index) else span[0]
    high = max(span[1], int(merged.end[-1])) if len(index) else span[1]
    begin = np.concatenate([[low], merged.end]).astype(np.int64)
    end = np.concatenate([merged.start, [high]]).astype(np.int64)
    ending = index[merged.first]
    owner = np.concatenate([correlation.call[ending], [NONE]])
    launched = owner != NONE
    called, returned = end.copy(), end.copy()
    called[launched] = calls.start_ns[owner[launched]]
    returned[launched] = calls.end_ns[owner[launched]]
    earlier = np.concatenate([correlation.earlier[ending], [False]])
    called[earlier] = returned[earlier] = low
    thread = np.full(len(owner), NONE, dtype=np.int32)
    thread[launched] = calls.thread[owner[launched]]
    # Behind the last operation: nothing launched, by whoever launched before.
    any_call = index[correlation.matched[index]]
    if len(any_call):
        thread[-1] = calls.thread[correlation.call[any_call[-1]]]
    known = launched | earlier
    known[-1] = len(any_call) > 0
    called = np.clip(called, begin, end)
    return Gaps(begin, called, np.clip(returned, called, end), end, thread, known)


class _Blocked:
    """Of the time before t in which nothing was launched: how much its thread was in a wait."""

    def __init__(self, calls: Calls, gaps: Gaps) -> None:
        self._gaps = gaps
        self._waits = {
            int(thread): _waits(calls, int(thread))
            for thread in np.unique(gaps.thread)
            if thread != NONE
        }
        each = self._inside(np.arange(len(gaps.begin)), gaps.called)
        self._before = np.concatenate([np.zeros(1, np.int64), np.cumsum(each)])

    def before(self, time: Ints) -> Ints:
        current = np.searchsorted(self._gaps.begin, time, side="right") - 1
        inside = np.maximum(current, 0)
        until = np.clip(time, self._gaps.begin[inside], self._gaps.called[inside])
        return np.where(current < 0, 0, self._before[inside] + self._inside(inside, until))

    def _inside(self, gap: Ints, until: Ints) -> Ints:
        """Time in waits from the begin of each of some gaps to a time within it."""
        found = np.zeros(len(gap), dtype=np.int64)
        for thread, waits in self._waits.items():
            mine = self._gaps.thread[gap] == thread
            found[mine] = waits.between(self._gaps.begin[gap[mine]], until[mine])
        return found


def _waits(calls: Calls, thread: int) -> Coverage:
    mine = (calls.thread == thread) & calls.blocks
    merged = merge(calls.start_ns[mine], calls.end_ns[mine])
    return Coverage(merged.start, merged.end)
