"""Nsight Systems exports become the columns that the same pipeline's PyTorch trace becomes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nsight_exports import (
    DOMAIN,
    GENERATIONS,
    MARK,
    PROCESS,
    START_END,
    START_NS,
    Export,
    export_of,
    global_id,
    graph,
    nvtx,
)
from profiler_traces import Event, annotation, call, kernel, launched, trace_text

from ftax_micro.analysis.traces import sqlite_file
from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.events import CallKind, OperationKind, SpanKind, Thread, Trace
from ftax_micro.analysis.traces.nsight import read_nsight_export
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.traces.steps import Step, analyse_steps, annotated, profiler_steps, whole
from ftax_micro.errors import UnreadableTraceError

HTOD: Any = {"name": "Memcpy HtoD (Pinned -> Device)", "copyKind": 1, "srcKind": 1, "dstKind": 2}
PIPELINE = [
    annotation("ProfilerStep#1", 100, 100),
    annotation("ProfilerStep#2", 200, 120),
    annotation("forward", 205, 40),
    call(102, 3, 1, name="cudaMemcpyAsync"),
    kernel(108, 6.125, 1, cat="gpu_memcpy", stream=13, bytes=64, **HTOD),
    *launched(2, 110, 4, 118.5, 20),
    *launched(3, 116, 4, 140, 30, name="softmax"),
    *launched(4, 117, 4, 150, 30, stream=13, tid=11),
    call(125, 60, 5, name="cudaDeviceSynchronize"),
    call(210, 3, 6, name="cudaMemsetAsync"),
    kernel(230, 2, 6, name="Memset (Device)", cat="gpu_memset", memKind=2),
    call(220, 5, 7, name="cudaGraphLaunch"),
    *[kernel(240 + 10 * i, 9, 7, name=f"node{i}", graphNodeId=i + 1) for i in range(3)],
    *launched(8, 300, 4, 299, 5),  # clocks disagree
    *launched(9, 306, 4, 330, 40, device=1),
    kernel(315, 1, 77),  # launched by nobody
]


def figures(step: Step) -> dict[str, Any]:
    values = {each.name: getattr(step, each.name) for each in dataclasses.fields(step)}
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def names(trace: Trace, columns: Any) -> list[str]:
    return [trace.names[each] for each in columns.name]


def read(tmp_path: Path, *events: Event, generation: str = "2024") -> Trace:
    return read_nsight_export(export_of(events, tmp_path / "a.sqlite", generation))


@pytest.mark.parametrize("generation", GENERATIONS)
def test_one_pipeline_has_the_same_figures_in_either_format(
    generation: str, tmp_path: Path
) -> None:
    ours = read_nsight_export(export_of(PIPELINE, tmp_path / "a.sqlite", generation))
    theirs = read_pytorch_trace(trace_text(PIPELINE))
    assert (ours.tick_ns, ours.end_ns, ours.device_ids) == (1, theirs.end_ns, [0, 1])
    for cut in (profiler_steps, whole, lambda trace: annotated(trace, "forward")):
        pairs = zip(analyse_steps(ours, cut(ours)), analyse_steps(theirs, cut(theirs)), strict=True)
        assert all(figures(one) == figures(other) for one, other in pairs)
    assert correlate(ours).findings == correlate(theirs).findings
    assert ours.findings == ours.not_understood == ours.not_needed == {}


def test_names_threads_and_kinds_are_those_of_a_pytorch_trace(tmp_path: Path) -> None:
    ours, theirs = read(tmp_path, *PIPELINE), read_pytorch_trace(trace_text(PIPELINE))
    for one, other in ((ours.operations, theirs.operations), (ours.calls, theirs.calls)):
        assert names(ours, one) == names(theirs, other)
        assert one.kind.tolist() == other.kind.tolist()
        assert one.correlation.tolist() == other.correlation.tolist()
    assert ours.operations.stream.tolist() == theirs.operations.stream.tolist()
    assert ours.calls.blocks.tolist() == theirs.calls.blocks.tolist()
    assert {ours.threads[each] for each in ours.calls.thread} == {
        Thread(str(PROCESS), "10"),
        Thread(str(PROCESS), "11"),
    }
    assert ours.origin_ns == START_NS + 100_000


def test_graphs_recorded_whole_are_operations_of_their_own_kind(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        *(call(10, 5, 1, name="cudaGraphLaunch"), graph(20, 50, 1)),
        *(call(80, 5, 2, name="cudaGraphLaunch"), graph(90, 60, 2)),
        *(kernel(90, 20, 2, name="node", graphNodeId=3), kernel(120, 30, 2, graphNodeId=4)),
        graph(100, 5, 3, device=2**31 - 1),
    )
    (step,) = analyse_steps(trace, whole(trace))
    assert step.operations == {"graph": 1, "kernel": 2}
    assert step.launches == {"graph launch": 2}
    assert step.busy is not None
    assert step.busy.value == pytest.approx(100e-6)
    assert names(trace, trace.operations)[0] == "CUDA graph 5"
    assert trace.not_needed == {"graph of known nodes": 1}
    assert trace.findings == {
        "graphs recorded whole (what lies between their nodes counts as busy)": 1,
        "graphs that begin on the host": 1,
    }


def test_ranges_of_nvtx_are_annotations_steps_and_ops(tmp_path: Path) -> None:
    export = Export()
    export.add_events(
        [
            nvtx("ProfilerStep#7", 10, 100),
            nvtx("aten::mm, seq = 3, op_id = 9, sizes = [[2, 3]]", 12, 5),
            nvtx("loading", 14, 30, event=START_END, endGlobalTid=global_id(thread=12)),
            nvtx("", 20, 5, textId=export.string("registered")),
            nvtx("NCCL", 1, None, event=DOMAIN, domainId=4),
            nvtx("allReduce", 22, 5, domainId=4),
            nvtx("", 24, 1),
            nvtx("here", 25, None, event=MARK),
            nvtx("unfinished", 26, None),
            nvtx("from the future", 27, 1, event=1234),
            call(30, 1, 1),
        ]
    )
    del export.rows["StringIds"][1]  # the text of the call
    trace = read_nsight_export(export.write(tmp_path / "a.sqlite"))
    spans = dict(zip(names(trace, trace.spans), trace.spans.kind.tolist(), strict=True))
    assert spans == {
        "ProfilerStep#7": SpanKind.STEP,
        "aten::mm": SpanKind.OP,
        "loading": SpanKind.ANNOTATION,
        "registered": SpanKind.ANNOTATION,
        "NCCL:allReduce": SpanKind.ANNOTATION,
        "range without a text": SpanKind.ANNOTATION,
    }
    assert trace.not_needed == {"NVTX mark or name": 2}
    assert trace.findings == {"NVTX ranges without an end": 1}
    assert trace.not_understood == {"NVTX event of type 1234": 1}
    assert names(trace, trace.calls) == ["name 2"]  # its text is not in the table


def test_processes_keep_their_correlations_streams_and_devices_apart(tmp_path: Path) -> None:
    export = Export()
    for process, begin, first in ((5, 0, 7), (6, 1000, 7000)):
        events = [kernel(begin, 5, first - 1), *launched(first, begin + 1, 4, begin + 10, 20)]
        for each in (*events, *launched(first + 2, begin + 50, 4, begin + 60, 20)):
            export.add_events([{**each, "args": {**each["args"], "process": process}}])
        export.add("TARGET_INFO_CUDA_DEVICE", gpuId=process - 3, cudaId=0, pid=process)
        export.add("TARGET_INFO_GPU", vmId=1, id=process - 3, name=f"GPU {process}", cuDevice=9)
    trace = read_nsight_export(export.write(tmp_path / "a.sqlite"))
    found = correlate(trace)
    assert found.call.tolist() == [-1, 0, 1, -1, 2, 3]
    assert found.earlier.tolist() == [True, False, False, True, False, False]
    assert trace.operations.device.tolist() == [2, 2, 2, 3, 3, 3]
    assert trace.devices == {2: "GPU 5", 3: "GPU 6"}
    assert [trace.threads[each].process for each in trace.calls.thread] == ["5", "5", "6", "6"]
    assert trace.findings == {}

    del export.rows["TARGET_INFO_CUDA_DEVICE"]
    trace = read_nsight_export(export.write(tmp_path / "b.sqlite"))
    assert trace.device_ids == [0]
    assert len(set(trace.operations.stream.tolist())) == 2
    assert trace.findings == {"processes that may share a GPU or not": 2}


def test_steps_of_a_process_are_of_what_it_launched_itself(tmp_path: Path) -> None:
    export = Export()
    for process, device, begin in ((5, 0, 0), (6, 1, 3)):
        events = [
            nvtx("step", begin, 100),
            *launched(1, begin + 1, 4, begin + 10, 20, device=device),
            *launched(2, begin + 15, 4, begin + 40, 30, device=device),
            call(begin + 20, 1, 3),
        ]
        for each in events:
            export.add_events([{**each, "args": {**each["args"], "process": process}}])
    trace = read_nsight_export(export.write(tmp_path / "a.sqlite"))
    steps = analyse_steps(trace, annotated(trace, "step"))
    assert [(step.window.process, step.device) for step in steps] == [("5", 0), ("6", 1)]
    for step in steps:
        assert step.operations == {"kernel": 2}
        assert step.busy is not None
        assert step.busy.value == pytest.approx(50e-6)
        assert step.launches_without_operation == 1
    assert [each.device for each in analyse_steps(trace, whole(trace))] == [0, 1]


def test_a_device_has_the_name_of_its_cuda_number(tmp_path: Path) -> None:
    export = Export().add_events(launched(1, 0, 4, 10, 20, device=1))
    for gpu, device in ((0, 1), (1, 0)):
        export.add("TARGET_INFO_GPU", vmId=1, id=gpu, name=f"bus {gpu}", cuDevice=device)
    assert read_nsight_export(export.write(tmp_path / "a.sqlite")).devices == {1: "bus 0"}
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=1, pid=PROCESS)
    assert read_nsight_export(export.write(tmp_path / "b.sqlite")).devices == {1: "bus 0"}


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    stack = call(9, 6, 1)
    stack["args"]["eventClass"] = 67  # the call once more, for its stack
    export = Export().add_events(
        [
            *(stack, *launched(1, 10, 4, 20, 5), kernel(0, 0, 2), kernel(40, -3, 3)),
            kernel(50, 1, cat="gpu_memcpy", copyKind=11, bytes=4096),
        ]
    )
    where = {"deviceId": 0, "contextId": 1, "streamId": 7}
    export.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=1, end=2, **where)
    export.add("DIAGNOSTIC_EVENT", timestamp=1, source=1, severity=3, text="lost")
    export.schema = {**export.schema, "CUPTI_ACTIVITY_KIND_JIT": "start INTEGER, end INTEGER"}
    export.add("CUPTI_ACTIVITY_KIND_JIT", start=1, end=2)
    trace = read_nsight_export(export.write(tmp_path / "a.sqlite"))
    assert trace.calls.kind.tolist() == [CallKind.LAUNCH]
    assert trace.operations.kind.tolist() == [OperationKind.KERNEL, OperationKind.COPY]
    assert names(trace, trace.operations)[1] == "Memcpy HtoD (Unified)"
    assert trace.findings == {
        "without a time": 1,
        "negative duration": 1,
        "copies that unified memory caused": 1,
        "errors that Nsight Systems met while recording": 1,
    }
    assert trace.not_needed == {"call with its stack": 1, "SYNCHRONIZATION": 1}
    assert trace.not_understood == {"JIT": 1}


def test_host_activity_alone_is_a_trace_and_nothing_at_all_is_none(tmp_path: Path) -> None:
    trace = read(tmp_path, annotation("forward", 0, 10))
    assert not trace.has_device_activity
    assert [each.label for each in annotated(trace, "forward")] == ["forward"]
    with pytest.raises(UnreadableTraceError, match="record with `nsys profile"):
        read_nsight_export(Export().write(tmp_path / "empty.sqlite"))


def test_memory_is_that_of_the_columns_and_a_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = Export()
    rows = 20_000
    row = {"deviceId": 0, "contextId": 1, "streamId": 7, "demangledName": 0, "shortName": 0}
    for i in range(rows):
        times = {"start": 10 * i + 1, "end": 10 * i + 5, "correlationId": i + 1}
        export.add("CUPTI_ACTIVITY_KIND_KERNEL", **times, **row)
    path = export.write(tmp_path / "a.sqlite")
    monkeypatch.setattr(sqlite_file, "CHUNK", 1000)
    tracemalloc.start()
    try:
        trace = read_nsight_export(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(trace.operations) == rows
    assert peak < 120 * rows + 1e6  # columns, once more while they are sorted, and a chunk


@pytest.mark.skipif("FTAX_MICRO_TRACES" not in os.environ, reason="FTAX_MICRO_TRACES is not set")
def test_real_exports_are_read_whole() -> None:
    for path in sorted(Path(os.environ["FTAX_MICRO_TRACES"]).glob("*.sqlite")):
        trace = read_nsight_export(path)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
            wanted = [n for n in tables if n.startswith("CUPTI_ACTIVITY") or n == "NVTX_EVENTS"]
            counts = [connection.execute(f"SELECT count(*) FROM {n}").fetchone() for n in wanted]
        counted = sum(map(len, (trace.operations, trace.calls, trace.spans)))
        assert counted + sum(trace.not_needed.values()) == sum(count for (count,) in counts)
        assert trace.not_understood == trace.findings == {}
        found = correlate(trace)
        assert np.all(found.matched | found.earlier)
        for step in analyse_steps(trace, whole(trace)):
            if step.busy and step.idle and step.occupied:
                parts = step.busy.value + step.idle.value + step.occupied.value
                assert parts == pytest.approx(step.latency.value, rel=1e-12)
