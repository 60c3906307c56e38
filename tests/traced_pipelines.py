"""Pipelines of known begins, durations and floors as a profiler would have traced them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from profiler_traces import Event, annotation, call, kernel, trace_text
from synthetic_pipelines import FLOOR, given_floor, work_of

from ftax_micro.analysis.bounding.bounds import Bounds, cuda_bounds
from ftax_micro.analysis.bounding.pipeline import (
    NO_CALL,
    Array,
    CallKind,
    Calls,
    Floor,
    Operations,
    run_pipeline,
)
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace

US = 1e-6
SYNC = "cudaStreamSynchronize"
_CALLS = {
    CallKind.LAUNCH: ("cudaLaunchKernel", "kernel", "gemm"),
    CallKind.COPY: ("cudaMemcpyAsync", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"),
    CallKind.SET: ("cudaMemsetAsync", "gpu_memset", "Memset (Device)"),
    CallKind.GRAPH: ("cudaGraphLaunch", "kernel", "node"),
}


def exact_us(seconds: float) -> float:
    """Microseconds with the three decimals of a file."""
    return round(seconds / US, 3)


def whole_us(seconds: float) -> int:
    """Microseconds as older profilers cut them."""
    return int(np.floor(seconds / US + 1e-6))


def traced(
    ops: Operations,
    asked: Calls,
    begin_s: ArrayLike,
    floor: Floor = FLOOR,
    *,
    at_us: float = 0.0,
    number: int = 1,
    device: int = 0,
    whole: bool = False,
    waits: bool = True,
) -> tuple[list[Event], float]:
    """The events of one step from `at_us` on, and its latency in seconds. Of steps in one trace,
    each has a `number`; `waits`: its host waits for the device, and knows of the end `sync` later.
    """
    told = whole_us if whole else exact_us
    begins = np.asarray(begin_s, dtype=float)
    timeline = run_pipeline(ops, asked, begins, floor)
    first = number * 10_000

    def stretch(begin_s: float, end_s: float) -> tuple[float, float]:
        """Begin and duration as a file has them, each end on the clock's tick."""
        begin, end = (told(at_us * US + each) for each in (begin_s, end_s))
        return begin, round(end - begin, 3)

    events = []
    for place, begin in enumerate(begins):
        kind = CallKind(int(asked.kind[place]))
        took = float(np.asarray(floor.submit[kind]))
        one = stretch(begin, begin + took)
        thread = 10 + int(asked.thread[place])
        events.append(call(*one, first + place, name=_CALLS[kind][0], tid=thread))
    for place in range(ops.count):
        owner = int(ops.call[place])
        kind = CallKind.LAUNCH if owner == NO_CALL else CallKind(int(asked.kind[owner]))
        _, cat, name = _CALLS[kind]
        one = stretch(timeline.start_s[place], timeline.end_s[place])
        number_of = None if owner == NO_CALL else first + owner
        stream = 7 + int(ops.stream[place])
        events.append(kernel(*one, number_of, name=name, cat=cat, stream=stream, device=device))
    end = float(timeline.end_s.max())
    latency = end + (float(np.asarray(floor.sync)) if waits else 0.0)
    begin = max([0.0, *begins])
    if waits:
        events.append(call(*stretch(begin, latency), first + len(begins), name=SYNC))
    until = latency if waits else begin + US
    events.append(annotation(f"ProfilerStep#{number}", *stretch(0.0, until)))
    return events, latency


def read(*events: Sequence[Event]) -> Trace:
    """The trace of some lists of events."""
    return read_pytorch_trace(trace_text([each for some in events for each in some]), "trace.json")


def bounds_in_truth(
    ops: Operations, asked: Calls, begins: Array, latency: float, floor: Floor = FLOOR
) -> Bounds:
    """The bounds of the pipeline itself, without a trace between; its operations in the order of
    their starts, which is all that a trace knows of the order in a graph.
    """
    order = np.argsort(
        np.rint(run_pipeline(ops, asked, begins, floor).start_s * 1e9), kind="stable"
    )
    ordered = Operations(
        ops.duration_s[order], ops.call[order], ops.stream[order], ops.chained[order]
    )
    work = work_of(ordered, asked)
    return cuda_bounds(work, [latency], given_floor(floor))
