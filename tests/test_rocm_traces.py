"""PyTorch profiler traces of AMD's GPUs: the same pipeline, in the names that ROCm's tracers give.

The names and arguments are those of public traces of ROCm 6.2 to 7 on MI210, MI250 and MI300X.
"""

from __future__ import annotations

from typing import Any

import pytest
from profiler_traces import Event, annotation, call, complete, kernel, trace_text

from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.events import (
    CallKind,
    OperationKind,
    Trace,
    call_blocks,
    call_kind,
)
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.traces.steps import analyse_steps, profiler_steps


def hip(ts: float, dur: float, correlation: int, name: str, **args: Any) -> Event:
    """A call; those of ROCm up to 6.2 give the address of their stream."""
    event = call(ts, dur, correlation, name=name)
    return {**event, "args": {**event["args"], **args}}


def read(*events: Event) -> Trace:
    return read_pytorch_trace(trace_text(events))


@pytest.mark.parametrize(
    ("name", "kind", "blocks"),
    [
        ("hipLaunchKernel", CallKind.LAUNCH, False),
        ("hipExtLaunchKernel", CallKind.LAUNCH, False),
        ("hipExtModuleLaunchKernel", CallKind.LAUNCH, False),
        ("hipHccModuleLaunchKernel", CallKind.LAUNCH, False),
        ("hipModuleLaunchKernel", CallKind.LAUNCH, False),
        ("hipModuleLaunchCooperativeKernel", CallKind.LAUNCH, False),
        ("hipLaunchCooperativeKernel", CallKind.LAUNCH, False),
        ("hipExtLaunchMultiKernelMultiDevice", CallKind.LAUNCH, False),
        ("hipLaunchKernelExC", CallKind.LAUNCH, False),
        ("hipDrvLaunchKernelEx", CallKind.LAUNCH, False),
        ("hipGraphLaunch", CallKind.GRAPH_LAUNCH, False),
        ("hipGraphInstantiateWithFlags", CallKind.OTHER, False),
        ("hipGraphAddMemcpyNode1D", CallKind.OTHER, False),
        ("hipGraphGetNodes", CallKind.OTHER, False),
        ("hipMemcpy", CallKind.COPY, True),
        ("hipMemcpyWithStream", CallKind.COPY, True),
        ("hipMemcpyDtoH", CallKind.COPY, True),
        ("hipMemcpyAsync", CallKind.COPY, False),
        ("hipMemcpyHtoDAsync", CallKind.COPY, False),
        ("hipMemcpyPeerAsync", CallKind.COPY, False),
        ("hipMemsetAsync", CallKind.SET, False),
        ("hipMemsetD32Async", CallKind.SET, False),
        ("hipDeviceSynchronize", CallKind.SYNCHRONISE, True),
        ("hipStreamSynchronize", CallKind.SYNCHRONISE, True),
        ("hipEventSynchronize", CallKind.SYNCHRONISE, True),
        ("hipCtxSynchronize", CallKind.SYNCHRONISE, True),
        ("hipLaunchHostFunc", CallKind.OTHER, False),
        ("hipGetDevicePropertiesR0600", CallKind.OTHER, False),
        ("hipStreamGetDevice", CallKind.OTHER, False),
        ("hipStreamIsCapturing", CallKind.OTHER, False),
        ("hipPointerGetAttribute", CallKind.OTHER, False),
        ("hipStreamWaitEvent", CallKind.OTHER, False),
        ("__hipPushCallConfiguration", CallKind.OTHER, False),
    ],
)
def test_calls_of_hip_by_what_they_ask_for(name: str, kind: CallKind, blocks: bool) -> None:
    assert (call_kind(name), call_blocks(name)) == (kind, blocks)


def test_a_step_on_an_amd_gpu_has_the_figures_of_any_other() -> None:
    stream: Any = {"stream": "0x55674ecd4180"}
    trace = read(
        annotation("ProfilerStep#1", 0, 200),
        complete("gpu_user_annotation", "ProfilerStep#1", 30, 150),
        complete("cpu_instant_event", "Record Window End", 1, 0),
        hip(10, 9, 117, "hipMemcpyWithStream", cid=153, size="2560", kind="1", **stream),
        kernel(12, 4, 117, name="Memcpy HtoD (Host -> Device)", cat="gpu_memcpy", stream=0),
        hip(20, 5, 118, "hipLaunchKernel", kernel="gemm", **stream),
        kernel(30, 40, 118, name="Cijk_Alik_Bljk_SB", stream=0),
        hip(26, 1, 119, "hipGetDevicePropertiesR0600", cid=370),
        hip(28, 4, 120, "hipExtModuleLaunchKernel", **{**stream, "stream": "0x0"}),
        kernel(70, 20, 120, stream=0),
        hip(35, 4, 121, "hipGraphLaunch"),
        kernel(95, 10, 121, stream=0),
        kernel(105, 10, 121, stream=0),
        hip(50, 90, 122, "hipDeviceSynchronize"),
    )
    assert trace.not_understood == trace.findings == {}
    assert trace.not_needed == {"gpu_user_annotation": 1, "cpu_instant_event": 1}
    assert correlate(trace).findings == {}
    (step,) = analyse_steps(trace, profiler_steps(trace))
    assert step.launches == {"launch": 2, "graph launch": 1, "copy": 1}
    assert step.operations == {"kernel": 4, "copy": 1}
    assert step.busy is not None
    assert step.busy.value == pytest.approx(84e-6)


def test_streams_and_devices_are_numbers_even_where_a_call_has_an_address() -> None:
    trace = read(
        hip(1, 1, 1, "hipLaunchKernel", stream="0x7f3a50000c00"),
        kernel(2, 1, 1, stream=3, device=2),
        kernel(3, 1, 2, stream="0x7f3a50000c00", device=2),  # type: ignore[arg-type]
    )
    assert trace.operations.device.tolist() == [2, 2]
    assert trace.operations.stream.tolist() == [3, -1]


def test_copies_and_sets_that_older_tracers_call_kernels_are_told_by_name() -> None:
    names = ("CopyDeviceToHost", "CopyHostToDevice", "CopyDeviceToDevice", "FillBuffer", "FillK")
    trace = read(*(kernel(i, 1, name=name) for i, name in enumerate(names)))
    assert trace.operations.kind.tolist() == [
        *[OperationKind.COPY] * 3,
        OperationKind.SET,
        OperationKind.KERNEL,
    ]
