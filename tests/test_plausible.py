"""Times that can't be right."""

from __future__ import annotations

from typing import Any

import pytest
from floor_results import US
from profiler_traces import launched, trace_text
from test_case_bounds import FLOOR, case, data

from ftax_micro.analysis.bounding.cases import case_bounds
from ftax_micro.analysis.bounding.plausible import impossible_clock, impossible_latency
from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace

BERT_MACS = 11_000_000_000


@pytest.mark.parametrize(
    ("latency_s", "macs", "words"),
    [
        (90.0, None, None),
        (300.0, None, "a latency of 300 s can't be right (over 100 s)"),
        (300.0, BERT_MACS, "(over 100 s)"),
        (300.0, 100 * BERT_MACS, None),  # at the pace of the slowest core
        (60e-9, None, None),
        (10e-9, None, "(under 50 ns)"),
        (1e-7, BERT_MACS, "(under 220 ns)"),
        (5e-3, BERT_MACS, None),
    ],
)
def test_a_latency_beyond_any_machine(
    latency_s: float, macs: int | None, words: str | None
) -> None:
    told = impossible_latency(latency_s, macs)
    assert told is None if words is None else words in str(told)


@pytest.mark.parametrize(
    ("factor", "words"),
    [(1, None), (1000, "the shortest of 10 launch calls takes 4 ms"), (0.001, "under 4 ns")],
)
def test_launch_calls_tell_a_wrong_unit(factor: float, words: str | None) -> None:
    times = [[each * factor for each in (100.0 * i, 4.0, 100.0 * i + 9, 10.0)] for i in range(10)]
    events = [event for i, each in enumerate(times) for event in launched(i + 1, *each)]
    trace = read_pytorch_trace(trace_text(events))
    told = impossible_clock(trace, correlate(trace))
    assert told is None if words is None else words in str(told)
    few = read_pytorch_trace(trace_text(events[:10]))
    assert impossible_clock(few, correlate(few)) is None


@pytest.mark.parametrize("changes", [{}, {"device_pass": None}])
def test_a_case_that_takes_minutes_says_so(changes: dict[str, Any]) -> None:
    found = case_bounds(case(latency=data(300.0), **changes), FLOOR)
    if found.bounds is None:
        assert str(found.reason).startswith("a latency of 300 s can't be right")
    else:
        assert found.regime is not None
        assert found.regime.name == "invalid"
        assert "300 s" in found.regime.reason
    assert (
        case_bounds(case(latency=data(30 * US), **changes), FLOOR).regime
        == case_bounds(case(latency=data(30 * US), macs=10, **changes), FLOOR).regime
    )
