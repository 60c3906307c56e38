"""Chains of traces: what may be joined, the ops they are inside of, savings over steps."""

from __future__ import annotations

import pytest
from profiler_traces import Event, annotation, call, complete, launched, trace_text

from ftax_micro.analysis.bounding.chain_rows import Chains
from ftax_micro.analysis.floor.values import FloorValues, given_value
from ftax_micro.analysis.traces import chains as trace_chains
from ftax_micro.analysis.traces.chains import TraceChains
from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.traces.steps import analyse_steps, profiler_steps, whole

US = 1e-6
FLOOR = FloorValues(to_start=given_value(3 * US), gap=given_value(1 * US), sync=given_value(2 * US))
STEP_US = 1000


def op(name: str, ts: float, dur: float) -> Event:
    return complete("cpu_op", name, ts, dur)


def chains(
    events: list[Event], floor: FloorValues | None = FLOOR, why: str | None = None
) -> Chains:
    trace = read_pytorch_trace(trace_text(events))
    correlation = correlate(trace)
    steps = analyse_steps(trace, profiler_steps(trace) or whole(trace), correlation)
    return TraceChains(trace, correlation).of(steps, floor, why)


def norms(
    begin: float = 0, host_us: float = 10, number: int = 3, correlation: int = 1, tid: int = 10
) -> list[Event]:
    """Layer norms of two kernels each, each followed by another kernel."""
    events: list[Event] = []
    for n in range(number):
        at = begin + 3 * host_us * n
        events += [op("aten::layer_norm", at, 2 * host_us - 1), op("aten::mean", at, host_us - 1)]
        for k, name in enumerate(["mean", "scale", f"other{n}"]):
            asked = at + k * host_us
            number_ = correlation + 3 * n + k
            events += launched(number_, asked, 2, asked + 3, 1, name=name, tid=tid)
    return events


def test_a_chain_inside_one_op_is_called_by_its_name() -> None:
    (row,) = chains(norms()).rows
    assert row.kernels == ("mean", "scale")
    assert row.op == "aten::layer_norm"
    assert row.ops == ("aten::mean", "aten::layer_norm")
    assert row.saved.value == pytest.approx(30 * US)
    assert row.saved.low is None
    assert row.occurrences == 3
    assert row.counted_s is None


def test_a_chain_of_several_ops_has_their_names() -> None:
    events: list[Event] = []
    for n in range(3):
        at = 40 * n
        events += [op("aten::add", at, 9), *launched(3 * n + 1, at, 2, at + 3, 1, name="add")]
        events += [op("aten::mul", at + 10, 9)]
        events += launched(3 * n + 2, at + 10, 2, at + 13, 1, name="mul")
        events += launched(3 * n + 3, at + 20, 2, at + 23, 1, name=f"other{n}")
    (row,) = chains(events).rows
    assert (row.op, row.ops) == (None, ("aten::add", "aten::mul"))


def test_without_ops_there_are_no_names() -> None:
    (row,) = chains([each for each in norms() if each["cat"] != "cpu_op"]).rows
    assert (row.op, row.ops) == (None, ("", ""))


def test_a_wait_for_the_device_comes_between_what_cannot_be_one() -> None:
    waits = [call(30 * n + 5, 1, 90 + n, name="cudaStreamSynchronize") for n in range(3)]
    assert "comes often enough" in str(chains([*norms(), *waits]).reason)
    elsewhere = [{**each, "tid": 12} for each in waits]
    assert len(chains([*norms(), *elsewhere]).rows) == 1


def test_two_threads_launch_nothing_together() -> None:
    events = norms()
    for each in events:
        if each["cat"] == "cuda_runtime" and each["args"]["correlation"] % 3 == 2:
            each["tid"] = 11
    assert "comes often enough" in str(chains(events).reason)


def test_over_steps_there_is_a_median() -> None:
    events: list[Event] = []
    for n in range(7):
        begin = STEP_US * n
        events += [annotation(f"ProfilerStep#{n}", begin, 200)]
        events += norms(begin, host_us=10 + n, correlation=1 + 100 * n)
    found = chains(events)
    (row,) = found.rows
    assert row.occurrences == 3
    assert row.saved == pytest.approx((39 * US, 30 * US, 48 * US))
    assert found.latency is not None
    assert found.idle is not None
    assert found.idle.value == pytest.approx(found.latency.value - 9 * US)
    assert found.notes == ()


def test_of_many_steps_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_chains, "MOST_STEPS", 2)
    events: list[Event] = []
    for n in range(5):
        events += [annotation(f"ProfilerStep#{n}", STEP_US * n, 200)]
        events += norms(STEP_US * n, correlation=1 + 100 * n)
    assert chains(events).notes == ("2 of 5 steps were looked at",)


def test_what_a_step_has_of_another_is_in_no_chain() -> None:
    late = [
        annotation("ProfilerStep#1", 0, 100),
        *norms(host_us=5, number=6),
        annotation("ProfilerStep#2", 100, 200),
        *launched(50, 95, 2, 110, 50, name="mean"),
        *launched(51, 120, 2, 161, 1, name="scale"),
    ]
    (row,) = chains(late).rows
    assert row.occurrences == 3


@pytest.mark.parametrize(
    ("events", "floor", "why"),
    [
        ([op("a", 0, 9)], FLOOR, "no device activity"),
        (norms(), None, "its clocks disagree"),
        (norms(), FloorValues(reasons={"to_start": "it is of a cpu"}), "it is of a cpu"),
        (
            [call(0, 9, 1, name="cudaGraphLaunch")]
            + [launched(1, 0, 9, 20 + 2 * n, 1)[1] for n in range(9)],
            FLOOR,
            "its 9 operations come from 1 launch: nothing is launched one by one",
        ),
        (norms(number=2), FLOOR, "comes often enough"),
    ],
)
def test_why_there_are_none(events: list[Event], floor: FloorValues | None, why: str) -> None:
    found = chains(events, floor, "its clocks disagree")
    assert why in str(found.reason)
    assert found.rows == ()
