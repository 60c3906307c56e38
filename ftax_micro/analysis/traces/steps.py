"""What happened in each step of a trace: latency, busy and idle time, launches, delays.

A window is a stretch of host time: a step of the PyTorch profiler, a user's annotation, or the
whole trace. To it belong the operations whose host call began in it, on any thread of its process;
operations without a call if they began in it, unless they were launched before the trace did. So a
step's work is its own even where the device is behind the host and does it during the next step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ftax_micro.analysis.traces.correlation import (
    Correlation,
    QueueDepths,
    begun_before_call,
    correlate,
    launch_delays_ns,
    overlapping,
    queue_depths,
)
from ftax_micro.analysis.traces.events import (
    LAUNCHING,
    NONE,
    NS,
    CallKind,
    Ints,
    Kinds,
    OperationKind,
    Trace,
)
from ftax_micro.analysis.traces.processes import Processes
from ftax_micro.analysis.traces.timeline import CAUSES, Timeline, merge
from ftax_micro.analysis.traces.windows import Window, annotated, profiler_steps, whole
from ftax_micro.stats import Array, Estimate

__all__ = [  # what a step is cut by among it
    "Step",
    "Window",
    "analyse_steps",
    "annotated",
    "profiler_steps",
    "whole",
    "within_ticks",
]


@dataclass(frozen=True, eq=False)
class Step:
    """The figures of one window on one device.

    Where no device did anything in the whole trace, `device` and all its times are None.

    All estimates are in seconds; their intervals carry the resolution of the trace's times alone.

    - `host`: the window itself.
    - `latency`: from the window's begin until it is over and all its operations are done.
    - `busy`: time within the latency in which at least one of its operations ran, on any stream.
    - `occupied`: time within the latency in which only operations of other windows ran.
    - `idle`: the rest, and `idle_by_cause` its parts, by the `CAUSES` that `timeline` defines.
      busy + occupied + idle = latency, exactly.
    - `launches`: calls that caused its operations, by kind; `operations` those operations, by kind.
    - `launch_delays_s`: of the first operation of each call, in order of start: start minus the
      end of the call. Negative ones are kept, and counted in `negative_launch_delays`;
      `begun_before_call` counts those that began even before the call did.
    - `queue_depths`: per such call, what was still to be done on its stream when it began.
    - `without_call`, `overlapping`: operations whose call is not in the trace; that began before
      an earlier one of their stream was over.
    - `launches_without_operation`: launching calls in the window that no device shows anything of.
    - `index`: its operations in the trace's columns, in order of start.
    """

    window: Window
    device: int | None
    host: Estimate
    latency: Estimate
    busy: Estimate | None
    occupied: Estimate | None
    idle: Estimate | None
    idle_by_cause: dict[str, Estimate]
    launches: dict[str, int]
    operations: dict[str, int]
    launch_delays_s: Array
    negative_launch_delays: int
    begun_before_call: int
    queue_depths: Ints
    without_call: int
    overlapping: int
    launches_without_operation: int
    index: Ints

    @property
    def launch_limited_s(self) -> float | None:
        """Idle time in which the host had not launched what came next, or was launching it."""
        if self.device is None:
            return None
        return self.idle_by_cause["not launched"].value + self.idle_by_cause["launching"].value


def analyse_steps(
    trace: Trace, windows: Sequence[Window], correlation: Correlation | None = None
) -> list[Step]:
    """Figures of each window on each device that did something in the trace, window by window.

    Those of one process of several: on devices that it used. Windows may overlap; each has its own
    figures. Linear in the events and in the operations of all windows, sorting aside.
    """
    if not windows:
        return []
    analysis = _Analysis(trace, correlation or correlate(trace), windows)
    devices: list[int | None] = [*trace.device_ids] or [None]
    per_device = [analysis.steps(device) for device in devices]
    use = analysis.processes.use
    every = (step for steps in zip(*per_device, strict=True) for step in steps)
    return [step for step in every if use(step.window.process, step.device)]


class _Analysis:
    """What all windows share."""

    def __init__(self, trace: Trace, correlation: Correlation, windows: Sequence[Window]) -> None:
        self.trace, self.correlation, self.windows = trace, correlation, windows
        self.depths: QueueDepths = queue_depths(trace, correlation)
        self.overlaps = overlapping(trace)
        used = np.zeros(len(trace.calls), dtype=bool)
        used[correlation.call[correlation.matched]] = True
        self.processes = Processes(trace, correlation)
        unused, starts = np.isin(trace.calls.kind, LAUNCHING) & ~used, trace.calls.start_ns
        names = {each.process for each in windows}
        # In order, as all calls are.
        self.unused_start = {n: starts[unused & self.processes.calls(n)] for n in names}

    def steps(self, device: int | None) -> list[Step]:
        """The figures of every window on one device."""
        owned = self._owned(device)
        ends = self.trace.operations.end_ns
        begin = np.array([each.begin_ns for each in self.windows])
        until = np.array(
            [
                max(each.end_ns, int(ends[own].max()) if len(own) else each.end_ns)
                for each, own in zip(self.windows, owned, strict=True)
            ]
        )
        low, high = int(begin.min()), int(until.max())
        timeline = Timeline(self.trace, self.correlation, device, low, high)
        busy = timeline.busy.between(begin, until)
        idle = timeline.idle(begin, until)
        edges = np.searchsorted(timeline.intervals, until) - np.searchsorted(
            timeline.intervals, begin
        )
        return [
            self._step(
                window,
                device,
                own,
                _Times(
                    until_ns=int(until[i]),
                    device_busy_ns=int(busy[i]),
                    idle_ns={cause: int(idle[cause][i]) for cause in CAUSES},
                    intervals=int(edges[i]) + 1,
                ),
            )
            for i, (window, own) in enumerate(zip(self.windows, owned, strict=True))
        ]

    def _owned(self, device: int | None) -> list[Ints]:
        """Per window the operations on `device` that belong to it, in order of start."""
        operations, call = self.trace.operations, self.correlation.call
        everything = np.flatnonzero(operations.device == device)
        index = everything[~self.correlation.earlier[everything]]
        asked = operations.start_ns[index]
        known = call[index] != NONE
        asked[known] = self.trace.calls.start_ns[call[index[known]]]
        order = np.argsort(asked, kind="stable")
        index, asked = index[order], asked[order]
        own = self.processes.own
        low = np.searchsorted(asked, [each.begin_ns for each in self.windows], side="left")
        high = np.searchsorted(asked, [each.end_ns for each in self.windows], side="left")
        return [
            everything if window.everything else own(window.process, np.sort(index[a:b]))
            for window, a, b in zip(self.windows, low, high, strict=True)
        ]

    def _step(self, window: Window, device: int | None, own: Ints, times: _Times) -> Step:
        correlation = self.correlation
        first = own[correlation.first[own]]
        calls = np.unique(correlation.call[first])
        delays = launch_delays_ns(self.trace, correlation, first)
        span = [window.begin_ns, window.end_ns]
        low, high = np.searchsorted(self.unused_start[window.process], span).tolist()
        tick = self.trace.tick_ns
        return Step(
            window=window,
            device=device,
            host=within_ticks(window.end_ns - window.begin_ns, 1, tick),
            latency=within_ticks(times.until_ns - window.begin_ns, 1, tick),
            **self._device_times(window, device, own, times),
            launches=_counts(self.trace.calls.kind[calls], CallKind),
            operations=_counts(self.trace.operations.kind[own], OperationKind),
            launch_delays_s=delays * np.float64(NS),
            negative_launch_delays=int((delays < 0).sum()),
            begun_before_call=int(begun_before_call(self.trace, correlation, first).sum()),
            queue_depths=self.depths.depth[np.searchsorted(self.depths.call, calls)],
            without_call=int((correlation.call[own] == NONE).sum()),
            overlapping=int(self.overlaps[own].sum()),
            launches_without_operation=high - low,
            index=own,
        )

    def _device_times(
        self, window: Window, device: int | None, own: Ints, times: _Times
    ) -> dict[str, Any]:
        """Busy, occupied and idle time, and the causes of idleness."""
        if device is None:
            return {"busy": None, "occupied": None, "idle": None, "idle_by_cause": {}}
        operations, tick = self.trace.operations, self.trace.tick_ns
        start = np.maximum(operations.start_ns[own], window.begin_ns)
        merged = merge(start, np.maximum(operations.ends_at(own), start))
        busy = int((merged.end - merged.start).sum())

        def several(value_ns: int) -> Estimate:
            return within_ticks(value_ns, times.intervals, tick)

        return {
            "busy": within_ticks(busy, len(merged.start), tick),
            "occupied": several(times.device_busy_ns - busy),
            "idle": several(sum(times.idle_ns.values())),
            "idle_by_cause": {cause: several(part) for cause, part in times.idle_ns.items()},
        }


class _Times(NamedTuple):
    """Of one window on one device: its end, and the device's time until then."""

    until_ns: int
    device_busy_ns: int
    idle_ns: dict[str, int]
    intervals: int


def within_ticks(value_ns: int, intervals: int, tick_ns: int) -> Estimate:
    """Seconds, with the interval that cutting both ends of some intervals to whole ticks leaves.

    One interval is known to ± 1 tick. The errors of several, each the difference of two uniform
    ones, add up like independent ones: ± 1.96 · √(n / 6) ticks at 95 %, where that is more.
    """
    half = tick_ns * max(1.0, 1.96 * math.sqrt(intervals / 6)) if intervals else 0.0
    return Estimate(value_ns * NS, (value_ns - half) * NS, (value_ns + half) * NS)


def _counts(kinds: Kinds, names: type[CallKind] | type[OperationKind]) -> dict[str, int]:
    """How many there are of each kind, in words, without those there are none of."""
    numbers = np.bincount(kinds, minlength=len(names)) if len(kinds) else np.zeros(len(names), int)
    return {
        kind.name.lower().replace("_", " "): int(numbers[kind]) for kind in names if numbers[kind]
    }
