"""Who is inside whom, and whose each moment of a thread is: known cases, and by looking at all."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from profiler_traces import Event, annotation, call, complete, trace_text

from ftax_micro.analysis.traces.events import NONE, Trace
from ftax_micro.analysis.traces.intervals import meetings, pairs
from ftax_micro.analysis.traces.nesting import Nesting, nest
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace


def op(name: str, ts: float, dur: float, tid: int = 10) -> Event:
    return complete("cpu_op", name, ts, dur, tid=tid)


def read(*events: Event) -> Trace:
    return read_pytorch_trace(trace_text(events))


def name_of(trace: Trace, nesting: Nesting, node: int) -> str | None:
    if node == NONE:
        return None
    span, called = int(nesting.span[node]), int(nesting.call[node])
    return str(trace.names[trace.calls.name[called] if span == NONE else trace.spans.name[span]])


def parents(trace: Trace, nesting: Nesting) -> dict[Any, Any]:
    return {
        name_of(trace, nesting, node): name_of(trace, nesting, int(parent))
        for node, parent in enumerate(nesting.parent)
    }


def moments(trace: Trace, nesting: Nesting, thread: int = 0) -> list[tuple[int, Any]]:
    """Microseconds and whose they are, in order."""
    segments = nesting.segments[thread]
    lengths = zip((segments.end - segments.begin).tolist(), segments.node.tolist(), strict=True)
    return [
        (sum(took for took, _ in stretch) // 1000, name_of(trace, nesting, node))
        for node, stretch in itertools.groupby(lengths, key=lambda each: each[1])
    ]


def test_each_moment_is_the_innermost_ones() -> None:
    trace = read(
        annotation("step", 0, 40), op("a", 5, 20), op("b", 10, 10), call(12, 3, 1), op("c", 30, 5)
    )
    nesting = nest(trace)
    assert parents(trace, nesting) == {
        "step": None,
        "a": "step",
        "b": "a",
        "cudaLaunchKernel": "b",
        "c": "step",
    }
    assert moments(trace, nesting)[:-1] == [
        *((5, "step"), (5, "a"), (2, "b"), (3, "cudaLaunchKernel"), (5, "b")),
        *((5, "a"), (5, "step"), (5, "c"), (5, "step")),
    ]
    assert moments(trace, nesting)[-1][1] is None
    assert nesting.crossing == 0


def test_ops_of_calls_and_common_ops() -> None:
    trace = read(
        op("norm", 0, 30), op("mean", 1, 5), call(2, 1, 1), op("sub", 10, 5), call(11, 1, 2),
        call(40, 1, 3), op("other", 50, 9), call(51, 1, 4),
    )  # fmt: skip
    nesting = nest(trace)
    ops = nesting.op_of_call(np.array([0, 1, 2, NONE, 3]))
    assert [name_of(trace, nesting, each) for each in ops.tolist()] == [
        *("mean", "sub", None, None, "other")
    ]
    common = nesting.common_op(ops[[0, 0, 0, 0, 1]], ops[[1, 0, 2, 4, 0]])
    names = [name_of(trace, nesting, each) for each in common.tolist()]
    assert names == ["norm", "mean", None, None, "norm"]


def test_threads_do_not_meet() -> None:
    trace = read(op("a", 0, 20), op("b", 5, 5, tid=11))
    nesting = nest(trace)
    assert parents(trace, nesting) == {"a": None, "b": None}
    assert moments(trace, nesting, 1)[:2] == [(5, None), (5, "b")]


def test_what_touches_is_not_inside_and_what_is_empty_is() -> None:
    trace = read(op("a", 0, 10), op("b", 10, 10), op("empty", 10, 0), op("again", 10, 0))
    nesting = nest(trace)
    assert parents(trace, nesting) == {"a": None, "b": None, "empty": "b", "again": "b"}


def test_of_the_same_time_python_is_outside_the_op_and_the_call_inside() -> None:
    same = {"ts": 0, "dur": 10}
    trace = read(
        call(0, 10, 1, name="cudaMalloc"),
        complete("cpu_op", "op", **same),
        complete("python_function", "frame", **same),
        complete("user_annotation", "ProfilerStep#1", **same),
    )
    found = parents(trace, nest(trace))
    assert found == {
        "ProfilerStep#1": None, "frame": "ProfilerStep#1", "op": "frame", "cudaMalloc": "op",
    }  # fmt: skip


def test_what_crosses_is_counted_and_the_latest_begun_has_the_time() -> None:
    trace = read(op("a", 0, 10), op("b", 5, 10), op("c", 6, 2), op("d", 20, 5, tid=11))
    nesting = nest(trace)
    assert nesting.crossing == 1
    assert moments(trace, nesting)[:-1] == [(5, "a"), (1, "b"), (2, "c"), (7, "b")]


def test_a_trace_without_host_events() -> None:
    nesting = nest(read(complete("kernel", "k", 0, 1)))
    assert nesting.segments == {}
    assert len(nesting.parent) == 0


events = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12), st.sampled_from([10, 11]), st.booleans()),
    min_size=1,
    max_size=9,
)


@given(events)
@settings(max_examples=80, deadline=None)
def test_the_same_by_looking_at_every_microsecond(found: list[tuple[int, int, int, bool]]) -> None:
    trace = read(
        *(
            call(start, took, 1, name=str(i), tid=tid)
            if is_call
            else op(str(i), start, took, tid=tid)
            for i, (start, took, tid, is_call) in enumerate(found)
        )
    )
    nesting = nest(trace)
    origin = min(start for start, *_ in found)
    for number, thread in enumerate(trace.threads):
        segments = nesting.segments[number]
        assert segments.begin[0] == 0
        assert (segments.begin[1:] == segments.end[:-1]).all()
        assert segments.end[-1] == trace.end_ns + 1
        for moment in range(trace.end_ns // 1000):
            running = [
                (start, -took, is_call, i)
                for i, (start, took, tid, is_call) in enumerate(found)
                if str(tid) == thread.thread and start <= moment + origin < start + took
            ]
            place = np.searchsorted(segments.begin, moment * 1000, side="right") - 1
            owner = name_of(trace, nesting, int(segments.node[place]))
            if not running:
                assert owner is None
            else:
                # Of those that begin together, the shorter one is inside, and the call.
                assert found[int(owner or -1)][:2] == (max(running)[0], -max(running)[1])


def test_pairs_and_meetings() -> None:
    one, other = pairs(np.array([0, 2, 3]), np.array([2, 2, 5]))
    assert (one.tolist(), other.tolist()) == ([0, 0, 2, 2], [0, 1, 3, 4])
    met = meetings(
        np.array([0, 4, 7]), np.array([5, 4, 20]), np.array([1, 5, 9]), np.array([3, 8, 12])
    )
    assert (met.one.tolist(), met.other.tolist()) == ([0, 2, 2], [0, 1, 2])
    assert met.length.tolist() == [2, 1, 3]


def test_deep_nesting_is_no_recursion() -> None:
    depth = 4_000
    trace = read(*(op("f", n, 2 * (depth - n)) for n in range(depth)))
    nesting = nest(trace)
    assert nesting.crossing == 0
    assert (nesting.op == np.arange(depth)).all()
    assert nesting.parent.tolist() == [NONE, *range(depth - 1)]
