"""Operations and the calls they came from; launch delays and queue depths that follow."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from profiler_traces import Event, call, kernel, launched, trace_text

from ftax_micro.analysis.traces.correlation import (
    begun_before_call,
    correlate,
    launch_delays_ns,
    overlapping,
    queue_depths,
)
from ftax_micro.analysis.traces.events import NONE, Trace
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace


def read(*events: Event | list[Event]) -> Trace:
    flat = [e for each in events for e in (each if isinstance(each, list) else [each])]
    return read_pytorch_trace(trace_text(flat))


def test_operations_have_the_call_of_their_id() -> None:
    trace = read(launched(5, 10, 2, 30, 4), launched(3, 13, 2, 20, 4), call(0, 1, 9, name="x"))
    found = correlate(trace)
    assert [int(trace.calls.correlation[each]) for each in found.call] == [3, 5]
    assert found.first.tolist() == [True, True]
    assert not found.findings
    assert launch_delays_ns(trace, found).tolist() == [5_000, 18_000]


def test_a_graph_launch_owns_thousands_of_operations() -> None:
    nodes = [kernel(100 + 2 * i, 1, 7, stream=i % 2) for i in range(3000)]
    trace = read(call(50, 10, 7, name="cudaGraphLaunch"), nodes, launched(8, 70, 2, 7000, 1))
    found = correlate(trace)
    assert found.call.tolist() == [0] * 3000 + [1]
    assert np.flatnonzero(found.first).tolist() == [0, 3000]
    assert launch_delays_ns(trace, found).tolist() == [40_000, 6928_000]


def test_what_has_no_partner_is_counted() -> None:
    trace = read(
        launched(20, 0, 1, 2, 1),
        kernel(5, 1),  # no id
        kernel(6, 1, 25),  # an id no call has
        kernel(0, 1, 13),  # an id from before every call here
        call(8, 1, 30),
        call(9, 1, 31, name="cudaStreamSynchronize"),
    )
    found = correlate(trace)
    assert found.call.tolist() == [NONE, 0, NONE, NONE]
    assert found.earlier.tolist() == [True, False, False, False]
    assert found.findings == {
        "operations without a call": 3,
        "operations launched before the trace": 1,
        "launching calls without an operation": 1,
    }


def test_of_nested_calls_with_one_id_the_outer_one_launched() -> None:
    inner = call(11, 2, 4, name="cuLaunchKernel", cat="cuda_driver")
    trace = read(inner, call(10, 5, 4), kernel(20, 1, 4), call(10, 2, 4, name="cudaGetDevice"))
    found = correlate(trace)
    assert trace.names[trace.calls.name[found.call[0]]] == "cudaLaunchKernel"
    assert launch_delays_ns(trace, found).tolist() == [5_000]
    assert "duplicate correlation ids" not in found.findings


def test_an_id_that_two_calls_claim_is_no_evidence() -> None:
    trace = read(call(10, 2, 4), call(14, 2, 4), kernel(20, 1, 4), launched(5, 30, 1, 32, 1))
    found = correlate(trace)
    assert found.call.tolist() == [NONE, 2]
    assert found.findings == {
        "operations without a call": 1,
        "operations of a duplicate correlation id": 1,
        "duplicate correlation ids": 1,
        "launching calls without an operation": 2,
    }
    elsewhere = read(call(10, 9, 4), call(11, 2, 4, tid=11), kernel(20, 1, 4))
    assert correlate(elsewhere).findings["duplicate correlation ids"] == 1


def test_negative_delays_are_kept_and_told_from_impossible_ones() -> None:
    trace = read(launched(1, 10, 5, 13, 1), launched(2, 20, 5, 18, 1), launched(3, 30, 5, 37, 1))
    found = correlate(trace)
    assert launch_delays_ns(trace, found).tolist() == [-2_000, -7_000, 2_000]
    assert begun_before_call(trace, found, np.arange(3)).tolist() == [False, True, False]


def test_a_trace_without_calls_or_operations() -> None:
    only_device = read(kernel(0, 1, 5))
    assert correlate(only_device).findings == {"operations without a call": 1}
    only_host = read(call(0, 1, 5))
    assert correlate(only_host).findings == {"launching calls without an operation": 1}
    for trace in (only_device, only_host):
        found = correlate(trace)
        assert len(queue_depths(trace, found).call) == 0
        assert not overlapping(trace).any()


def test_queue_depth_counts_what_is_not_done_on_the_stream() -> None:
    trace = read(
        kernel(0, 7, 1),  # launched before the trace
        launched(10, 5, 1, 8, 10),
        launched(11, 7, 1, 18, 10),
        launched(12, 20, 1, 30, 1, stream=8),
        launched(13, 28, 1, 31, 1),
        call(30, 1, 14, name="cudaGraphLaunch"),
        [kernel(40 + i, 1, 14) for i in range(5)],
        launched(15, 33, 1, 50, 1),
    )
    depths = queue_depths(trace, correlate(trace))
    ids = trace.calls.correlation[depths.call].tolist()
    assert dict(zip(ids, depths.depth.tolist(), strict=True)) == {
        10: 1,  # the one from before, running until 7
        11: 1,  # 10, waiting; the other one is just over
        12: 0,  # alone on its stream
        13: 0,  # 11 is over at 28
        14: 1,  # 13, waiting
        15: 5,  # the graph's nodes; 13 is over
    }


times = st.integers(0, 30)
rows = st.lists(st.tuples(times, times, times, times, st.integers(0, 2)), max_size=12)


@settings(max_examples=50, deadline=None)
@given(rows)
def test_queue_depth_is_what_counting_one_by_one_gives(
    given_rows: list[tuple[int, int, int, int, int]],
) -> None:
    events: list[Event] = [call(0, 0, 1, name="cudaGetDevice")]
    for i, (called, took, start, dur, stream) in enumerate(given_rows):
        events += launched(i + 2, called, took, start, dur, stream=stream)
    trace = read(events)
    depths = queue_depths(trace, correlate(trace))
    expected = {
        i + 2: sum(o[0] < row[0] for o in given_rows if o[4] == row[4])
        - sum(o[2] + o[3] <= row[0] for o in given_rows if o[4] == row[4])
        for i, row in enumerate(given_rows)
    }
    ids = trace.calls.correlation[depths.call].tolist()
    assert dict(zip(ids, depths.depth.tolist(), strict=True)) == expected


def test_overlap_within_a_stream_is_marked_beyond_the_tick() -> None:
    def marked(*operations: tuple[float, float, int]) -> list[Any]:
        trace = read([kernel(start, dur, stream=stream) for start, dur, stream in operations])
        return list(overlapping(trace))

    assert marked((0, 5, 7), (4, 5, 7), (7, 9, 7)) == [False, False, True]
    assert marked((0, 5, 7), (4.999, 5, 7)) == [False, True]
    assert marked((0, 5, 7), (3, 5, 8), (5, 1, 7)) == [False, False, False]
    assert marked((0, 9, 7), (1, 1, 7), (4, 1, 7)) == [False, True, True]
