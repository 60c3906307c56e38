"""Bounds of steps of traces: exact where pipelines are known, and what traces do not tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nsight_exports import export_of, graph
from profiler_traces import annotation, call, kernel, launched
from synthetic_pipelines import (
    FLOOR,
    given_floor,
    launches,
    mixed_forwards,
    operations,
)
from traced_pipelines import SYNC, US, bounds_in_truth, read, traced

from ftax_micro.analysis.bounding.pipeline import CallKind, least_begins, pipeline_latency
from ftax_micro.analysis.floor.values import FloorValues
from ftax_micro.analysis.traces.nsight import read_nsight_export
from ftax_micro.analysis.traces.step_bounds import (
    NO_DEVICE,
    NOTHING,
    StepBounds,
    TraceBounds,
    trace_bounds,
    without_wait,
)
from ftax_micro.analysis.traces.step_notes import NO_WAIT, STREAMS
from ftax_micro.analysis.traces.steps import annotated, profiler_steps, whole

FLOORS = {0: given_floor(), 1: given_floor()}
MANY = 30


def of_steps(*events: Any, floors: Any = FLOORS) -> TraceBounds:
    trace = read(*events)
    return trace_bounds(trace, profiler_steps(trace) or whole(trace), floors)


def one(*events: Any, floors: Any = FLOORS) -> StepBounds:
    (found,) = of_steps(*events, floors=floors).steps
    return found


def micro(bound: Any) -> float | None:
    return None if bound is None else bound.seconds.value / US


def whole_ns(most: int) -> Any:
    """Microseconds that are whole nanoseconds, as traces have them."""
    return st.integers(1, most).map(lambda ns: ns / 1000)


@settings(max_examples=40, deadline=None)
@given(mixed_forwards(whole_ns(60_000), whole_ns(30_000), st.just(True)))
def test_bounds_from_a_trace_are_those_of_what_was_traced(pipeline: Any) -> None:
    ops, asked, begins = pipeline
    events, latency = traced(ops, asked, begins)
    found, truth = one(events).bounds, bounds_in_truth(ops, asked, begins, latency)
    assert found is not None
    assert found.path == truth.path
    for name in ("device", "launch", "graph", "own"):
        assert micro(getattr(found, name)) == pytest.approx(micro(getattr(truth, name)), rel=1e-9)
    assert found.latency.value == pytest.approx(latency, rel=1e-9)
    assert found.tax is not None
    assert found.tax.value == pytest.approx(truth.tax.value, abs=1e-12)  # type: ignore[union-attr]


def test_the_tax_of_whole_microseconds_is_within_its_interval() -> None:
    """Ends of latency and durations are cut to the tick, each on its own: the host is behind."""
    rng = np.random.default_rng(0)
    held, widths, errors = [], [], []
    for _ in range(120):
        ops, asked = operations(list(rng.uniform(2, 20, MANY))), launches(MANY)
        begins = np.cumsum(rng.uniform(20, 40, MANY)) * US
        events, latency = traced(ops, asked, begins, at_us=float(rng.uniform(0, 1)), whole=True)
        truth = latency - float(
            pipeline_latency(ops, asked, least_begins(ops, asked, FLOOR), FLOOR)
        )
        tax = one(events).bounds.tax  # type: ignore[union-attr]
        assert tax is not None
        held.append(tax.low <= truth <= tax.high)  # type: ignore[operator]
        widths.append(tax.high - tax.low)  # type: ignore[operator]
        errors.append(tax.value - truth)
    assert 0.93 <= np.mean(held) <= 0.99
    assert np.median(widths) <= 1.3 * 2 * 1.96 * np.std(errors)


@pytest.mark.parametrize(
    ("kernel_us", "host_us", "regime"),
    [(100.0, 5.0, "device-bound"), (0.2, 2.0, "launch-bound"), (3.0, 20.0, "framework-bound")],
)
def test_the_regime_is_that_of_the_pipeline(kernel_us: float, host_us: float, regime: str) -> None:
    ops, asked = operations([kernel_us] * MANY), launches(MANY)
    found = one(traced(ops, asked, np.arange(MANY) * host_us * US)[0])
    assert found.regime is not None
    assert found.regime.name == regime


def test_a_device_behind_its_host_is_device_bound() -> None:
    """The host of two steps launches all their kernels in 200 µs, which take 3 ms each."""
    ops, asked = operations([100.0] * MANY), launches(MANY)
    begins = least_begins(ops, asked, FLOOR)
    first, latency = traced(ops, asked, begins, waits=False)
    again = []
    for number in range(MANY):
        at = 100.0 + 2 * number
        start = round(latency / US + 1 + 101 * number, 3)
        again += launched(20_000 + number, at, 2, start, 100)
    first[-1]["dur"] = 99
    steps = of_steps(first, again, [annotation("ProfilerStep#2", 100, 60)])
    second = steps.steps[1]
    # What was left of the first, the second's own, a gap before each but the first.
    left = latency / US - 100
    assert micro(second.bounds.device) == pytest.approx(left + MANY * 101)  # type: ignore[union-attr]
    assert second.regime is not None
    assert second.regime.name == "device-bound"
    assert any(note.endswith("ms of 30 operations") for note in second.notes)
    assert NO_WAIT in steps.notes


def test_the_wait_counts_where_the_host_waited_for_the_end() -> None:
    ops, asked = operations([10.0]), launches(1)
    waited, _ = traced(ops, asked, np.zeros(1))
    left, _ = traced(ops, asked, np.zeros(1), waits=False)
    assert micro(one(waited).bounds.device) == pytest.approx(4 + 10 + 3)  # type: ignore[union-attr]
    assert micro(one(left).bounds.device) == pytest.approx(4 + 10)  # type: ignore[union-attr]
    assert NO_WAIT in one(left).notes
    assert NO_WAIT not in one(waited).notes


def test_without_the_wait_a_graph_starts_as_it_did() -> None:
    floor = without_wait(given_floor()).point()
    assert floor.sync == 0
    assert floor.graph_start == pytest.approx(FLOOR.graph_start)
    assert floor.graph_gap == pytest.approx(FLOOR.graph_gap)
    assert without_wait(FloorValues(to_start=given_floor().to_start)).point().graph_start is None


def test_each_device_has_bounds_of_what_was_launched_for_it() -> None:
    """Two threads; the host's second launch is for the other device."""
    events = [
        annotation("ProfilerStep#1", 0, 200),
        *launched(1, 0, 2, 10, 50),
        *launched(2, 100, 2, 110, 20, device=1),
        *launched(3, 120, 2, 170, 20, device=1, tid=11),
    ]
    found = of_steps(events)
    first, second = found.steps
    assert micro(first.bounds.launch) == pytest.approx(4 + 50)  # type: ignore[union-attr]
    assert micro(second.bounds.launch) == pytest.approx(4 + 20 + 1 + 20)  # type: ignore[union-attr]
    assert [each.step.device for each in found.steps] == [0, 1]
    assert any(note.startswith("2 devices: ") for note in found.notes)
    assert any(note.startswith("2 threads ") for note in second.notes)
    assert not any(note.startswith("2 threads ") for note in first.notes)


def taking_turns(number: int) -> StepBounds:
    """Two streams that take turns for 100 µs each, all launched in the beginning."""
    end = 5 + 100 * number
    events = [annotation("ProfilerStep#1", 0, end + 5), call(2 * number, end + 1, 999, name=SYNC)]
    for each in range(number):
        events += launched(each + 1, 2 * each, 2, 5 + 100 * each, 100, stream=7 + each % 2)
    return one(events)


def test_streams_that_may_have_waited_for_each_other_leave_the_regime_open() -> None:
    """Busy all the time, and for half of it if they could have run side by side."""
    found = taking_turns(10)
    assert found.regime is not None
    assert found.regime.name == "ambiguous"
    assert found.regime.candidates == ("device-bound", "framework-bound")
    assert "busy for 99.0%" in found.regime.reason
    assert STREAMS in found.notes


def test_launches_that_find_their_stream_busy_hold_nothing_up() -> None:
    found = taking_turns(40)
    assert found.regime is not None
    assert found.regime.name == "device-bound"
    assert "95.0% of the launches found their stream busy" in found.regime.reason


def test_overlaps_orphans_and_odd_launches_are_told() -> None:
    events = [
        annotation("ProfilerStep#1", 0, 200),
        *launched(1, 10, 5, 20, 30),
        *launched(2, 30, 5, 40, 30),  # before the first is over
        *launched(3, 80, 9, 85, 10),  # before its call has returned
        call(100, 2, 4),  # of which nothing is seen
        kernel(150, 10),  # which nobody called
    ]
    found = one(events)
    assert found.bounds is not None
    notes = " ".join(found.notes)
    assert "alone in every bound: 1 of 4" in notes
    assert "wait for what is before them alone: 1 of 4" in notes
    assert "launches without an operation in the trace: 1" in notes
    assert "launch delay: median 5 µs, most 5 µs, 1 of 3 below 0" in notes
    assert "queued when a launch began: median 0, most 1" in notes
    early = [annotation("ProfilerStep#1", 0, 200), *launched(1, 50, 9, 40, 10)]
    assert any("1 begun before the call: clocks disagree" in note for note in one(early).notes)


def test_what_has_no_bounds_says_why() -> None:
    assert one([annotation("ProfilerStep#1", 0, 9)], floors={}).reason == NO_DEVICE
    events = [annotation("ProfilerStep#1", 0, 9), *launched(1, 20, 2, 30, 5)]
    assert one(events).reason == NOTHING
    none = {0: FloorValues(reasons={"to_start": "it was not measured"})}
    late = [annotation("ProfilerStep#1", 0, 9), *launched(1, 2, 2, 5, 5)]
    assert one(late, floors=none).reason == "it was not measured"
    submit = given_floor().submit[CallKind.COPY]
    floor = FloorValues(
        to_start=submit, sync=submit, submit={}, reasons={"submit_launch": "no launch was timed"}
    )
    found = one(late, floors={0: floor})
    assert found.bounds is not None
    assert found.bounds.launch is None
    assert "no launch bound and no tax: no launch was timed" in found.notes


def test_a_whole_trace_is_told_how_to_be_cut() -> None:
    events = [annotation("forward", 0, 50), *launched(1, 2, 2, 8, 5)]
    assert any("annotations of a name, which are 'forward'" in n for n in of_steps(events).notes)


def test_a_step_that_takes_minutes_is_invalid() -> None:
    events = [annotation("ProfilerStep#1", 0, 300e6), *launched(1, 10, 5, 20, 30)]
    regime = one(events).regime
    assert regime is not None
    assert regime.name == "invalid"
    assert "a latency of 300 s can't be right" in regime.reason


def test_graphs_that_were_recorded_whole_are_one_operation(tmp_path: Path) -> None:
    events = [
        annotation("forward", 0, 500),
        *launched(1, 10, 2, 20, 30),
        call(100, 8, 2, name="cudaGraphLaunch"),
        graph(120, 200, 2),
    ]
    trace = read_nsight_export(export_of(events, tmp_path / "a.sqlite"))
    (found,) = trace_bounds(trace, annotated(trace, "forward"), FLOORS).steps
    assert found.bounds is not None
    assert found.bounds.path == "mixed"
    # The launch, its call of 2 µs over, then 7 to the graph's start; nothing waits for its end.
    assert micro(found.bounds.own) == pytest.approx(4 + 30 + 1 + 200)
    assert micro(found.bounds.launch) == pytest.approx(4 + 30 + 1 + 200)
    assert any(note.endswith("one operation in all bounds: 1") for note in found.notes)
