"""Other tools' indices of recorded cases and of the steps of traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.indices import (
    Indices,
    Launched,
    average_kernel_duration,
    gpu_idle_time,
    hdbi_of,
    idle_waits,
    indices_of,
    tklqt,
    why_no_hdbi,
)
from ftax_micro.analysis.summary import summarise
from ftax_micro.analysis.traces.correlation import Correlation, correlate
from ftax_micro.analysis.traces.events import NONE, NS, Ints, OperationKind, Trace
from ftax_micro.analysis.traces.steps import Step, Window, analyse_steps
from ftax_micro.records import Case
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

ON_CPU = "nothing is launched on the cpu"
NO_DEVICE = "the trace has no device activity"
_NULL_LAUNCH = "begin_to_begin"


@dataclass(frozen=True)
class IndexRow:
    """The indices of one case (medians over traced forwards) or of one step on one device.

    Without any, `reason` says why. `mode` is None of a step.
    """

    case: str
    mode: str | None
    indices: Indices | None = None
    reason: str | None = None


def indices_of_cases(cases: Sequence[Case], floor: Result, confidence: float) -> list[IndexRow]:
    """One for every timed case that is no twin; HDBI by the null kernel's launch in `floor`."""
    timed = [each for each in cases if each.status == "ok" and not each.twin]
    null = {name: null_launch(floor, name) for name in {case.device for case in timed}}
    found = []
    for case in timed:
        head = (case_label(case), case.mode)
        if case.device == "cpu":
            found.append(IndexRow(*head, reason=ON_CPU))
        elif case.device_pass is None:
            untraced = case.reasons.get("device_pass", "the device was not traced")
            found.append(IndexRow(*head, reason=untraced))
        else:
            indices = indices_of(case.device_pass, null[case.device], confidence)
            reason = dict(indices.reasons).get("indices")
            found.append(IndexRow(*head, None if reason else indices, reason))
    return found


def indices_of_trace(
    trace: Trace, windows: Sequence[Window], null_launch_s: float | None = None
) -> list[IndexRow]:
    """One for every window of the trace on every device."""
    correlation = correlate(trace)
    return [
        _of_step(trace, correlation, step, null_launch_s)
        for step in analyse_steps(trace, windows, correlation)
    ]


def null_launch(floor: Result, device: str) -> float | None:
    """Seconds from the begin of the null kernel's launch to its own, under a tracer; the least of
    the interfaces it was launched by. None where it was not measured.
    """
    rows = [row for row in floor.measurements if row.device == device and row.name == _NULL_LAUNCH]
    values = [row.value for row in summarise(rows, floor.plan) if row.value is not None]
    return min(values, default=None)


def launched_of(
    trace: Trace, correlation: Correlation, index: Ints, origin_ns: int = 0
) -> Launched:
    """The operations `index` of a trace as launches, in seconds after `origin_ns`."""
    operations, calls = trace.operations, trace.calls
    call = correlation.call[index]
    known = call != NONE
    begin, end = (np.full(len(index), np.nan) for _ in range(2))
    begin[known] = (calls.start_ns[call[known]] - origin_ns) * NS
    end[known] = (calls.end_ns[call[known]] - origin_ns) * NS
    return Launched.of(
        begin,
        end,
        (operations.start_ns[index] - origin_ns) * NS,
        (operations.end_ns[index] - origin_ns) * NS,
        stream=operations.stream[index],
        kernel=operations.kind[index] == OperationKind.KERNEL,
    )


def _of_step(
    trace: Trace, correlation: Correlation, step: Step, null_launch_s: float | None
) -> IndexRow:
    if step.device is None:
        return IndexRow(step.window.label, None, reason=NO_DEVICE)
    label = f"{step.window.label} cuda:{step.device}"
    if not len(step.index):
        return IndexRow(label, None, reason="no operation belongs to it")
    launched = launched_of(trace, correlation, step.index, step.window.begin_ns)
    calls = correlation.call[step.index][launched.kernel].tolist()
    why = why_no_hdbi([None if each == NONE else each for each in calls], null_launch_s)
    found, waits = tklqt(launched), idle_waits(launched)
    indices = Indices(
        tklqt=_plain(found.total_s if found.kernels else None),
        average_kernel=_plain(average_kernel_duration(launched)),
        gpu_idle=_plain(gpu_idle_time(launched, step.latency.value)),
        hdbi=None if why else _plain(hdbi_of(launched, null_launch_s or 0.0)),
        host_wait=_plain(waits.host_wait_s),
        kernel_wait=_plain(waits.kernel_wait_s),
        other_wait=_plain(waits.other_wait_s),
        negative_launches=found.negative,
        without_launch=found.without_launch,
        reasons=(("hdbi", why),) if why else (),
    )
    return IndexRow(label, None, indices)


def _plain(value: float | None) -> Estimate | None:
    """A figure of one step: it has no samples."""
    return None if value is None else Estimate(value, None, None)
