"""Timelines of cases and steps: what is in which row, what overlaps, and what is left out."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from floor_results import US, floor_result
from hypothesis import given, settings
from hypothesis import strategies as st
from profiler_traces import annotation, call, kernel, launched
from report_results import absent_case, case, empty, failed, forward, question, swept
from synthetic_pipelines import given_floor
from traced_pipelines import read

from ftax_micro.analysis.bounding.cases import case_bounds
from ftax_micro.analysis.floor.values import FloorValues
from ftax_micro.analysis.traces.step_bounds import trace_bounds
from ftax_micro.analysis.traces.steps import profiler_steps, whole
from ftax_micro.analysis.tracks import cases, steps
from ftax_micro.analysis.tracks.choice import choose
from ftax_micro.analysis.tracks.contract import (
    NOTHING,
    Layer,
    Stretches,
    Timeline,
    nanoseconds,
    queue_depth,
    rows,
)
from ftax_micro.analysis.views.contract import Question, Source
from ftax_micro.errors import UsageError
from ftax_micro.records import Case, DeviceOperation, DevicePass, HostCall
from ftax_micro.results import Result

TITLES = ["measured", "device bound", "launch bound", "graph bound"]


def built(found: Case, floor: FloorValues | None = None) -> Timeline:
    floor = floor or given_floor()
    return cases.planned("case", case_bounds(found, floor), floor).build()


def layer(found: Timeline, name: str) -> Layer:
    (one,) = (each for each in found.layers if each.name == name)
    return one


def of_steps(*events: Any, whole_us: bool = False) -> list[Timeline]:
    trace = read(*events)
    windows = profiler_steps(trace) or whole(trace)
    names = steps.step_names(trace, windows)
    return [each.build() for each in steps.planned(trace, names, None)]


def spans(*pairs: tuple[int, int], row: int = 0) -> Stretches:
    start, end = (np.array(each, dtype=np.int64) for each in zip(*pairs, strict=True))
    number = np.full(len(pairs), row, dtype=np.int64)
    return Stretches(["x"] * len(pairs), ["kernel"] * len(pairs), number, {row: "s"}, start, end)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(0, 5), (5, 9), (9, 9), (9, 12)], {"s": [0, 1, 2, 3]}),
        ([(5, 9), (0, 5)], {"s": [1, 0]}),
        ([(0, 5), (4, 9), (5, 6)], {"s": [0, 2], "s (overlapping)": [1]}),
        (
            [(0, 9), (1, 9), (2, 9)],
            {"s": [0], "s (overlapping)": [1], "s (overlapping 2)": [2]},
        ),
    ],
)
def test_what_overlaps_has_rows_of_its_own(pairs: Any, expected: Any) -> None:
    assert {row.name: row.which.tolist() for row in rows(spans(*pairs))} == expected


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), min_size=1, max_size=20))
def test_rows_hold_everything_once_and_nothing_overlaps(found: list[tuple[int, int]]) -> None:
    each = spans(*((start, start + took) for start, took in found))
    made = rows(each)
    assert sorted(place for row in made for place in row.which) == list(range(len(found)))
    for row in made:
        assert (each.start_ns[row.which][1:] >= each.end_ns[row.which][:-1]).all()


def test_rows_of_nothing() -> None:
    assert rows(NOTHING) == []


def test_queue_depth_counts_what_was_asked_for_and_is_not_over() -> None:
    asked, ends = np.array([0, 2, 2, 8]), np.array([5, 7, 8, 9])
    times, depth = queue_depth(asked, ends)
    assert dict(zip(times.tolist(), depth.tolist(), strict=True)) == {
        **{0: 1, 2: 3, 5: 2, 7: 1},
        **{8: 1, 9: 0},
    }


@pytest.mark.parametrize("mode", ["eager", "cuda_graph"])
def test_layers_end_where_latency_and_bounds_do(mode: str) -> None:
    one, floor = case(mode, 8), given_floor()
    found, bounds = built(one, floor), case_bounds(one, floor)
    titles = [*TITLES, *(["bound of its own launch path"] if mode == "cuda_graph" else [])]
    assert [each.name for each in found.layers] == [*titles, "prediction"]
    assert one.device_pass is not None
    assert layer(found, "measured").end_ns == nanoseconds(one.device_pass.latency_s[0])
    assert bounds.bounds is not None
    for name in ("device", "launch", "graph"):
        bound = getattr(bounds.bounds, name)
        assert layer(found, f"{name} bound").end_ns == nanoseconds(bound.seconds.value)
    assert bounds.predicted is not None
    assert layer(found, "prediction").end_ns == nanoseconds(bounds.predicted.model.value)
    for each in found.layers:
        assert len(each.operations) == 24
        assert int(each.operations.end_ns.max()) <= each.end_ns


def test_measured_edges_are_medians_that_keep_their_order() -> None:
    """The median begin and the median duration of a kernel would end after the next begins."""
    calls = [HostCall(name="a", begin_s=[0, 0, 0], duration_s=[US, US, US]) for _ in range(2)]
    first = DeviceOperation(
        kind="kernel",
        name="a",
        call=0,
        start_s=[10 * US, 12 * US, 20 * US],
        duration_s=[9 * US, 8 * US, 1 * US],
    )
    second = msgspec.structs.replace(
        first, call=1, start_s=[19 * US, 20 * US, 21 * US], duration_s=[US, US, US]
    )
    assert 12 + 8 <= 20  # of no forward do they overlap
    busy = [3 * US] * 3
    done = DevicePass(
        operations=[first, second], calls=calls, busy_s=busy, latency_s=busy, host_s=busy
    )
    measured = built(case("eager", device_pass=done)).layers[0]
    assert measured.operations.start_ns.tolist() == [12_000, 20_000]
    assert measured.operations.end_ns.tolist() == [20_000, 21_000]
    assert measured.operations.facts[0]["duration_s"] == 8 * US
    assert measured.operations.facts[0]["launch_delay_s"] == pytest.approx(11 * US)


def test_streams_copies_and_shapes_are_told() -> None:
    done = forward("eager", 2.0, operations=4)
    streams = [
        msgspec.structs.replace(each, stream=7 + place % 2)
        for place, each in enumerate(done.operations)
    ]
    one = case("eager", device_pass=msgspec.structs.replace(done, operations=streams))
    for found in built(one).layers:
        names = [row.name for row in rows(found.operations)]
        assert names == ["cuda:0 stream 7", "cuda:0 stream 8"]
    measured = built(one).layers[0]
    assert measured.operations.kind == ["copy", "kernel", "kernel", "kernel"]
    assert measured.operations.facts[1]["stream"] == 8
    assert measured.operations.facts[1]["block"] == (128, 1, 1)
    assert [row.name for row in rows(built(case("eager")).layers[0].operations)] == ["cuda:0"]


def test_the_delay_of_a_graph_is_that_of_its_first_node() -> None:
    measured = built(case("cuda_graph")).layers[0]
    delays = ["launch_delay_s" in each for each in measured.operations.facts]
    assert delays == [True, *[False] * 23]
    assert measured.call.tolist() == [0] * 24
    assert built(case("cuda_graph")).depth[1].max() == 24


def test_operations_without_calls_follow_each_other() -> None:
    done = forward("eager", 2.0, operations=3)
    alone = [msgspec.structs.replace(each, call=None) for each in done.operations]
    one = case("eager", device_pass=msgspec.structs.replace(done, operations=alone, calls=[]))
    for host in (one.host, None):
        found = built(msgspec.structs.replace(one, host=host))
        assert [each.name for each in found.layers] == [*TITLES, "prediction"]
        assert [len(each.calls) for each in found.layers] == [0, 0, 0, 1, 0]
        assert layer(found, "launch bound").operations.start_ns.tolist() == [0, 3_000, 6_000]


def test_what_has_no_floor_is_measured_alone_and_says_why() -> None:
    found = built(case("eager"), FloorValues(reasons={"to_start": "never measured"}))
    assert [each.name for each in found.layers] == ["measured"]
    facts = found.layers[0].facts
    assert facts is not None
    assert facts["no_bounds"] == "never measured"


STEPS = [
    *launched(1, 10, 5, 20, 50, stream=7),
    *launched(2, 30, 5, 90, 40, stream=7, tid=11),
    annotation("ProfilerStep#1", 0, 60),
    *launched(3, 70, 5, 140, 10, stream=7),
    *launched(4, 80, 5, 100, 10, stream=9),
    call(90, 70, name="cudaStreamSynchronize"),
    annotation("ProfilerStep#2", 60, 100),
]
MANY = [
    event
    for n in range(5, 16)
    for event in launched(n, 1_000 + 20 * n, 5, 1_007 + 20 * n, 3, stream=7)
]


def test_a_step_begins_at_nothing_with_what_was_left_over() -> None:
    first, second = of_steps(STEPS, MANY)
    measured = second.layers[0]
    assert (measured.name, measured.end_ns) == ("measured", 100_000)
    assert measured.calls.name == ["cudaLaunchKernel", "cudaLaunchKernel", "cudaStreamSynchronize"]
    assert measured.calls.start_ns.tolist() == [10_000, 20_000, 30_000]
    # Of the two of the first step, the one that its stream still had to begin and one it had begun.
    assert measured.operations.start_ns.tolist() == [0, 30_000, 40_000, 80_000]
    assert measured.operations.end_ns.tolist() == [10_000, 70_000, 50_000, 90_000]
    assert measured.call.tolist() == [-1, -1, 1, 0]
    told = [each.get("launched") for each in measured.operations.facts]
    assert told == ["by an earlier step"] * 2 + [None] * 2
    assert second.depth[1][0] == 2
    names = [row.name for row in rows(first.layers[0].calls)]
    assert names == ["host calls, thread 10", "host calls, thread 11"]


def test_layers_of_a_step_end_at_its_bounds() -> None:
    trace = read(STEPS, MANY)
    names = steps.step_names(trace, profiler_steps(trace))
    bounds = trace_bounds(trace, profiler_steps(trace)).steps
    made = [each.build() for each in steps.planned(trace, names, None)]
    assert [each.name for each in made] == ["ProfilerStep#1 cuda:0", "ProfilerStep#2 cuda:0"]
    for one, found in zip(made, bounds, strict=True):
        assert found.bounds is not None
        assert [each.name for each in one.layers] == ["measured", "device bound", "launch bound"]
        for name in ("device", "launch"):
            bound = getattr(found.bounds, name)
            assert layer(one, f"{name} bound").end_ns == nanoseconds(bound.seconds.value)
    facts = made[0].layers[0].facts
    assert facts is not None
    assert "no graph was launched" in str(facts["no_graph_bound"])


def test_steps_by_the_floor_of_a_machine_have_a_graph_bound() -> None:
    trace = read(STEPS)
    found = steps.planned(trace, steps.step_names(trace, profiler_steps(trace)), floor_result())
    assert [each.name for each in found[0].build().layers] == TITLES
    alone = steps.planned(trace, steps.step_names(trace, profiler_steps(trace)), None)
    assert [each.name for each in alone[0].build().layers] == ["measured"]  # too few launches


def test_a_floor_of_its_gpu_among_the_files_bounds_a_trace() -> None:
    sources = Source("trace.json", trace=read(STEPS)), Source("floor.json", result=floor_result())
    first = choose(Question(sources)).timelines[0].build()
    assert [each.name for each in first.layers] == TITLES


def test_a_clock_of_whole_ticks_makes_no_rows() -> None:
    events = [kernel(10 * n, 11, n, stream=7) for n in range(1, 5)]
    events += [call(10 * n - 10, 2, n) for n in range(1, 5)]
    (found,) = of_steps(events)
    measured = found.layers[0]
    assert [row.name for row in rows(measured.operations)] == ["cuda:0 stream 7"]
    assert measured.operations.end_ns.tolist() == [20_000, 30_000, 40_000, 51_000]


def names(question: Question, only: str | None = None) -> list[str]:
    return [each.name for each in choose(question, only).timelines]


def test_all_cases_and_steps_in_the_order_of_the_files() -> None:
    two = swept(batches=(1, 2), dtypes=("fp16",))
    asked = question(two)
    assert len(names(asked)) == 6
    both = Question((*asked.sources, Source("trace.json", trace=read(STEPS, MANY))))
    found = names(both)
    assert found[0] == "bert_base cuda:0 fp16 batch 1 sequence 128, eager (a.json)"
    assert found[-1] == "ProfilerStep#2 cuda:0 (trace.json)"
    assert names(both, "batch 1 *eager") == found[:1]
    assert names(both, "#1 ") == [found[-2]]
    with pytest.raises(UsageError, match="no case or step has 'vit' in its name; the first is"):
        names(both, "vit")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (empty(), "it has no cases"),
        (failed(), "1 case has no device pass: failed, no operator"),
        (
            msgspec.structs.replace(
                floor_result(), kind="model_latency", cases=[case("eager", device_pass=None)] * 2
            ),
            "2 cases have no device pass: the device was not traced",
        ),
        (
            msgspec.structs.replace(
                floor_result(),
                kind="model_latency",
                cases=[case("eager", device="cpu", device_pass=None)],
            ),
            "1 case has no device pass: the cpu runs operations inline",
        ),
    ],
)
def test_what_has_no_timeline_is_told(result: Result, told: str) -> None:
    found = choose(question(result))
    assert (list(found.timelines), list(found.left_out)) == ([], [f"a.json: {told}"])


def test_a_failed_case_is_left_out_of_others() -> None:
    mixed = swept(batches=(1,), dtypes=("fp16",))
    cases_ = [*mixed.cases, absent_case("torchscript", "skipped", "not here")]
    found = choose(question(msgspec.structs.replace(mixed, cases=cases_)))
    assert len(found.timelines) == 3
    assert found.left_out == ["a.json: 1 case has no device pass: skipped, not here"]


def test_steps_without_work_and_traces_without_a_device_are_told() -> None:
    idle = Source("idle.json", trace=read(STEPS, MANY, [annotation("ProfilerStep#3", 3_000, 5)]))
    host = Source("host.json", trace=read([call(0, 1)]))
    found = choose(Question((idle, host)))
    assert len(found.timelines) == 2
    assert found.left_out == [
        "idle.json: 1 step launched nothing that the device did",
        "host.json: the trace has no device activity",
    ]
