"""The sums behind `per_operation`: one place for each op on each device, exact in nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ftax_micro.analysis.traces.correlation import Correlation, launch_delays_ns
from ftax_micro.analysis.traces.events import NONE, Ints, OperationKind, SpanKind, Trace
from ftax_micro.analysis.traces.exposed import exposed_waits
from ftax_micro.analysis.traces.host_time import HOST_PARTS, Owned, owned_time
from ftax_micro.analysis.traces.intervals import meetings, pairs
from ftax_micro.analysis.traces.libraries import library_of
from ftax_micro.analysis.traces.nesting import look_up, nest
from ftax_micro.analysis.traces.steps import Step
from ftax_micro.analysis.traces.timeline import Timeline
from ftax_micro.analysis.traces.windows import Window

HostParts = NDArray[np.int64]
# More names than this are numbers of something, and no answer to who spent the time.
_MOST_ANNOTATIONS = 200


class OperationSums:
    """Arrays over places, ``device index × rows + row``.

    Rows are the ops by name, then the annotations that have time in no op (`names` has both, and
    the ops are `ops`), then `outside` any of them, `unrecorded` and `without_call`.
    `devices` are those of the steps, and None behind several, for threads that launch nothing.
    `host_ns` is (`HOST_PARTS`, places); `delay_ns` the median launch delay where there is a launch,
    `libraries` those whose kernels ran.
    """

    def __init__(self, trace: Trace, steps: Sequence[Step], correlation: Correlation) -> None:
        self.nesting = nest(trace)
        self._trace, self._correlation = trace, correlation
        self._row = self._rows_of_nodes()
        self.devices: list[int | None] = sorted({each.device for each in steps}, key=_number)
        self._next = _NextLaunch(trace, correlation, self.devices)
        # The steps of a window on all its devices follow each other.
        windows = [each.window for each in steps]
        self.windows = [w for i, w in enumerate(windows) if not i or w is not windows[i - 1]]
        if len(self.devices) > 1:
            self.devices.append(None)
        self._owned = owned_time(trace, self.nesting)
        self._count_calls()
        self._add_host_time()
        self._add_device_work(steps)
        self._add_exposed(steps)

    def _rows_of_nodes(self) -> Ints:
        """The row of each node."""
        spans, nesting = self._trace.spans, self.nesting
        ops, annotations = (
            np.unique(spans.name[spans.kind == kind]).astype(np.int64)
            for kind in (SpanKind.OP, SpanKind.ANNOTATION)
        )
        if len(annotations) > _MOST_ANNOTATIONS:
            annotations = annotations[:0]
        self.names = [self._trace.names[each] for each in [*ops.tolist(), *annotations.tolist()]]
        self.ops, number = len(ops), len(self.names)
        self.outside, self.unrecorded, self.without_call = range(number, number + 3)
        self.rows = number + 3
        row = np.full(len(nesting.op), self.outside)
        if len(annotations):
            name = look_up(spans.name.astype(np.int64), look_up(nesting.span, nesting.annotation))
            noted = self.ops + np.searchsorted(annotations, name)
            row = np.where(nesting.annotation == NONE, row, noted)
        name = look_up(spans.name.astype(np.int64), look_up(nesting.span, nesting.op))
        return np.where(nesting.op == NONE, row, np.searchsorted(ops, name))

    def used(self) -> list[int]:
        """The places of which there is anything to say."""
        counts = self.calls + self.launches + self.operations
        times = self.host_ns.sum(axis=0) + self.device_ns + self.exposed_ns
        return [int(each) for each in np.flatnonzero(counts + times)]

    def _sum(self, place: Ints, values: Ints | None = None) -> HostParts:
        # Sums of nanoseconds stay exact in a double for 104 days.
        size = max(1, len(self.devices)) * self.rows
        return np.bincount(place, weights=values, minlength=size).astype(np.int64)

    def _extents(self, windows: Sequence[Window]) -> tuple[Ints, Ints]:
        return (
            np.array([each.begin_ns for each in windows], dtype=np.int64),
            np.array([each.end_ns + each.everything for each in windows], dtype=np.int64),
        )

    def _count_calls(self) -> None:
        """Ops that begin in a window, of its process."""
        spans, windows = self._trace.spans, self.windows
        which, index = pairs(*(np.searchsorted(spans.start_ns, t) for t in self._extents(windows)))
        names = [each.process for each in self._trace.threads]
        wanted = np.array([_place(names, each.process) for each in windows], dtype=np.int64)[which]
        process = np.array([_place(names, each) for each in names])[spans.thread[index]]
        index = index[(wanted == NONE) | (wanted == process)]
        row = look_up(self._row, self.nesting.of_span[index])
        # Annotations in an op, and all that has no row of its own, is nothing to count.
        noted = (spans.kind[index] == SpanKind.ANNOTATION) & (row >= self.ops)
        counts = (spans.kind[index] == SpanKind.OP) | (noted & (row < self.outside))
        index, row = index[counts], row[counts]
        device = self._next.device(spans.thread[index], spans.start_ns[index])
        self.calls = self._sum(device * self.rows + row)

    def _add_host_time(self) -> None:
        """What of each thread's segments lies in a window."""
        self.host_ns = np.stack([self._sum(np.empty(0, dtype=np.int64))] * len(HOST_PARTS))
        for thread, owned in self._owned.items():
            process = self._trace.threads[thread].process
            windows = [each for each in self.windows if each.process in (None, process)]
            met = meetings(*self._extents(windows), owned.begin, owned.end)
            part = owned.part[met.other]
            place = self._place(thread, owned, met.other)
            for number in range(len(HOST_PARTS)):
                mine = part == number
                self.host_ns[number] += self._sum(place[mine], met.length[mine])

    def _place(self, thread: int, owned: Owned, segment: Ints, device: int | None = None) -> Ints:
        """The place that some segments count for; `device`: the index of the one that waited."""
        op, node = owned.op[segment], owned.node[segment]
        row = look_up(self._row, np.where(op == NONE, node, op))
        row = np.where((op == NONE) & (node == NONE), self.unrecorded, row)
        if device is not None:
            return device * self.rows + row
        start = look_up(self._trace.spans.start_ns, look_up(self.nesting.span, op))
        moment = np.where(op == NONE, owned.begin[segment], start)
        return self._next.device(np.full(len(op), thread), moment) * self.rows + row

    def _add_device_work(self, steps: Sequence[Step]) -> None:
        """Operations of the steps, by the op that launched them."""
        operations, call = self._trace.operations, self._correlation.call
        index = np.concatenate([np.empty(0, np.int64), *(each.index for each in steps)])
        device = np.repeat(
            [self.devices.index(each.device) for each in steps], [len(each.index) for each in steps]
        ).astype(np.int64)
        row = look_up(self._row, look_up(self.nesting.of_call, call[index]))
        place = device * self.rows + np.where(call[index] == NONE, self.without_call, row)
        took = operations.duration_ns[index]
        kernel = operations.kind[index] == OperationKind.KERNEL
        self.operations, self.device_ns = self._sum(place), self._sum(place, took)
        self.kernel_ns = self._sum(place[kernel], took[kernel])
        self._add_libraries(place[kernel], operations.name[index[kernel]], took[kernel])
        first = self._correlation.first[index]
        self._add_delays(place[first], index[first])

    def _add_libraries(self, place: Ints, name: NDArray[np.int32], took: Ints) -> None:
        names, which = np.unique(name, return_inverse=True)
        of = [library_of(self._trace.names[each]) for each in names.tolist()]
        mediated = np.array([each is not None for each in of], dtype=bool)[which]
        self.library_ns = self._sum(place[mediated], took[mediated])
        self.libraries: dict[int, set[str]] = {}
        used = np.unique(np.stack([place[mediated], which[mediated]], axis=1), axis=0)
        for where, number in used.tolist():
            self.libraries.setdefault(where, set()).add(of[number] or "")

    def _add_delays(self, place: Ints, index: Ints) -> None:
        delay = launch_delays_ns(self._trace, self._correlation, index)
        self.launches = self._sum(place)
        self.negative_delays = self._sum(place[delay < 0])
        order = np.lexsort((delay, place))
        places, begin, count = np.unique(place[order], return_index=True, return_counts=True)
        delay = delay[order]
        middle = (delay[begin + (count - 1) // 2] + delay[begin + count // 2]) / 2
        self.delay_ns = dict(zip(places.tolist(), middle.tolist(), strict=True))

    def _add_exposed(self, steps: Sequence[Step]) -> None:
        """What each thread did while a device waited for it, within the steps' latencies."""
        self.exposed_ns = self._sum(np.empty(0, dtype=np.int64))
        for number, device in enumerate(self.devices):
            mine = [each for each in steps if each.device == device]
            if device is None or not mine:
                continue
            begin = np.array([each.window.begin_ns for each in mine])
            until = np.array([self._until(each) for each in mine])
            span = int(begin.min()), int(until.max())
            timeline = Timeline(self._trace, self._correlation, device, *span)
            for thread, waits in exposed_waits(self._trace.calls, timeline).items():
                inside = meetings(begin, until, *waits)
                owned = self._owned[thread]
                met = meetings(inside.begin, inside.end, owned.begin, owned.end)
                place = self._place(thread, owned, met.other, number)
                self.exposed_ns += self._sum(place, met.length)

    def _until(self, step: Step) -> int:
        """When a step is over and all its operations are done."""
        ends = self._trace.operations.ends_at(step.index)
        return max(step.window.end_ns, int(ends.max()) if len(ends) else step.window.end_ns)


def _place(names: Sequence[str], name: str | None) -> int:
    return NONE if name is None else names.index(name)


def _number(device: int | None) -> int:
    return NONE if device is None else device


class _NextLaunch:
    """Which of several devices a thread launches to next."""

    def __init__(
        self, trace: Trace, correlation: Correlation, devices: Sequence[int | None]
    ) -> None:
        self._none = len(devices) if len(devices) > 1 else 0
        self._threads: dict[int, tuple[Ints, Ints]] = {}
        if len(devices) < 2:
            return
        first = np.flatnonzero(correlation.first)
        call = correlation.call[first]
        order = np.argsort(call)  # calls are in order of start
        first, call = first[order], call[order]
        asked = trace.operations.device[first]
        number = np.searchsorted(np.array(devices), asked)
        known = np.isin(asked, np.array(devices))
        call, number = call[known], number[known]
        for thread in np.unique(trace.calls.thread[call]).tolist():
            mine = trace.calls.thread[call] == thread
            self._threads[thread] = trace.calls.start_ns[call[mine]], number[mine]

    def device(self, thread: NDArray[np.int32] | Ints, time: Ints) -> Ints:
        """Its index, of the last launch where none follows; that of None without any."""
        found = np.full(len(time), self._none, dtype=np.int64)
        for number, (start, device) in self._threads.items():
            mine = thread == number
            coming = np.searchsorted(start, time[mine], side="left")
            found[mine] = device[np.minimum(coming, len(start) - 1)]
        return found
