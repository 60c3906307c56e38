"""The steps of a trace, and the schedules of their bounds, as timelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ftax_micro.analysis.trace_rows import window_names
from ftax_micro.analysis.traces.correlation import Correlation, correlate, launch_delays_ns
from ftax_micro.analysis.traces.events import NS, OperationKind, Trace
from ftax_micro.analysis.traces.machine_floor import machine_floors
from ftax_micro.analysis.traces.processes import Processes
from ftax_micro.analysis.traces.step_bounds import StepBounds, trace_bounds
from ftax_micro.analysis.traces.step_work import StepWork, StepWorks
from ftax_micro.analysis.traces.steps import Step, analyse_steps
from ftax_micro.analysis.traces.windows import Window
from ftax_micro.analysis.tracks.contract import (
    NONE,
    Fact,
    Facts,
    Ints,
    Layer,
    Planned,
    Stretches,
    Timeline,
)
from ftax_micro.analysis.tracks.layers import HOST, about_bounds, bound_layers, timeline
from ftax_micro.results import Result


def step_names(trace: Trace, windows: Sequence[Window]) -> dict[tuple[Window, int], str]:
    """What the timeline of each window on each device would be called."""
    names = window_names(windows)
    return {
        (window, device): f"{names[window]} cuda:{device}"
        for window in windows
        for device in trace.device_ids
    }


def planned(
    trace: Trace, names: dict[tuple[Window, int], str], floor: Result | None
) -> list[Planned]:
    """A timeline for each of some named steps in which the device did anything, by the floor of a
    measured machine, or by the trace's own.
    """
    windows = list(dict.fromkeys(window for window, _ in names))
    floors = None if floor is None else machine_floors(trace, floor)
    steps = _Steps(trace)
    return [
        Planned(name, partial(steps.timeline, each))
        for each in trace_bounds(trace, windows, floors).steps
        if each.step.device is not None and len(each.step.index)
        for name in [names.get((each.step.window, each.step.device))]
        if name is not None
    ]


def measured_layers(trace: Trace, window: Window) -> list[tuple[Step, Layer]]:
    """What was measured in a window, on each device that did anything in it."""
    found = _Steps(trace)
    every = analyse_steps(trace, [window], found.correlation)
    return [(each, found.measured(each)) for each in every if len(each.index)]


class _Steps:
    """What the timelines of one trace share."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.correlation: Correlation = correlate(trace)
        self._works = StepWorks(trace, self.correlation)
        self._processes = Processes(trace, self.correlation)

    def timeline(self, found: StepBounds, name: str) -> Timeline:
        """Of one step."""
        work = self._works.of(found.step)
        measured = replace(self.measured(found.step, work), facts=_about(found, work))
        floor = found.floor.point() if found.bounds is not None and found.floor else None
        layers = bound_layers(work.work, found.bounds, floor, measured)
        return timeline(name, measured, np.flatnonzero(work.work.ahead), layers)

    def measured(self, step: Step, work: StepWork | None = None) -> Layer:
        """What was traced of one step; `work` is its own, where it is known already."""
        work = self._works.of(step) if work is None else work
        calls = np.union1d(work.calls, self._waits(step.window))
        return Layer(
            name="measured",
            measured=True,
            end_ns=round(step.latency.value / NS),
            calls=self._calls(step, calls),
            operations=self._operations(step, work),
            call=_places(work, calls),
        )

    def _waits(self, window: Window) -> Ints:
        """Calls of the window that wait for the device."""
        calls = self._trace.calls
        inside = (calls.start_ns >= window.begin_ns) & (calls.start_ns < window.end_ns)
        mine = calls.blocks & (inside | window.everything) & self._processes.calls(window.process)
        return np.flatnonzero(mine)

    def _calls(self, step: Step, which: Ints) -> Stretches:
        calls, threads = self._trace.calls, self._trace.threads
        row = calls.thread[which].astype(np.int64)
        names = {each: f"{HOST}, thread {threads[each].thread}" for each in np.unique(row).tolist()}
        if len(names) == 1:
            names = dict.fromkeys(names, HOST)
        start = calls.start_ns[which] - step.window.begin_ns
        end = _cut(start, start + calls.duration_ns[which], row, self._trace.tick_ns)
        return Stretches(
            name=[self._trace.names[each] for each in calls.name[which]],
            kind=["call"] * len(which),
            row=row,
            rows=names,
            start_ns=start,
            end_ns=end,
            facts=[
                {} if each == NONE else {"correlation": each}
                for each in calls.correlation[which].tolist()
            ],
        )

    def _operations(self, step: Step, work: StepWork) -> Stretches:
        operations, index = self._trace.operations, work.index
        stream, begin = operations.stream[index], step.window.begin_ns
        early = work.work.ahead
        start = operations.start_ns[index] - begin
        end = start + operations.duration_ns[index]
        start = np.where(early, np.maximum(start, 0), start)
        return Stretches(
            name=[self._trace.names[each] for each in operations.name[index]],
            kind=[OperationKind(each).name.lower() for each in operations.kind[index]],
            row=stream,
            rows={each: f"cuda:{step.device} stream {each}" for each in np.unique(stream).tolist()},
            start_ns=start,
            end_ns=_cut(start, end, stream, self._trace.tick_ns),
            facts=self._of_operations(index, early.tolist()),
        )

    def _of_operations(self, index: Ints, early: Sequence[bool]) -> list[Facts]:
        operations, first = self._trace.operations, self.correlation.first[index]
        delays = dict(
            zip(
                np.flatnonzero(first).tolist(),
                launch_delays_ns(self._trace, self.correlation, index[first]).tolist(),
                strict=True,
            )
        )
        made: list[Facts] = []
        columns = (operations.stream[index].tolist(), operations.correlation[index].tolist())
        for place, (stream, correlation) in enumerate(zip(*columns, strict=True)):
            facts: dict[str, Fact] = {"stream": stream}
            if correlation != NONE:
                facts["correlation"] = correlation
            if early[place]:
                facts["launched"] = "by an earlier step"
            elif place in delays:
                facts["launch_delay_s"] = delays[place] * NS
            made.append(facts)
        return made


def _places(work: StepWork, calls: Ints) -> Ints:
    """Per operation the place of its call among `calls`."""
    call = work.work.operations.call
    moved = np.append(np.searchsorted(calls, work.calls), NONE)  # of `NONE` the last
    return np.asarray(moved[call], dtype=np.int64)


def _cut(start: Ints, end: Ints, group: Ints, tick_ns: int) -> Ints:
    """Ends, of what is in order of its start. Where the clock of whole ticks lets an end reach into
    the next start of its group by no more than one, it is that start.
    """
    if tick_ns <= 1:
        return end
    end = end.copy()
    for each in np.unique(group):
        place = np.flatnonzero(group == each)
        before, after = place[:-1], start[place[1:]]
        over = end[before] - after
        reaches = (over > 0) & (over <= tick_ns)
        end[before[reaches]] = after[reaches]
    return end


def _about(found: StepBounds, work: StepWork) -> Facts:
    step = found.step
    facts: dict[str, Fact] = {
        "times": "as traced",
        "host_calls": work.work.calls.count,
        "operations": len(step.index),
        "latency_s": step.latency.value,
        "device": f"cuda:{step.device}",
    }
    if step.busy is not None and step.idle is not None:
        facts |= {"busy_s": step.busy.value, "idle_s": step.idle.value}
        facts |= {f"idle: {cause}_s": part.value for cause, part in step.idle_by_cause.items()}
    if work.ahead:
        facts["operations_of_earlier_steps"] = work.ahead
    return {**facts, **about_bounds(found)}
