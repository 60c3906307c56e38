"""PyTorch profiler traces become columns: every version's names and times, nothing lost unsaid."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiler_traces import annotation, call, complete, kernel, launched, trace_text

from ftax_micro.analysis.traces import event_list, text
from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.events import (
    NONE,
    CallKind,
    OperationKind,
    SpanKind,
    Trace,
    call_blocks,
    call_kind,
)
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.traces.steps import analyse_steps, whole


def names(trace: Trace, columns: Any) -> list[str]:
    return [trace.names[each] for each in columns.name]


def test_every_kind_of_event_is_in_its_columns_by_start() -> None:
    trace = read_pytorch_trace(
        trace_text(
            [
                kernel(130, 5, 3, name="Memset (Device)", cat="gpu_memset"),
                kernel(120, 7, 2, name="Memcpy HtoD", cat="gpu_memcpy", stream=20, device=1),
                *launched(1, 103, 4, 110, 9),
                call(112, 2, 2, name="cudaMemcpyAsync", tid=11),
                call(115, 2, 3, name="cudaMemsetAsync"),
                call(140, 6, 4, name="cudaDeviceSynchronize"),
                complete("cpu_op", "aten::mm", 102, 8, **{"External id": 5}),
                annotation("ProfilerStep#3", 100, 60),
                annotation("forward", 101, 40),
                complete("python_function", "nn.Module: Linear", 101, 20),
            ]
        )
    )
    operations, calls, spans = trace.operations, trace.calls, trace.spans
    assert operations.kind.tolist() == [
        OperationKind.KERNEL,
        OperationKind.COPY,
        OperationKind.SET,
    ]
    assert names(trace, operations) == ["gemm", "Memcpy HtoD", "Memset (Device)"]
    assert operations.start_ns.tolist() == [10_000, 20_000, 30_000]
    assert operations.duration_ns.tolist() == [9_000, 7_000, 5_000]
    assert operations.device.tolist() == [0, 1, 0]
    assert operations.stream.tolist() == [7, 20, 7]
    assert operations.correlation.tolist() == [1, 2, 3]
    assert names(trace, calls)[0] == "cudaLaunchKernel"
    assert calls.kind.tolist() == [
        CallKind.LAUNCH,
        CallKind.COPY,
        CallKind.SET,
        CallKind.SYNCHRONISE,
    ]
    assert [trace.threads[each].thread for each in calls.thread] == ["10", "11", "10", "10"]
    assert calls.blocks.tolist() == [False, False, False, True]
    kinds = [SpanKind.STEP, SpanKind.ANNOTATION, SpanKind.PYTHON, SpanKind.OP]
    assert spans.kind.tolist() == kinds
    assert spans.external.tolist() == [NONE, NONE, NONE, 5]
    assert (trace.tick_ns, trace.origin_ns, trace.end_ns) == (1000, 100_000, 60_000)
    assert trace.device_ids == [0, 1]
    assert trace.findings == trace.not_understood == trace.not_needed == {}


def test_microseconds_with_decimals_are_nanoseconds_whatever_unit_is_displayed() -> None:
    facts = {"displayTimeUnit": "ns", "baseTimeNanoseconds": 1_719_853_884_000_000_000}
    events = [kernel(1212075548353.304, 2.503), kernel(1212075548356.001, 0.001)]
    for before, after in ((facts, {}), ({}, facts)):
        trace = read_pytorch_trace(trace_text(events, before, after))
        assert trace.tick_ns == 1
        assert trace.operations.start_ns.tolist() == [0, 2697]
        assert trace.operations.duration_ns.tolist() == [2503, 1]
        assert trace.origin_ns == 1_719_853_884_000_000_000 + 1_212_075_548_353_304


def test_decimals_of_the_microseconds_since_1970_are_kept() -> None:
    raw = trace_text([kernel(1, 2.001), kernel(2, 0), call(3, 1.5)])
    for old, new in ((b'"ts": 1,', b".304"), (b'"ts": 2,', b".305"), (b'"ts": 3,', b".999")):
        raw = raw.replace(old, b'"ts": 1695835542514261' + new + b",")
    trace = read_pytorch_trace(raw)
    assert trace.origin_ns == 1_695_835_542_514_261_304
    assert trace.operations.start_ns.tolist() == [0, 1]
    assert trace.calls.start_ns.tolist() == [695]
    assert trace.calls.duration_ns.tolist() == [1500]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 2**43 * 1000 - 1), min_size=1, max_size=20))
def test_three_decimals_are_read_back_exactly(times: list[int]) -> None:
    rows = ",".join(
        '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":0,"dur":0.001,'
        f'"ts":{each // 1000}.{each % 1000:03d}}}'
        for each in times
    )
    trace = read_pytorch_trace(b'{"traceEvents":[' + rows.encode() + b"]}")
    assert (trace.operations.start_ns + trace.origin_ns).tolist() == sorted(times)


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("Kernel", "gemm", OperationKind.KERNEL),
        ("kernel", "gemm", OperationKind.KERNEL),
        ("Memcpy", "Memcpy DtoH", OperationKind.COPY),
        ("gpu_memcpy", "Memcpy DtoH", OperationKind.COPY),
        ("Memset", "Memset", OperationKind.SET),
        ("kernel", "CopyHostToDevice", OperationKind.COPY),  # ROCm
        ("kernel", "FillBuffer", OperationKind.SET),
        ("kernel", "void CopyHostToDevice_like<float>()", OperationKind.KERNEL),
    ],
)
def test_old_new_and_rocm_names_of_operations(
    category: str, name: str, kind: OperationKind
) -> None:
    trace = read_pytorch_trace(trace_text([kernel(1, 1, name=name, cat=category)]))
    assert trace.operations.kind.tolist() == [kind]


@pytest.mark.parametrize(
    ("name", "kind", "blocks"),
    [
        ("cudaLaunchKernel", CallKind.LAUNCH, False),
        ("cudaLaunchKernelExC", CallKind.LAUNCH, False),
        ("cuLaunchKernel", CallKind.LAUNCH, False),
        ("cuLaunchKernelEx", CallKind.LAUNCH, False),
        ("cudaLaunchCooperativeKernel", CallKind.LAUNCH, False),
        ("hipLaunchKernel", CallKind.LAUNCH, False),
        ("hipExtModuleLaunchKernel", CallKind.LAUNCH, False),
        ("hipExtLaunchKernel", CallKind.LAUNCH, False),
        ("hipModuleLaunchKernel", CallKind.LAUNCH, False),
        ("cudaGraphLaunch", CallKind.GRAPH_LAUNCH, False),
        ("cuGraphLaunch", CallKind.GRAPH_LAUNCH, False),
        ("hipGraphLaunch", CallKind.GRAPH_LAUNCH, False),
        ("cudaMemcpyAsync", CallKind.COPY, False),
        ("cuMemcpyHtoDAsync_v2", CallKind.COPY, False),
        ("cudaMemcpy", CallKind.COPY, True),
        ("hipMemcpyWithStream", CallKind.COPY, True),
        ("cudaMemsetAsync", CallKind.SET, False),
        ("cudaStreamSynchronize", CallKind.SYNCHRONISE, True),
        ("cudaEventSynchronize", CallKind.SYNCHRONISE, True),
        ("hipDeviceSynchronize", CallKind.SYNCHRONISE, True),
        ("cudaLaunchHostFunc", CallKind.OTHER, False),
        ("cudaStreamWaitEvent", CallKind.OTHER, False),
        ("cudaGraphInstantiate", CallKind.OTHER, False),
        ("cudaGraphAddMemcpyNode", CallKind.OTHER, False),
        ("cudaGraphExecMemsetNodeSetParams", CallKind.OTHER, False),
    ],
)
def test_calls_by_what_they_ask_for(name: str, kind: CallKind, blocks: bool) -> None:
    assert (call_kind(name), call_blocks(name)) == (kind, blocks)


@pytest.mark.parametrize("category", ["cuda_runtime", "cuda_driver", "Runtime", "hip_runtime"])
def test_runtime_and_driver_calls_of_all_versions(category: str) -> None:
    trace = read_pytorch_trace(trace_text([call(1, 1, 5, cat=category)]))
    assert trace.calls.correlation.tolist() == [5]


def test_what_has_no_arguments_is_placed_by_the_row_it_was_drawn_in() -> None:
    bare = {"ph": "X", "cat": "Kernel", "name": "k", "ts": 1, "dur": 1}
    rows = [{**bare, "pid": 2, "tid": "stream 13"}, {**bare, "pid": "GPU", "tid": None}]
    operations = read_pytorch_trace(trace_text(rows)).operations
    assert sorted(zip(operations.device.tolist(), operations.stream.tolist(), strict=True)) == [
        (NONE, NONE),
        (2, 13),
    ]
    assert operations.correlation.tolist() == [NONE, NONE]


def test_nothing_is_left_out_without_a_count() -> None:
    trace = read_pytorch_trace(
        trace_text(
            [
                kernel(1, 1),
                kernel(2, -1),
                kernel(3, None),  # type: ignore[arg-type]
                kernel(2**60, 1),
                kernel(10**30, 1),
                kernel(4, 1, correlation="seven"),  # type: ignore[arg-type]
                complete("mtia_insight", "x", 1, 1),
                complete("ac2g", "x", 1, 1),
                complete("cuda_sync", "x", 1, 1),
                {"ph": "s", "cat": "ac2g", "ts": 1},
                {"ph": "f", "cat": "async_cpu_to_gpu", "ts": 1},
                {"ph": "s", "cat": "mystery", "ts": 1},
                {"ph": "M", "name": "process_name"},
                {"ph": "i", "name": "Iteration Start"},
                {"ph": "B", "ts": 1},
                {},
                None,  # type: ignore[list-item]
                17,  # type: ignore[list-item]
            ]
        )
    )
    assert len(trace.operations) == 1
    assert trace.findings == {"negative duration": 1, "without a time": 1, "time out of range": 2}
    assert trace.not_understood == {
        "malformed event": 3,
        "mtia_insight": 1,
        "mystery": 1,
        "phase B": 1,
        "phase missing": 1,
    }
    assert trace.not_needed == {
        "ac2g": 2,
        "cuda_sync": 1,
        "async_cpu_to_gpu": 1,
        "metadata": 1,
        "instant": 1,
    }


def test_numbers_written_as_text_are_read() -> None:
    trace = read_pytorch_trace(trace_text([kernel(1, 1, correlation="7", stream="3")]))  # type: ignore[arg-type]
    assert trace.operations.correlation.tolist() == [7]
    assert trace.operations.stream.tolist() == [3]


def test_text_that_is_not_strict_json_is_read_and_counted() -> None:
    raw = trace_text([kernel(1, 1, name="A", bandwidth=3), kernel(2, 2, name="B"), kernel(3, 1)])
    raw = raw.replace(b'"bandwidth": 3', b'"bandwidth": -inf, "b": NaN, "c": [Infinity]')
    raw = raw.replace(b'"A"', b'"NaN \\u0007 inf\n\\\\U"').replace(b'"B"', b'"\xff \\U"')
    trace = read_pytorch_trace(raw.replace(b'"ts": 3', b'"ts": nan'))
    assert trace.names == ["NaN \x07 inf \\U", "\N{REPLACEMENT CHARACTER} \\U"]
    assert trace.findings == {"without a time": 1, "not strict JSON (batches)": 1}


def test_bad_text_behind_the_list_does_not_count_events_twice() -> None:
    raw = trace_text([kernel(1, 1)], after={"traceName": "x"}).replace(b'"x"', b'"\xff"')
    trace = read_pytorch_trace(raw)
    assert len(trace.operations) == 1
    assert trace.findings == {"not strict JSON (batches)": 1}


def test_names_with_html_are_kept_as_they_are() -> None:
    name = '<script>alert("1")</script>\x1b[31m'
    assert read_pytorch_trace(trace_text([kernel(1, 1, name=name)])).names == [name]


def test_a_trace_without_device_activity_is_a_trace() -> None:
    trace = read_pytorch_trace(trace_text([annotation("ProfilerStep#1", 1, 5)]))
    assert not trace.has_device_activity
    assert trace.device_ids == []
    assert len(trace.spans) == 1


def test_device_names_and_a_bare_list() -> None:
    devices = [{"id": 0, "name": "GPU A"}, {"id": "x"}, 3]
    trace = read_pytorch_trace(trace_text([kernel(1, 1)], {"deviceProperties": devices}))
    assert trace.devices == {0: "GPU A"}
    assert trace.has_device_activity
    assert len(read_pytorch_trace(json.dumps([kernel(1, 1)]).encode()).operations) == 1


@pytest.mark.parametrize("layout", [None, 1, 0])
@pytest.mark.parametrize("chunk", [64, 1000, 20_000])
def test_events_are_the_same_however_the_text_is_cut(
    chunk: int, layout: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "CHUNK", chunk)
    monkeypatch.setattr(event_list, "CHUNK", chunk)
    nested: dict[str, Any] = {
        "tensors": [{"a": 1}, {"b": '"},{"'}],
        "traceEvents": [{"x": 1}, {"y": 2}],
    }
    events = [kernel(i, 1, i, name="},{" * (i % 7), **nested) for i in range(1, 60)]
    document = {"distributedInfo": nested, "traceEvents": events, "behind": nested}
    raw = json.dumps(document, indent=layout).encode()
    for each in (raw, gzip.compress(raw), gzip.compress(raw[:900]) + gzip.compress(raw[900:])):
        trace = read_pytorch_trace(each)
        assert trace.operations.correlation.tolist() == list(range(1, 60))
        assert trace.not_understood == trace.findings == {}


@pytest.mark.skipif("FTAX_MICRO_TRACES" not in os.environ, reason="FTAX_MICRO_TRACES is not set")
def test_real_traces_are_read_whole() -> None:
    for path in sorted(Path(os.environ["FTAX_MICRO_TRACES"]).glob("*.json.gz")):
        trace = read_pytorch_trace(path)
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        counted = sum(map(len, (trace.operations, trace.calls, trace.spans)))
        counted += sum(trace.not_needed.values())
        assert counted == len(events)
        assert trace.not_understood == trace.findings == {}
        for step in analyse_steps(trace, whole(trace), correlate(trace)):
            if step.busy and step.idle and step.occupied:
                parts = step.busy.value + step.idle.value + step.occupied.value
                assert parts == pytest.approx(step.latency.value, rel=1e-12)
                assert np.all(step.queue_depths >= 0)
