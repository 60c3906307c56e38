"""What a reader has to know of the bounds of a trace's steps, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ftax_micro.analysis.bounding.bounds import Bounds
from ftax_micro.analysis.traces.correlation import Correlation
from ftax_micro.analysis.traces.events import NS, SpanKind, Trace
from ftax_micro.analysis.traces.step_work import StepWork
from ftax_micro.analysis.traces.steps import Step
from ftax_micro.units import format_seconds

NO_WAIT = "nobody waited in it for the device's last operation: it is charged no wait"
STREAMS = (
    "several streams: what one waits for from another is not known, so that bounds are lower ones "
    "and the tax is at most that"
)
# Of what correlating found, what no step has in its own notes.
_ODD = ("duplicate correlation ids", "operations of a duplicate correlation id")
# Names of annotations that a reader is told.
_SOME = 4
# Of the bounds' own names, what a reader calls those that may be missing.
_MISSING = {"launch": "launch bound", "graph": "graph bound", "own": "tax"}


def work_notes(work: StepWork, bounds: Bounds, step: Step) -> list[str]:
    """What its bounds take for granted, and which of them are missing."""
    notes = []
    if bounds.device:
        missing: dict[str, list[str]] = {}
        for name, word in _MISSING.items():
            if name in bounds.reasons:
                missing.setdefault(bounds.reasons[name], []).append(f"no {word}")
        notes += [f"{' and '.join(words)}: {reason}" for reason, words in missing.items()]
    if not work.waited:
        notes.append(NO_WAIT)
    if work.ahead:
        notes.append(
            "left to its streams by other steps, and in its bounds: "
            f"{format_seconds(work.ahead_s)} of {work.ahead:,} operations"
        )
    if work.streams > 1:
        notes.append(STREAMS)
    graphs = step.operations.get("graph", 0)
    if graphs:
        notes.append(
            "graphs recorded whole, not by node, each of them one operation in all bounds: "
            f"{graphs:,}"
        )
    if work.threads > 1:
        notes.append(f"{work.threads} threads launched its work, side by side in its bounds")
    if step.overlapping:
        notes.append(
            "operations that overlap what is before them in their stream, and wait for their calls "
            f"alone in every bound: {step.overlapping:,} of {len(step.index):,}"
        )
    return notes


def counted_notes(step: Step) -> list[str]:
    """Delays and queues of its launches, and what is odd about its operations and calls."""
    notes = []
    if step.occupied is not None and step.occupied.value:
        notes.append(
            f"the device worked {format_seconds(step.occupied.value)} of it for other steps alone"
        )
    delays, depths = step.launch_delays_s, step.queue_depths
    if len(delays):
        told = f"launch delay: median {format_seconds(float(np.median(delays)))}"
        told += f", most {format_seconds(float(delays.max()))}"
        if step.negative_launch_delays:
            told += f", {step.negative_launch_delays:,} of {len(delays):,} below 0"
        if step.begun_before_call:
            told += f", {step.begun_before_call:,} begun before the call: clocks disagree"
        notes.append(told)
    if len(depths):
        middle, most = np.median(depths), depths.max()
        notes.append(f"queued when a launch began: median {middle:g}, most {most:,}")
    if step.without_call:
        notes.append(
            f"operations without a call in the trace, which wait for what is before them alone: "
            f"{step.without_call:,} of {len(step.index):,}"
        )
    if step.launches_without_operation:
        notes.append(
            f"launches without an operation in the trace: {step.launches_without_operation:,}"
        )
    return notes


def common_notes(found: Sequence[Sequence[str]]) -> list[str]:
    """Notes that all of several steps have."""
    if len(found) < 2:
        return []
    first, *others = found
    everywhere = set(first).intersection(*others)
    return [note for note in first if note in everywhere]


def trace_notes(trace: Trace, steps: Sequence[Step]) -> list[str]:
    """What holds for the whole trace."""
    notes = []
    if any(each.window.everything for each in steps):
        user = trace.spans.name[trace.spans.kind == SpanKind.ANNOTATION]
        names = [repr(trace.names[each]) for each in dict.fromkeys(user.tolist())]
        some = f", which are {', '.join(names[:_SOME])}" if names else ""
        more = f" and {len(names) - _SOME} more" if len(names) > _SOME else ""
        notes.append(
            "the whole trace was taken for one step, with what comes before and after the model: "
            f"--annotation cuts it at the annotations of a name{some}{more}"
        )
    devices = trace.device_ids
    if len(devices) > 1:
        notes.append(
            f"{len(devices)} devices: each has bounds of its own work; what the host does for "
            "another one is in the latency and launches nothing of it"
        )
    if trace.tick_ns > 1 and steps:
        notes.append(
            f"times of the trace are whole steps of {format_seconds(trace.tick_ns * NS)}: "
            "intervals have one of these either way"
        )
    return notes


def odd_notes(trace: Trace, correlation: Correlation) -> list[str]:
    """What of the file is in no figure, or not as it should be."""
    counts = {
        **trace.findings,
        **{f"of category {name!r}": number for name, number in trace.not_understood.items()},
        **{name: correlation.findings[name] for name in _ODD if name in correlation.findings},
    }
    told = ", ".join(f"{name}: {number:,}" for name, number in counts.items())
    return [f"events left out, or odd: {told}"] if told else []
