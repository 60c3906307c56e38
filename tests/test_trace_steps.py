"""Figures per step whose answers are known, and the same by looking at every microsecond."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiler_traces import Event, annotation, call, kernel, launched, trace_text

from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.events import NONE, Trace
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.traces.steps import (
    Step,
    Window,
    analyse_steps,
    annotated,
    profiler_steps,
    whole,
    within_ticks,
)
from ftax_micro.analysis.traces.timeline import CAUSES
from ftax_micro.errors import UsageError
from ftax_micro.stats import Estimate

US = 1e-6
SYNC = "cudaStreamSynchronize"


def read(*events: Event | list[Event]) -> Trace:
    flat = [e for each in events for e in (each if isinstance(each, list) else [each])]
    return read_pytorch_trace(trace_text(flat))


def us(estimate: Estimate | None) -> float:
    assert estimate is not None
    return round(estimate.value / US, 6)


def parts(step: Step) -> dict[str, float]:
    """Microseconds of busy, occupied and each cause that is not 0."""
    found = {"busy": us(step.busy), "occupied": us(step.occupied)}
    found.update({cause: us(part) for cause, part in step.idle_by_cause.items()})
    assert list(step.idle_by_cause) == list(CAUSES)
    assert us(step.idle) == pytest.approx(sum(map(us, step.idle_by_cause.values())))
    return {name: value for name, value in found.items() if value}


def test_a_synchronised_step_is_split_exactly() -> None:
    trace = read(
        annotation("ProfilerStep#1", 100, 55),
        launched(1, 110, 4, 116, 10),
        launched(2, 130, 4, 137, 10),
        call(135, 14, 3, name=SYNC),
    )
    (step,) = analyse_steps(trace, profiler_steps(trace))
    assert step.window == Window("ProfilerStep#1", 0, 55_000)
    assert step.device == 0
    assert us(step.host) == us(step.latency) == 55
    assert parts(step) == {
        "busy": 20,
        "not launched": 10 + 4 + 6,  # before each launch, and from the wait's end
        "launching": 4 + 4,
        "waiting": 2 + 3,
        "synchronising": 2,  # from the last kernel's end until the host is back
    }
    assert step.launch_limited_s == pytest.approx(28 * US)
    assert step.launches == {"launch": 2}
    assert step.operations == {"kernel": 2}
    assert step.launch_delays_s == pytest.approx([2 * US, 3 * US])
    assert step.queue_depths.tolist() == [0, 0]
    assert step.index.tolist() == [0, 1]


def test_the_wait_that_counts_is_that_of_the_launching_thread() -> None:
    gap = [*launched(1, 0, 1, 2, 3), *launched(2, 20, 1, 22, 3)]
    for thread, waited in ((10, 8), (11, 0)):
        trace = read(gap, call(4, 9, 9, name=SYNC, tid=thread))
        (step,) = analyse_steps(trace, whole(trace))
        assert us(step.idle_by_cause["synchronising"]) == waited
        assert us(step.idle_by_cause["not launched"]) == 15 - waited


def test_streams_run_side_by_side_and_copies_and_sets_are_busy_time() -> None:
    trace = read(
        launched(1, 0, 1, 10, 10),
        launched(2, 1, 1, 15, 10, stream=8),
        launched(3, 2, 1, 17, 2, stream=9, cat="gpu_memcpy"),
        launched(4, 3, 1, 25, 5, cat="gpu_memset"),
    )
    (step,) = analyse_steps(trace, whole(trace))
    assert us(step.busy) == 20
    assert step.operations == {"kernel": 2, "copy": 1, "set": 1}
    assert step.overlapping == 0


def test_each_device_has_its_own_figures() -> None:
    trace = read(launched(1, 0, 1, 10, 10), launched(2, 2, 1, 5, 40, device=1))
    first, second = analyse_steps(trace, whole(trace))
    assert (first.device, second.device) == (0, 1)
    assert (us(first.busy), us(second.busy)) == (10, 40)
    assert us(first.latency) == us(second.latency) == 45


def test_work_is_of_the_step_that_launched_it_and_occupies_the_next() -> None:
    trace = read(
        annotation("ProfilerStep#1", 0, 20),
        annotation("ProfilerStep#2", 20, 20),
        launched(1, 2, 1, 5, 30),
        launched(2, 22, 1, 36, 30),
        call(30, 1, 3),
    )
    one, two = analyse_steps(trace, profiler_steps(trace))
    assert (us(one.host), us(one.latency)) == (20, 35)
    assert parts(one) == {"busy": 30, "not launched": 2, "launching": 1, "waiting": 2}
    assert (us(two.host), us(two.latency)) == (20, 46)
    assert parts(two) == {"busy": 30, "occupied": 15, "waiting": 1}
    assert two.queue_depths.tolist() == [1]
    assert (one.launches_without_operation, two.launches_without_operation) == (0, 1)


def test_between_the_nodes_of_a_graph_the_device_waits() -> None:
    nodes = [kernel(10 + 3 * i, 2, 5) for i in range(1000)]
    trace = read(annotation("replay", 0, 8), call(0, 6, 5, name="cuGraphLaunch"), nodes)
    (step,) = analyse_steps(trace, annotated(trace, "replay"))
    assert step.launches == {"graph launch": 1}
    assert step.operations == {"kernel": 1000}
    assert parts(step) == {"busy": 2000, "launching": 6, "waiting": 4 + 999}
    assert step.launch_delays_s == pytest.approx([4 * US])


def test_work_from_before_the_trace_belongs_to_no_step_but_to_the_whole() -> None:
    trace = read(
        annotation("ProfilerStep#1", 0, 30),
        kernel(1, 4, 3),
        launched(9, 10, 1, 12, 4),
        kernel(20, 5),  # without an id
    )
    (step,) = analyse_steps(trace, profiler_steps(trace))
    assert parts(step) == {
        "busy": 9,
        "occupied": 4,
        "not launched": 5 + 5,
        "launching": 1,
        "waiting": 1 + 1,
        "other": 4,
    }
    assert (step.without_call, step.operations) == (1, {"kernel": 2})
    (all_of_it,) = analyse_steps(trace, whole(trace))
    assert (us(all_of_it.busy), us(all_of_it.occupied)) == (13, 0)
    assert all_of_it.without_call == 2


def test_negative_delays_and_overlaps_are_counted() -> None:
    trace = read(launched(1, 0, 5, 3, 10), launched(2, 6, 5, 5.5, 10), launched(3, 20, 2, 22, 1))
    (step,) = analyse_steps(trace, whole(trace))
    assert step.launch_delays_s == pytest.approx([-2 * US, -5.5 * US, 0])
    assert (step.negative_launch_delays, step.begun_before_call, step.overlapping) == (2, 1, 1)


def test_windows_by_name_may_overlap_and_a_wrong_name_is_an_error() -> None:
    trace = read(
        annotation("outer", 0, 30),
        annotation("forward", 1, 20),
        annotation("forward", 5, 10),
        launched(1, 6, 1, 8, 2),
    )
    steps = analyse_steps(trace, annotated(trace, "forward"))
    assert [us(each.busy) for each in steps] == [2, 2]
    assert [us(each.latency) for each in steps] == [20, 10]
    with pytest.raises(UsageError, match="no annotation named 'backward'"):
        annotated(trace, "backward")
    assert [each.label for each in annotated(trace, "*o*")] == ["outer", "forward", "forward"]
    assert profiler_steps(trace) == []
    assert analyse_steps(trace, []) == []


def test_a_name_with_stars_is_that_name_before_it_is_a_pattern() -> None:
    trace = read(annotation("step *", 0, 30), annotation("step 1", 40, 20), call(3, 1, 1))
    assert [each.label for each in annotated(trace, "step *")] == ["step *"]
    assert [each.label for each in annotated(trace, "step ?")] == ["step *", "step 1"]
    assert [each.label for each in annotated(trace, "step [0-9]")] == ["step 1"]


def test_without_device_activity_the_device_times_are_undefined() -> None:
    trace = read(annotation("ProfilerStep#1", 0, 30), call(3, 1, 1))
    (step,) = analyse_steps(trace, profiler_steps(trace))
    times = [step.device, step.busy, step.occupied, step.idle, step.launch_limited_s]
    assert times == [None] * 5
    assert (step.idle_by_cause, step.operations, step.launches) == ({}, {}, {})
    assert us(step.latency) == 30
    assert step.launches_without_operation == 1


def test_whole_microseconds_are_known_to_a_tick() -> None:
    coarse = read(annotation("ProfilerStep#1", 0, 30), launched(1, 6, 1, 8, 2))
    fine = read(annotation("ProfilerStep#1", 0, 30.5), launched(1, 6, 1, 8, 2))
    for trace, tick in ((coarse, US), (fine, 1e-9)):
        (step,) = analyse_steps(trace, profiler_steps(trace))
        for each in (step.host, step.latency, step.busy):
            assert each is not None
            assert each.low == pytest.approx(each.value - tick)
            assert each.high == pytest.approx(each.value + tick)


def test_errors_of_many_ends_add_up_like_independent_ones() -> None:
    """Ends drawn at random and cut to whole ticks: the interval covers the truth 19 times in 20."""
    rng = np.random.default_rng(5)
    ends = rng.uniform(0, 1e4, size=(2000, 60, 2))
    errors = np.diff(np.floor(ends) - ends).sum(axis=(1, 2))
    high = within_ticks(0, 60, 1).high
    assert high is not None
    assert 0.93 < (np.abs(errors) * 1e-9 <= high).mean() < 0.97
    assert high == pytest.approx(1.96 * math.sqrt(10) * 1e-9)
    assert within_ticks(5, 0, 1000) == Estimate(5e-9, 5e-9, 5e-9)


times = st.integers(0, 40)
short = st.integers(0, 6)
threads = st.integers(10, 11)
operation = st.fixed_dictionaries(
    {
        "called": times,
        "took": short,
        "tid": threads,
        "start": times,
        "dur": short,
        "device": st.integers(0, 1),
        "kind": st.sampled_from(["launched", "launched", "no id", "earlier"]),
    }
)
waits = st.lists(st.tuples(times, short, threads), max_size=3)


def events_of(operations: list[dict[str, Any]], waits: list[tuple[int, int, int]]) -> list[Event]:
    events = [call(0, 0, 2, name="cudaGetDevice")]
    for i, each in enumerate(operations):
        identity = {"launched": i + 3, "no id": None, "earlier": 1}[each["kind"]]
        events.append(kernel(each["start"], each["dur"], identity, device=each["device"]))
        if each["kind"] == "launched":
            events.append(call(each["called"], each["took"], i + 3, tid=each["tid"]))
    return events + [
        call(start, dur, 100 + i, name=SYNC, tid=tid) for i, (start, dur, tid) in enumerate(waits)
    ]


def cause_of(trace: Trace, device: int, time: int) -> str:
    """What the device did in the nanoseconds from `time`, by looking at all operations."""
    found = correlate(trace)
    mine = np.flatnonzero(trace.operations.device == device)
    start, end = trace.operations.start_ns, trace.operations.end_ns
    if any(start[i] <= time < end[i] for i in mine):
        return "busy"
    ahead = [i for i in mine if start[i] > time]
    owner = found.call[ahead[0]] if ahead else NONE
    if ahead and owner == NONE:
        return "waiting" if found.earlier[ahead[0]] else "other"
    launched_before = [i for i in mine if found.call[i] != NONE]
    if not ahead and not launched_before:
        return "other"
    calls = trace.calls
    if ahead and time >= calls.end_ns[owner]:
        return "waiting"
    if ahead and time >= calls.start_ns[owner]:
        return "launching"
    thread = calls.thread[owner if ahead else found.call[launched_before[-1]]]
    blocked = calls.blocks & (calls.thread == thread) & (calls.start_ns <= time)
    return "synchronising" if np.any(blocked & (calls.end_ns > time)) else "not launched"


@settings(max_examples=50, deadline=None)
@given(st.lists(operation, max_size=6), waits, times, times)
def test_every_microsecond_is_given_to_one_cause(
    operations: list[dict[str, Any]], waits: list[tuple[int, int, int]], begin: int, end: int
) -> None:
    trace = read(events_of(operations, waits))
    window = Window("w", min(begin, end) * 1000, max(begin, end) * 1000)
    for step in analyse_steps(trace, [window]):
        if step.device is None or step.busy is None or step.occupied is None:
            continue
        last = window.begin_ns + round(step.latency.value * 1e9)
        counted = dict.fromkeys(["busy", *CAUSES], 0)
        for time in range(window.begin_ns, last, 1000):
            counted[cause_of(trace, step.device, time)] += 1
        found = {cause: us(part) for cause, part in step.idle_by_cause.items()}
        found["busy"] = round(us(step.busy) + us(step.occupied), 6)
        assert found == pytest.approx(counted)
