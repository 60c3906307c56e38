"""The floor of a trace's own shortest launches, and when there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from profiler_traces import annotation, call, kernel, launched
from synthetic_pipelines import FLOOR, calls, launches, operations
from traced_pipelines import SYNC, US, read, traced

from ftax_micro.analysis.bounding.pipeline import CallKind, least_begins, pipeline_latency
from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.own_floor import LEAST, OwnFloor, own_floors
from ftax_micro.analysis.traces.step_bounds import trace_bounds
from ftax_micro.analysis.traces.steps import profiler_steps

MANY = 12


def floors(*events: Any) -> dict[int, OwnFloor]:
    trace = read(*events)
    return own_floors(trace, correlate(trace))


def idle(number: int, to_start: float, *, first: int = 1, **kinds: Any) -> list[Any]:
    """So many launches, 100 µs apart: each finds its stream idle."""
    each = [launched(first + i, 100 * i, 3, 100 * i + to_start, 10, **kinds) for i in range(number)]
    return [event for events in each for event in events]


def test_the_least_of_idle_launches_and_the_shortest_call_of_each_kind() -> None:
    events = [
        *idle(MANY, 9.5),
        *launched(50, 1500, 2.5, 1506.5, 10),
        *launched(51, 1503, 2, 1509, 10),  # queued: from call to start it takes less
        call(1600, 7, 52, name="cudaMemcpyAsync"),
        kernel(1604, 2, 52, cat="gpu_memcpy"),
        call(1700, 0.5, 53),  # of which nothing was seen
    ]
    found = floors(events)[0]
    assert found.values is not None
    values = found.values.point()
    assert values.to_start == pytest.approx(6.5e-6)
    assert (values.gap, values.sync) == (0, 0)
    assert values.submit == pytest.approx({CallKind.LAUNCH: 2e-6, CallKind.COPY: 7e-6})
    assert values.graph_start is None
    assert found.values.why_not("graph_launch")
    (note,) = found.notes
    assert "call to start 6.5 µs, the least of 13 " in note
    assert "launch call 2 µs, copy call 7 µs" in note


def test_too_few_launches_are_no_floor() -> None:
    found = floors(idle(LEAST - 1, 9))[0]
    assert found.values is None
    assert found.reason is not None
    assert f"{LEAST - 1} launches, of {LEAST}" in found.reason
    assert "--floor" in found.reason
    assert floors(idle(LEAST, 9))[0].values is not None


def test_where_all_launches_wait_the_start_is_unknown() -> None:
    """A device that is never idle: bounds without a start, and a regime none the less."""
    events = [annotation("ProfilerStep#1", 0, 20), call(19, 990, 99, name=SYNC)]
    for number in range(MANY):
        events += launched(number + 1, number, 1, 8 + 80 * number, 80)
    trace = read(events)
    found = trace_bounds(trace, profiler_steps(trace))
    (step,) = found.steps
    assert step.bounds is not None
    assert step.bounds.device is not None
    assert step.bounds.device.seconds.value == pytest.approx(MANY * 80 * US)
    assert step.regime is not None
    assert step.regime.name == "device-bound"
    assert "call to start unknown, since fewer than 10 launches found" in found.notes[0]


def test_clocks_that_disagree_are_no_floor_and_one_launch_of_many_is_left_aside() -> None:
    off = floors(idle(MANY, -2))[0]
    assert off.values is None
    assert off.reason is not None
    assert f"{MANY} operations began before the call that launched them" in off.reason
    odd = launched(900, 20_000, 3, 19_995, 10)
    found = floors(idle(150, 9), odd)[0]
    assert found.values is not None
    assert found.values.point().to_start == pytest.approx(9e-6)
    assert found.notes[-1].endswith("are not in the trace's own floor: 1")


def test_a_replayed_graph_has_its_own_start_or_that_of_a_launch() -> None:
    graphs = []
    for number in range(MANY):
        at = 5000 + 100 * number
        graphs.append(call(at, 20, 500 + number, name="cudaGraphLaunch"))
        graphs += [kernel(at + 12 + 5 * each, 5, 500 + number) for each in range(3)]
    both = floors(idle(MANY, 9), graphs)[0].values
    assert both is not None
    assert both.point().graph_start == pytest.approx(12e-6)
    assert both.point().graph_gap == 0
    alone = floors(graphs)[0].values
    assert alone is not None
    assert alone.point().to_start == pytest.approx(12e-6)
    off = [
        each | {"ts": each["ts"] - 15} if "Graph" not in each["name"] else each for each in graphs
    ]
    many = floors(idle(2000, 9, first=10_000, stream=8), off)[0].values
    assert many is not None
    assert many.point().graph_start == pytest.approx(9e-6)
    few = floors(idle(MANY, 9), graphs[:8])[0]
    assert few.values is not None
    assert few.values.point().graph_start == pytest.approx(9e-6)
    assert any("each is charged what a kernel" in note for note in few.notes)


def test_each_device_has_its_own() -> None:
    found = floors(
        idle(MANY, 9), idle(MANY, 7, first=100, device=1), idle(1, 5, first=300, device=2)
    )
    starts = [each.values.point().to_start for each in found.values() if each.values]
    assert starts == pytest.approx([9e-6, 7e-6])
    assert found[2].values is None


def test_whole_microseconds_are_known_to_a_tick_either_way() -> None:
    values = floors(idle(MANY, 9))[0].values
    assert values is not None
    assert values.to_start is not None
    assert values.to_start.estimate == pytest.approx((9e-6, 8e-6, 10e-6))
    drawn = values.to_start.drawn(1000, np.random.default_rng(0))
    assert 8e-6 < drawn.min() < 8.2e-6
    assert 9.8e-6 < drawn.max() < 10e-6


def test_bounds_by_it_are_those_of_the_pipeline_whose_launches_it_saw() -> None:
    """With a floor whose gap and wait are 0, as those of a trace are."""
    floor = type(FLOOR)(to_start=4 * US, gap=0.0, sync=0.0, submit={CallKind.LAUNCH: 2 * US})
    ops, asked = operations([3.0] * MANY), launches(MANY)
    begins = np.arange(MANY) * 10 * US
    events, latency = traced(ops, asked, begins, floor)
    trace = read(events)
    found = trace_bounds(trace, profiler_steps(trace))
    (step,) = found.steps
    assert step.bounds is not None
    assert step.bounds.tax is not None
    launch = float(pipeline_latency(ops, asked, least_begins(ops, asked, floor), floor))
    assert step.bounds.tax.value == pytest.approx(latency - launch, rel=1e-9)
    assert "no graph bound: no graph was launched" in " ".join(step.notes)
    assert found.notes[0].startswith("bounds by the trace's own floor")


def test_a_trace_without_a_floor_of_its_own_keeps_its_figures() -> None:
    trace = read([annotation("ProfilerStep#1", 0, 99)], idle(1, 9))
    (step,) = trace_bounds(trace, profiler_steps(trace)).steps
    assert step.bounds is None
    assert step.reason is not None
    assert "1 launches, of 10" in step.reason
    assert step.step.busy is not None
    assert any("queued when a launch began" in note for note in step.notes)


def test_kinds_of_calls_without_an_operation_are_not_asked_for() -> None:
    ops, asked = operations([3.0, 3.0]), calls(CallKind.COPY, CallKind.SET)
    events, _ = traced(ops, asked, np.array([0.0, 50.0]) * US)
    found = floors([each | {"ts": each["ts"] + 9000} for each in events], idle(MANY, 9))[0]
    assert found.values is not None
    assert set(found.values.submit) == {CallKind.LAUNCH, CallKind.COPY, CallKind.SET}
