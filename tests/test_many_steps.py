"""Medians over the steps of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from profiler_traces import annotation, launched
from synthetic_pipelines import given_floor, launches, operations
from traced_pipelines import US, read, traced

from ftax_micro.analysis.traces.many_steps import LEAST_STEPS, ManySteps, many_steps
from ftax_micro.analysis.traces.step_bounds import StepBounds, trace_bounds
from ftax_micro.analysis.traces.steps import annotated, profiler_steps

FLOORS = {0: given_floor(), 1: given_floor()}


def steps(paces_us: list[float], *more: Any) -> list[StepBounds]:
    """Steps of five kernels, so far apart."""
    ops, asked = operations([3.0] * 5), launches(5)
    events: list[Any] = []
    for number, pace in enumerate(paces_us):
        begins = np.arange(5) * pace * US
        events += traced(ops, asked, begins, at_us=1000.0 * number, number=number + 1)[0]
    trace = read(events, *more)
    return list(trace_bounds(trace, profiler_steps(trace), FLOORS).steps)


def summary(found: list[StepBounds]) -> ManySteps:
    (one,) = many_steps(found)
    return one


def test_medians_over_steps_with_the_interval_that_their_number_allows() -> None:
    found = steps([10, 11, 12, 13, 14, 15, 16])
    one = summary(found)
    taxes = sorted(each.bounds.tax.value for each in found)  # type: ignore[union-attr]
    assert one.bounds.tax is not None
    assert one.bounds.tax == pytest.approx((taxes[3], taxes[0], taxes[6]))
    assert one.bounds.latency.value == pytest.approx((4 * 13 + 4 + 3 + 3) * US)
    assert one.bounds.device is not None
    assert one.bounds.device.seconds.value == pytest.approx((4 + 15 + 4 + 3) * US)
    assert (one.label, one.device, one.count) == ("7 × ProfilerStep#n", 0, 7)
    assert (one.launches, one.operations, one.queue_depth) == (5, 5, 0)
    assert one.launch_delay_s == pytest.approx(2 * US)
    assert one.occupied.value == 0
    assert one.regime is not None
    assert one.regime.name == "framework-bound"
    assert sum(one.idle_by_cause.values()) == pytest.approx(one.idle.value)


def test_steps_on_both_sides_of_the_line_leave_it_ambiguous() -> None:
    one = summary(steps([2, 2, 2, 2, 30, 30, 30, 30]))
    assert one.regime is not None
    assert one.regime.name == "ambiguous"


def test_few_steps_have_no_median() -> None:
    assert many_steps(steps([10.0] * (LEAST_STEPS - 1))) == []
    assert len(many_steps(steps([10.0] * LEAST_STEPS))) == 1


def test_steps_without_bounds_are_not_counted() -> None:
    empty = [annotation("ProfilerStep#99", 9000, 20)]
    assert summary(steps([10.0] * LEAST_STEPS, empty)).count == LEAST_STEPS


def test_each_device_has_its_own_and_annotations_of_one_name_are_told_by_it() -> None:
    events: list[Any] = []
    for number in range(LEAST_STEPS):
        at = 200 * number
        events.append(annotation("forward", at, 150))
        events += launched(2 * number + 1, at, 2, at + 10, 20 + number)
        events += launched(2 * number + 2, at + 50, 2, at + 60, 5, device=1)
    trace = read(events)
    found = many_steps(trace_bounds(trace, annotated(trace, "forward"), FLOORS).steps)
    assert [(each.label, each.device) for each in found] == [("6 × forward", 0), ("6 × forward", 1)]
    assert found[0].busy.value > found[1].busy.value


def test_windows_of_a_kind_differ_in_their_numbers_alone() -> None:
    events: list[Any] = []
    for number in range(LEAST_STEPS):
        at = 200 * number
        events += [annotation(f"layer {number}", at, 90), annotation("loss", at + 100, 90)]
        events += launched(2 * number + 1, at, 2, at + 10, 20)
        events += launched(2 * number + 2, at + 100, 2, at + 110, 20)
    trace = read(events)
    found = many_steps(trace_bounds(trace, annotated(trace, "l*"), FLOORS).steps)
    assert {each.label for each in found} == {"6 × layer n", "6 × loss"}


def test_one_invalid_step_makes_all_of_them_so() -> None:
    one = summary(steps([10.0] * LEAST_STEPS, [annotation("ProfilerStep#99", 0, 300e6)]))
    assert one.regime is not None
    assert one.regime.name == "invalid"
