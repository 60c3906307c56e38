"""Latencies after a change, against the model run on what the change leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_pipelines import (
    FLOOR,
    US,
    calls,
    given_floor,
    launches,
    loop,
    noisy,
    operations,
    pipelines,
    work_of,
)

from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.pipeline import Array, CallKind, Calls, Operations
from ftax_micro.analysis.bounding.what_if import Change, Prediction, what_if, what_if_inline
from ftax_micro.analysis.floor.values import FloorValues, given_value

KNOWN = given_floor()
# Slow kernels first, then a host that is slower than they are.
OPS, ASKED, BEGINS = operations([30, 10, 1, 1]), launches(4), np.array([0, 5, 45, 60]) * US
NOW_US = 68.0


def work() -> DeviceWork:
    return work_of(OPS, ASKED, BEGINS)


def after(change: Change | None = None, latency_us: float = NOW_US, **more: Any) -> Prediction:
    return what_if(work(), [latency_us * US] * 20, KNOWN, change, **more)


def micro(found: Prediction) -> float:
    return found.latency.value / US


def test_as_it_is_the_model_predicts_the_latency() -> None:
    found = after()
    assert found.model == pytest.approx((NOW_US * US,) * 3)
    assert found.saved == pytest.approx((0, 0, 0))
    assert found.latency == pytest.approx((NOW_US * US,) * 3)


def test_what_the_model_does_not_know_of_stays() -> None:
    found = after(Change(duration_factor=0.0), latency_us=100)
    assert found.saved.value / US == pytest.approx(1)  # the host sets the pace: the last kernel
    assert micro(found) == pytest.approx(99)


def test_the_forward_is_over_when_it_returns_at_the_earliest() -> None:
    found = after(returned=[80 * US] * 20, latency_us=80)
    assert found.model.value / US == pytest.approx(80)
    assert micro(after(Change(duration_factor=0), 80, returned=[80 * US] * 20)) == pytest.approx(80)


def test_kernels_that_take_longer_set_the_pace() -> None:
    # A batch three times as large: 4 + 90 + 30 + 3 + 3 + 3 gaps + 3
    assert micro(after(Change(duration_factor=3.0))) == pytest.approx(136)


def test_a_graph_leaves_its_own_costs() -> None:
    assert micro(after(Change(graph=True))) == pytest.approx(7 + 42 + 1.5 + 3)


def test_another_floor_moves_calls_and_waits() -> None:
    slower = replace(
        KNOWN,
        to_start=given_value(10 * US),
        sync=given_value(5 * US),
        submit={CallKind.LAUNCH: given_value(4 * US)},
    )
    # The last call is three launches of 2 µs more later, and 6 + 2 µs more around it.
    assert micro(after(Change(floor=slower))) == pytest.approx(NOW_US + 6 + 6 + 2)
    with pytest.raises(ValueError, match="submit_launch"):
        after(Change(floor=FloorValues(to_start=given_value(0), sync=given_value(0))))


def test_fused_operations_are_launched_once() -> None:
    found = after(Change(fused=((1, 2),)), returned=[60 * US] * 20)
    # Begins 0, 5 and then 15 µs later, without the 40 µs that the third call took.
    assert found.model.value / US == pytest.approx(max(4 + 30 + 1 + 11 + 1 + 1 + 3, 20 + 4 + 1 + 3))
    every = after(Change(fused=((0, 3),)))
    assert micro(every) == pytest.approx(4 + 42 + 3)


def test_fused_nodes_leave_their_graph_launched() -> None:
    ops = operations([1, 1, 1], call=[0, 0, -1])
    forward = work_of(ops, calls(CallKind.GRAPH))
    found = what_if(forward, [20 * US] * 20, KNOWN, Change(fused=((0, 1),)))
    assert found.saved.value / US == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("fused", "why"),
    [
        (((0, 4),), "there are no operations 0 to 4 of 4"),
        (((0, 1), (1, 2)), "operation 1 is in two runs"),
        (((2, 3),), "not of one stream"),
    ],
)
def test_what_cannot_be_fused(fused: tuple[tuple[int, int], ...], why: str) -> None:
    forward = work_of(replace(OPS, stream=np.array([0, 0, 0, 1])), ASKED)
    with pytest.raises(ValueError, match=why):
        what_if(forward, [US] * 20, KNOWN, Change(fused=fused))


def test_on_the_cpu_times_add() -> None:
    now, twin = [100 * US] * 20, [40 * US] * 20

    def inline(change: Change, floor: FloorValues | None = None) -> float:
        return what_if_inline(now, twin, 10, change, floor).latency.value / US

    assert inline(Change()) == pytest.approx(100)
    assert inline(Change(duration_factor=0.5)) == pytest.approx(70)
    assert inline(Change(fused=((0, 4),))) == pytest.approx(60 + 24)
    other = FloorValues(call_direct=given_value(1 * US))
    assert inline(Change(floor=other), KNOWN) == pytest.approx(100 + 10 - 0.02)
    with pytest.raises(ValueError, match="both machines"):
        inline(Change(floor=other))
    with pytest.raises(ValueError, match="inline"):
        inline(Change(graph=True))


def test_few_samples_predict_without_an_interval() -> None:
    found = what_if(work(), [NOW_US * US] * 3, KNOWN)
    assert found.latency.low is None
    assert what_if_inline([US] * 3, [US] * 20, 1, Change()).latency.low is None


@given(pipelines(), st.floats(0, 1))
def test_faster_kernels_are_never_slower(
    pipeline: tuple[Operations, Calls, Array], factor: float
) -> None:
    ops, asked, begins = pipeline
    latency = loop(ops, asked, begins, FLOOR) or US
    forward = work_of(ops, asked, begins)
    found = what_if(forward, [latency] * 7, KNOWN, Change(duration_factor=factor))
    assert found.saved.value >= -1e-12 * latency
    assert found.latency.value <= latency * (1 + 1e-12)


def test_the_latency_is_predicted_from_the_hosts_time_and_the_durations() -> None:
    """Within 2 %, for hosts and kernels that vary, at each of which the other sets the pace."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        number = int(rng.integers(20, 60))
        ops = operations(list(rng.gamma(2.0, 4.0, number)))
        begins = np.cumsum(rng.gamma(4.0, float(rng.choice([0.5, 2.0, 5.0])), number)) * US
        latency = loop(ops, launches(number), begins, FLOOR)
        forward = work_of(
            ops, launches(number), begins, samples=noisy(ops.duration_s, rng, 20, 0.03)
        )
        found = what_if(forward, list(noisy(latency, rng, 100, 0.01)), KNOWN)
        assert found.model.value == pytest.approx(latency, rel=0.02)
        assert found.model.low is not None
        assert found.model.low < found.model.value
