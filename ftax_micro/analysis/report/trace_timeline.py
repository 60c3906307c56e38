"""One step of a trace on host and device: calls above, the operations they caused below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ftax_micro.analysis.report.figure import Axis, Figure, Series, slug
from ftax_micro.analysis.report.material import Materials, TraceMaterial
from ftax_micro.analysis.sheet import Unit
from ftax_micro.analysis.traces.correlation import Correlation, correlate
from ftax_micro.analysis.traces.events import NONE, NS, Columns, Ints, OperationKind, Trace
from ftax_micro.analysis.traces.steps import Step, analyse_steps
from ftax_micro.units import format_seconds

HOST = "host calls"
KINDS = {
    OperationKind.KERNEL: "kernels",
    OperationKind.COPY: "copies",
    OperationKind.SET: "sets",
}
# More spans than this are no longer told apart, and weigh the page down.
MOST_OPERATIONS = 1500


def trace_timelines(found: Materials, material: TraceMaterial) -> list[Figure]:
    """The middle step on each device; of a longer one its first operations."""
    windows = material.windows
    if not windows:
        return []
    trace = material.trace
    correlation = correlate(trace)
    steps = analyse_steps(trace, [windows[len(windows) // 2]], correlation)
    return [_figure(found, material, step, correlation) for step in steps if len(step.index) > 0]


def _figure(
    found: Materials, material: TraceMaterial, step: Step, correlation: Correlation
) -> Figure:
    trace = material.trace
    index = np.asarray(step.index)[:MOST_OPERATIONS]
    of = "all" if len(index) == len(step.index) else f"the first {len(index)} of {len(step.index)}"
    streams = [int(each) for each in np.unique(trace.operations.stream[index])]
    lanes = (HOST, *(f"cuda:{step.device}, stream {stream}" for stream in streams))
    callers = correlation.call[index]
    calls = np.unique(callers[callers != NONE])
    spans = [_series(trace, HOST, trace.calls, calls, np.zeros_like(calls), step)]
    places = 1 + np.searchsorted(streams, trace.operations.stream[index])
    for kind, name in KINDS.items():
        mask = trace.operations.kind[index] == kind
        spans.append(_series(trace, name, trace.operations, index[mask], places[mask], step))
    label = step.window.label
    summary = (
        f"{len(calls)} host calls and {of} device operations of {label}, which takes "
        f"{format_seconds(step.latency.value)}."
    )
    return Figure(
        slug("timeline", material.name, label, step.device),
        found.title(material, f"{label} on cuda:{step.device}: {of} operations"),
        "timeline",
        Axis("time", Unit.SECONDS),
        Axis("lane", Unit.TEXT, names=lanes),
        tuple(each for each in spans if each.x),
        summary,
        links=tuple(_links(trace, index, callers, places, step)),
    )


def _series(
    trace: Trace, name: str, events: Columns, which: Ints, places: Ints, step: Step
) -> Series:
    starts = (events.start_ns[which] - step.window.begin_ns) * NS
    return Series(
        name=name,
        x=tuple(map(float, events.duration_ns[which] * NS)),
        y=tuple(map(float, places)),
        start=tuple(map(float, starts)),
        labels=tuple(trace.names[number] for number in events.name[which]),
        colour=name,
    )


def _links(
    trace: Trace, index: Ints, callers: Ints, places: Ints, step: Step
) -> Sequence[tuple[float, float, float, float]]:
    begin = step.window.begin_ns
    return [
        (
            *(float(trace.calls.start_ns[caller] - begin) * NS, 0.0),
            *(float(trace.operations.start_ns[each] - begin) * NS, float(place)),
        )
        for each, caller, place in zip(index, callers, places, strict=True)
        if caller != NONE
    ]
