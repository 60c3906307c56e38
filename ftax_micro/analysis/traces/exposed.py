"""When a device waited for its host, and for which thread."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ftax_micro.analysis.traces.events import NONE, Calls, Ints
from ftax_micro.analysis.traces.intervals import meetings
from ftax_micro.analysis.traces.timeline import Gaps, Timeline, merge


class Waits(NamedTuple):
    """Disjoint stretches in order, [begin, end), in which the device waited for one thread."""

    begin: Ints
    end: Ints


def exposed_waits(calls: Calls, timeline: Timeline) -> dict[int, Waits]:
    """For each thread the idle time of a device until its call returned that ended it.

    That is the idle time that `timeline` calls *not launched* and *launching*, exactly: without
    what the thread spent in calls that wait for the device before it launched.
    """
    gaps = timeline.gaps
    return {
        int(thread): _of_thread(calls, gaps, int(thread))
        for thread in np.unique(gaps.thread)
        if thread != NONE
    }


def _of_thread(calls: Calls, gaps: Gaps, thread: int) -> Waits:
    mine = gaps.known & (gaps.thread == thread)
    begin, called, returned = gaps.begin[mine], gaps.called[mine], gaps.returned[mine]
    waits = (calls.thread == thread) & calls.blocks
    blocked = merge(calls.start_ns[waits], calls.end_ns[waits])
    # From the end of each wait to the begin of the next, and before the first and after the last.
    far = int(max(gaps.end[-1], blocked.end[-1] if len(blocked.end) else 0)) + 1
    awake_begin = np.concatenate([[-1], blocked.end])
    awake_end = np.concatenate([blocked.start, [far]])
    before = meetings(begin, called, awake_begin, awake_end)
    begin, end = np.concatenate([before.begin, called]), np.concatenate([before.end, returned])
    some = end > begin
    order = np.argsort(begin[some], kind="stable")
    return Waits(begin[some][order], end[some][order])
