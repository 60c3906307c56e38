"""The pipeline model against its own recurrence, written as a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_pipelines import FLOOR, US, calls, launches, loop, operations, pipelines

from ftax_micro.analysis.bounding.pipeline import (
    NO_CALL,
    Array,
    CallKind,
    Calls,
    Floor,
    Operations,
    least_begins,
    pipeline_latency,
    run_pipeline,
)
from ftax_micro.analysis.streams import overlapping


def microseconds(values: Sequence[float]) -> Any:
    return pytest.approx([value * US for value in values], rel=1e-12)


def latency(ops: Operations, asked: Calls, begins_us: Sequence[float]) -> float:
    return float(pipeline_latency(ops, asked, np.asarray(begins_us) * US, FLOOR))


def test_a_slow_host_sets_the_pace() -> None:
    line = run_pipeline(operations([1, 1]), launches(2), [0, 10 * US], FLOOR)
    assert line.start_s == microseconds([4, 14])
    assert latency(operations([1, 1]), launches(2), [0, 10]) == pytest.approx(18 * US)


def test_a_slow_device_sets_the_pace() -> None:
    line = run_pipeline(operations([30, 10]), launches(2), [0, 10 * US], FLOOR)
    assert line.start_s == microseconds([4, 35])
    assert line.end_s == microseconds([34, 45])


def test_streams_run_side_by_side() -> None:
    ops = operations([30, 10, 5], stream=[7, 3, 7])
    line = run_pipeline(ops, launches(3), [0, 1 * US, 2 * US], FLOOR)
    assert line.start_s == microseconds([4, 5, 35])


def test_operations_of_a_graph_follow_at_its_own_spacing() -> None:
    ops = operations([2, 2, 2, 2], call=[0, 0, 1, 2])
    asked = calls(CallKind.GRAPH, CallKind.GRAPH, CallKind.LAUNCH)
    line = run_pipeline(ops, asked, [0, 0, 0], FLOOR)
    assert line.start_s == microseconds([7, 9.5, 12.5, 15.5])


def test_a_graph_of_several_streams_starts_in_each() -> None:
    ops = operations([2, 9, 2], call=[0, 0, 0], stream=[0, 1, 0])
    line = run_pipeline(ops, calls(CallKind.GRAPH), [US], FLOOR)
    assert line.start_s == microseconds([8, 8, 10.5])


def test_an_operation_without_a_call_waits_for_its_stream_alone() -> None:
    ops = operations([2, 2], call=[NO_CALL, 0])
    assert run_pipeline(ops, launches(1), [0], FLOOR).start_s == microseconds([0, 4])
    ops = operations([2, 2], call=[0, NO_CALL])
    assert run_pipeline(ops, launches(1), [0], FLOOR).start_s == microseconds([4, 7])


def test_what_overlaps_waits_for_its_call_alone_and_the_next_for_both() -> None:
    ops = operations([30, 2, 5], chained=[True, False, True])
    line = run_pipeline(ops, launches(3), [0, 2 * US, 4 * US], FLOOR)
    assert line.start_s == microseconds([4, 6, 35])
    assert ops.unchained == 1


def test_nothing_takes_no_time_and_one_operation_its_own() -> None:
    assert latency(operations([]), launches(0), []) == 0
    assert latency(operations([5]), launches(1), [0]) == pytest.approx(12 * US)


def test_a_graph_needs_its_floor() -> None:
    floor = Floor(to_start=0, gap=0, sync=0)
    with pytest.raises(ValueError, match="graph"):
        run_pipeline(operations([1]), calls(CallKind.GRAPH), [0], floor)


def test_resamples_run_at_once() -> None:
    ops, asked = operations([30, 1, 4]), launches(3)
    floors = [Floor(to_start=s * US, gap=g * US, sync=US) for s, g in ((4, 1), (9, -1))]
    both = Floor(to_start=[4 * US, 9 * US], gap=[US, -US], sync=US)
    begins = np.asarray([[0, 10, 50], [0, 1, 2]]) * US
    found = pipeline_latency(ops, asked, begins, both)
    alone = [
        pipeline_latency(ops, asked, one, floor) for one, floor in zip(begins, floors, strict=True)
    ]
    assert found == pytest.approx(np.array(alone))


def test_least_begins_charge_each_kind_its_own() -> None:
    asked = calls(CallKind.SET, CallKind.GRAPH, CallKind.COPY, CallKind.LAUNCH, CallKind.LAUNCH)
    ops = operations([1] * 14, call=[0, *[1] * 10, 2, 3, 4])
    assert least_begins(ops, asked, FLOOR) == microseconds([0, 1, 8, 13, 15])


def test_threads_call_side_by_side() -> None:
    asked = calls(*[CallKind.LAUNCH] * 4, thread=[0, 1, 0, 1])
    assert least_begins(operations([1] * 4), asked, FLOOR) == microseconds([0, 0, 2, 2])


def test_least_begins_of_nothing_and_of_a_kind_without_a_floor() -> None:
    assert least_begins(operations([]), launches(0), FLOOR).shape == (0,)
    bare = Floor(to_start=0, gap=0, sync=0)
    assert least_begins(operations([1]), launches(1), bare) == pytest.approx([0.0])
    with pytest.raises(KeyError):
        least_begins(operations([1, 1]), launches(2), bare)


def test_overlap_is_within_a_stream_and_in_most_forwards() -> None:
    stream = np.array([0, 1, 0, 0])
    starts = [[0, 1, 10, 12], [0, 1, 9, 12], [0, 1, 10, 12]]
    assert list(overlapping(stream, starts, [10, 10, 2, 1])) == [False] * 4
    assert list(overlapping(stream, starts[1], [10, 10, 2, 1])) == [False, False, True, False]
    # Not only the one before: what began earlier may end later.
    assert list(overlapping(np.zeros(3, int), [0, 2, 5], [10, 1, 1])) == [False, True, True]


@given(pipelines())
def test_the_running_maximum_is_the_recurrence(pipeline: tuple[Operations, Calls, Array]) -> None:
    ops, asked, begins = pipeline
    found = float(pipeline_latency(ops, asked, begins, FLOOR))
    assert found == pytest.approx(loop(ops, asked, begins, FLOOR), rel=1e-12, abs=1e-18)


@given(pipelines(), st.booleans())
def test_calls_that_begin_at_once_may_be_given_as_one(
    pipeline: tuple[Operations, Calls, Array], one_graph: bool
) -> None:
    ops, asked, _ = pipeline
    if one_graph:  # each in its stream follows one of the same launch
        asked = calls(CallKind.GRAPH)
        ops = Operations(ops.duration_s, np.zeros_like(ops.call), ops.stream, ops.chained | True)
    alike = np.zeros(asked.count)
    whole = loop(ops, asked, alike, FLOOR)
    found = pipeline_latency(ops, asked, np.zeros(1), FLOOR)
    assert float(found) == pytest.approx(whole, rel=1e-12, abs=1e-18)
    line = run_pipeline(ops, asked, np.zeros(1), FLOOR)
    assert np.array_equal(line.end_s, run_pipeline(ops, asked, alike, FLOOR).end_s)


@given(pipelines(), st.floats(0, 1))
def test_faster_kernels_are_never_slower(
    pipeline: tuple[Operations, Calls, Array], factor: float
) -> None:
    ops, asked, begins = pipeline
    faster = Operations(ops.duration_s * factor, ops.call, ops.stream, ops.chained)
    before = float(pipeline_latency(ops, asked, begins, FLOOR))
    after = float(pipeline_latency(faster, asked, begins, FLOOR))
    assert after <= before * (1 + 1e-12)


@given(pipelines())
def test_the_host_at_its_floor_is_never_slower(pipeline: tuple[Operations, Calls, Array]) -> None:
    ops, asked, begins = pipeline
    least = least_begins(ops, asked, FLOOR)
    later = np.maximum(begins, 0) + least  # any host is at least so late with each call
    at_floor = float(pipeline_latency(ops, asked, least, FLOOR))
    assert at_floor <= float(pipeline_latency(ops, asked, later, FLOOR)) * (1 + 1e-12)
