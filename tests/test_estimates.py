"""Independent estimates of framework time: what they are, and whether they agree."""

from __future__ import annotations

from typing import Any

import pytest
from ladder_results import rung
from timed_cases import GPU, busy, case

from ftax_micro.analysis.estimates import (
    FrameworkTime,
    FrameworkTimes,
    agreements,
    executed_difference,
    framework_times,
)
from ftax_micro.analysis.ladder_view import ladder_rows
from ftax_micro.records import Case
from ftax_micro.stats import Estimate


def first(*cases: Case, **more: Any) -> FrameworkTimes:
    return framework_times(cases, **more)[0]


def value(times: FrameworkTimes, name: str) -> float | None:
    seconds = times.get(name).seconds
    return None if seconds is None else seconds.value


def test_all_ways_find_the_framework_time_that_was_put_in() -> None:
    batches = [1, 2, 4, 8, 16, 32, 64, 128]
    swept = [
        case(max(5e-3, 0.4e-3 * x), 4.9e-3, batch=x, device_pass=busy(0.4e-3 * x)) for x in batches
    ]
    twin = case(5e-3, 4.8e-3, twin=True, sequence=2)
    rows = ladder_rows([rung("torch_inference_mode", 30e-6, device=GPU)])
    times = first(*swept, twin, rows=rows, taxes={0: Estimate(4.5e-3, 4.4e-3, 4.6e-3)})
    assert value(times, "host_s") == pytest.approx(4.9e-3)
    assert value(times, "sweep") == pytest.approx(5e-3)
    assert times.get("sweep").basis == "the plateau of the sweep over batch"
    assert value(times, "twin") == pytest.approx(4.8e-3)
    assert times.get("twin").basis == "host time of the zero-work twin"
    assert value(times, "ladder") == pytest.approx(3e-3)
    assert value(times, "latency_less_busy") == pytest.approx(4.6e-3)
    assert value(times, "tax") == 4.5e-3
    assert all(each.reason is None for each in times.estimates)
    assert len(times.agreements) == 7
    assert {each.verdict for each in times.agreements} == {"agree"}


def test_families_are_never_compared() -> None:
    times = first(case(9e-3, 1e-3, device_pass=busy(8.9e-3)), taxes={0: Estimate(5e-3, 5e-3, 5e-3)})
    (pair,) = times.agreements
    assert (pair.family, pair.first, pair.second) == ("exposed", "latency_less_busy", "tax")
    assert pair.verdict == "differ"


@pytest.mark.parametrize(
    ("first_s", "second_s", "verdict"),
    [
        ((1.0, 0.99, 1.01), (1.05, 1.04, 1.06), "agree"),
        ((1.0, 0.99, 1.01), (1.5, 1.4, 1.6), "differ"),
        ((1.0, 0.99, 1.01), (1.1, 1.0, 1.2), "ambiguous"),
        ((1.0, 0.8, 1.3), (1.0, 0.8, 1.3), "ambiguous"),
        ((1.0, None, None), (1.0, 1.0, 1.0), "ambiguous"),
        ((-1.0, -1.01, -0.99), (-1.0, -1.01, -0.99), "agree"),
        ((-1.0, -1.01, -0.99), (1.0, 0.99, 1.01), "differ"),
    ],
)
def test_verdicts(first_s: Any, second_s: Any, verdict: str) -> None:
    pair = [
        FrameworkTime(name, "exposed", "", Estimate(*seconds))
        for name, seconds in (("a", first_s), ("b", second_s))
    ]
    assert [each.verdict for each in agreements(pair)] == [verdict]
    assert [each.verdict for each in agreements(pair[::-1])] == [verdict]


@pytest.mark.parametrize(("part_s", "verdict"), [(0.2, "agree"), (1.05, "agree"), (2.0, "differ")])
def test_a_part_only_must_not_exceed_the_whole(part_s: float, verdict: str) -> None:
    whole = FrameworkTime("whole", "host", "", Estimate(1.0, 0.99, 1.01))
    part = FrameworkTime("part", "host", "", Estimate(part_s, part_s, part_s), is_part=True)
    assert [each.verdict for each in agreements([whole, part])] == [verdict]
    assert [each.verdict for each in agreements([part, whole])] == [verdict]


def test_a_twin_that_runs_other_operations_is_no_estimate() -> None:
    def reason(executed: dict[str, int]) -> str | None:
        return first(case(5e-3), case(1e-3, 1e-3, twin=True, executed=executed)).get("twin").reason

    assert reason({"aten::add": 60, "aten::mm": 42}) is None
    assert reason({"aten::add": 58, "aten::mm": 42}) is None
    assert "3.0% of them, more than 2%" in str(reason({"aten::add": 57, "aten::mm": 40}))
    assert "5.0% of them" in str(reason({"aten::add": 60, "aten::mm": 35, "aten::bmm": 5}))
    assert "were not counted" in str(reason({}))


def test_twins_are_compared_within_their_mode() -> None:
    cases = [
        case(5e-3),
        case(4e-3, mode="torchscript"),
        case(1e-3, 0.9e-3, twin=True),
        case(1e-3, 0.5e-3, twin=True, mode="torchscript", executed={"aten::add": 1}),
    ]
    eager, script = framework_times(cases)
    assert value(eager, "twin") == pytest.approx(0.9e-3)
    assert script.get("twin").seconds is None
    assert "other operations" in str(script.get("twin").reason)


def test_executed_difference_counts_a_replaced_operation_once() -> None:
    one, other = case(1.0, executed={"a": 9, "b": 1}), case(1.0, executed={"a": 9, "c": 1})
    assert executed_difference(one, other) == pytest.approx(0.1)
    assert executed_difference(one, one) == 0
    assert executed_difference(one, case(1.0, executed={})) is None


def test_on_the_cpu_everything_is_host_time() -> None:
    batches = [1, 2, 4, 8, 16, 32, 64]
    swept = [case(4e-3 + 0.5e-3 * x, 1e-3, batch=x, device="cpu") for x in batches]
    twin = case(4e-3, 4e-3, twin=True, device="cpu")
    times = first(*swept, twin, taxes={0: Estimate(4e-3, 4e-3, 4e-3)})
    assert value(times, "sweep") == pytest.approx(4e-3, rel=1e-3)
    assert times.get("sweep").basis == "the intercept of the sweep over batch"
    assert value(times, "twin") == pytest.approx(4e-3)
    assert "kernels are done" in str(times.get("host_s").reason)
    for name in ("latency_less_busy", "tax"):
        assert times.get(name).seconds is None
        assert "host time" in str(times.get(name).reason)
    assert [each.verdict for each in times.agreements] == ["agree"]


def test_what_is_missing_says_why() -> None:
    lonely = first(case(5e-3, reasons={"device_pass": "no tracer"}))
    assert all(each.seconds is None for each in lonely.estimates)
    assert [each.reason for each in lonely.estimates] == [
        "the forward waits for the device before it returns",
        "no size of its input was swept in this mode",
        "its zero-work twin was not measured",
        "the dispatch ladder was not measured",
        "no tracer",
        "its bounds are not known",
    ]
    rows = ladder_rows([rung("torchscript", 1e-6, device=GPU)])
    no_rung = first(case(5e-3, 4e-3, mode="cuda_graph"), rows=rows)
    assert no_rung.get("ladder").reason == "no rung stands for cuda_graph"
    growing = [case(1e-3 * x, batch=x) for x in (1, 2, 4, 8)]
    assert "no plateau" in str(first(*growing).get("sweep").reason)
    assert framework_times([case(1.0, status="failed"), case(1.0, twin=True)]) == []


def test_negative_exposed_time_is_kept() -> None:
    times = first(case(5e-3, device_pass=busy(6e-3)))
    assert value(times, "latency_less_busy") == pytest.approx(-1e-3)
