"""Which host call each device operation came from, and what that tells: delays, queue depths.

A profiler gives a runtime or driver call and every operation it caused the same correlation id. An
id that several calls claim is no evidence: its operations stay without a call, and are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftax_micro.analysis.traces.events import LAUNCHING, NONE, Calls, Ints, Operations, Trace

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Correlation:
    """Per operation of a trace, in its order: the host call it came from.

    `call` is the index of the call, NONE where there is none. `first` marks the operation of each
    call that began first: one per call, however many nodes a graph has. `earlier` marks those that
    were launched before the trace began: ids ascend, and theirs are below those of every call in
    the trace. `findings` counts operations without a call, and why; launching calls without an
    operation; duplicate ids.
    """

    call: Ints
    first: Mask
    earlier: Mask
    findings: dict[str, int]

    @property
    def matched(self) -> Mask:
        """The operations that have a call."""
        return np.asarray(self.call != NONE)


def correlate(trace: Trace) -> Correlation:
    """Operations to calls by correlation id; sorts once, otherwise linear.

    Where one of the calls that share an id encloses all the others (a runtime call and the driver
    call inside it), it is the one: the host spent that time. Otherwise none is.
    """
    operations, calls = trace.operations, trace.calls
    ids, call_of, ambiguous = _owners(calls)
    call = _look_up(operations.correlation, ids, call_of)
    claimed = _look_up(operations.correlation, ids, np.where(ambiguous, 0, NONE)) != NONE
    matched = call != NONE
    used = np.zeros(len(calls), dtype=bool)
    used[call[matched]] = True
    launching = np.isin(calls.kind, LAUNCHING)
    has_id = operations.correlation != NONE
    earlier = has_id & (operations.correlation < ids[0]) if len(ids) else np.zeros_like(has_id)
    counts = {
        "operations without a call": int((~matched).sum()),
        "operations launched before the trace": int(earlier.sum()),
        "operations of a duplicate correlation id": int((claimed & ~matched).sum()),
        "duplicate correlation ids": int(ambiguous.sum()),
        "launching calls without an operation": int((launching & ~used).sum()),
    }
    return Correlation(call, _first_of_each(call), earlier, {k: n for k, n in counts.items() if n})


def _owners(calls: Calls) -> tuple[Ints, Ints, Mask]:
    """Each correlation id of the calls, its call (NONE if several claim it), whether several do."""
    index = np.flatnonzero(calls.correlation != NONE)
    # Calls are ordered by start; of those that begin together the longest encloses the others.
    order = np.lexsort((-calls.duration_ns[index], calls.start_ns[index], calls.correlation[index]))
    index = index[order]
    ids, begin, counts = np.unique(calls.correlation[index], return_index=True, return_counts=True)
    owner = index[begin]
    if len(ids) == len(index):
        return ids, owner, np.zeros(len(ids), dtype=bool)
    first = np.repeat(owner, counts)
    inside = (calls.end_ns[index] <= calls.end_ns[first]) & (
        calls.thread[index] == calls.thread[first]
    )
    ambiguous = ~np.logical_and.reduceat(inside, begin)
    return ids, np.where(ambiguous, NONE, owner), ambiguous


def _look_up(wanted: Ints, ids: Ints, values: NDArray[Any]) -> Ints:
    """The value of each id, NONE for ids that are not there."""
    if not len(ids):
        return np.full(len(wanted), NONE, dtype=np.int64)
    place = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    found = (ids[place] == wanted) & (wanted != NONE)
    return np.where(found, values[place], NONE).astype(np.int64)


def _first_of_each(call: Ints) -> Mask:
    """Marks the first appearance of each call; operations are ordered by start."""
    mask = np.zeros(len(call), dtype=bool)
    calls, where = np.unique(call, return_index=True)
    mask[where[calls != NONE]] = True
    return mask


def launch_delays_ns(trace: Trace, correlation: Correlation, which: Ints | None = None) -> Ints:
    """Start of an operation minus the end of its host call, for the operations `which`.

    Those must have a call; by default they are the `first` ones of each: later operations of a
    graph wait for each other. A negative delay means that the operation began before the call had
    returned, which a fast device may do, or that the clocks of host and device disagree: it is
    kept.
    """
    if which is None:
        which = np.flatnonzero(correlation.first)
    return trace.operations.start_ns[which] - trace.calls.ends_at(correlation.call[which])


def begun_before_call(trace: Trace, correlation: Correlation, which: Ints) -> Mask:
    """Whether an operation began before its host call did, which only clocks can cause."""
    begun = trace.calls.start_ns[correlation.call[which]]
    return np.asarray(trace.operations.start_ns[which] < begun)


class QueueDepths(NamedTuple):
    """For some calls, by index in ascending order, how many operations were before theirs."""

    call: Ints
    depth: Ints


def queue_depths(trace: Trace, correlation: Correlation) -> QueueDepths:
    """How full the stream was when a call began, for each call that has an operation.

    The stream is that of the call's first operation. Counted are operations of calls that began
    earlier and that are not over yet, the running one included: 0 means that the stream was idle
    and the device waits for this launch. Below 0: operations that were over before their own call
    began, so clocks disagree. (Holistic Trace Analysis counts until an operation begins.)
    """
    operations = trace.operations
    index = np.flatnonzero(correlation.matched | correlation.earlier)
    begun = np.full(len(operations), NONE, dtype=np.int64)  # earlier: before any call
    begun[correlation.matched] = trace.calls.start_ns[correlation.call[correlation.matched]]
    calls, depths = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for members in streams(operations, index):
        asking = members[correlation.first[members]]
        launched = np.searchsorted(np.sort(begun[members]), begun[asking], side="left")
        ends = np.sort(operations.end_ns[members])
        calls.append(correlation.call[asking])
        depths.append(launched - np.searchsorted(ends, begun[asking], side="right"))
    call = np.concatenate(calls)
    order = np.argsort(call)
    return QueueDepths(call[order], np.concatenate(depths)[order])


def streams(operations: Operations, index: Ints | None = None) -> list[Ints]:
    """Indices of operations, in order of start, for each stream of each device."""
    if index is None:
        index = np.arange(len(operations))
    if not len(index):
        return []
    device, stream = operations.device[index], operations.stream[index]
    order = np.lexsort((index, stream, device))
    device, stream = device[order], stream[order]
    border = np.flatnonzero((np.diff(device) != 0) | (np.diff(stream) != 0)) + 1
    return [np.asarray(each) for each in np.split(index[order], border)]


def overlapping(trace: Trace) -> Mask:
    """Per operation: whether it began before an earlier one of its stream was over.

    By more than the tick of the trace, which a rounded end may reach into the next start.
    Programmatic dependent launch does it, and so do damaged traces.
    """
    operations = trace.operations
    mask = np.zeros(len(operations), dtype=bool)
    tick = trace.tick_ns if trace.tick_ns > 1 else 0
    for members in streams(operations):
        latest_end = np.maximum.accumulate(operations.end_ns[members])
        mask[members[1:]] = operations.start_ns[members[1:]] < latest_end[:-1] - tick
    return mask
