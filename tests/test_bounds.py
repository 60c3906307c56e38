"""Bounds of forwards whose operations, host and floor are known."""

from __future__ import annotations

from dataclasses import replace

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
    operations,
    pipelines,
    work_of,
)

from ftax_micro.analysis.bounding.bounds import NO_GAP, Bound, Bounds, cpu_bounds, cuda_bounds
from ftax_micro.analysis.bounding.joint import DeviceWork, draw_together
from ftax_micro.analysis.bounding.pipeline import NO_CALL, Array, CallKind, Calls, Operations
from ftax_micro.analysis.floor.values import FloorValues, given_value
from ftax_micro.stats import Estimate

KNOWN = given_floor()


def bounds(work: DeviceWork, latency_us: float = 1000.0, floor: FloorValues = KNOWN) -> Bounds:
    return cuda_bounds(work, [latency_us * US] * 20, floor)


def micro(bound: Bound | None) -> float:
    assert bound is not None
    return bound.seconds.value / US


def exactly(value: float) -> object:
    return pytest.approx(value, rel=1e-12)


def test_launches_into_one_stream() -> None:
    found = bounds(work_of(operations([5, 1, 1, 1]), launches(4)), 40)
    assert found.path == "stream"
    assert micro(found.device) == exactly(4 + 8 + 3 * 1 + 3)
    assert micro(found.launch) == exactly(4 + 8 + 3 * 1 + 3)  # the first hides the launches
    assert found.own is found.launch
    # start = a - y + g', then 0.5 apart
    assert micro(found.graph) == exactly(7 + 8 + 3 * 0.5 + 3)
    assert found.tax == pytest.approx((22 * US,) * 3)
    assert found.tax_share == pytest.approx((0.55,) * 3)
    assert found.avoidable == pytest.approx((20.5 * US,) * 3)
    assert found.avoidable_share == pytest.approx((20.5 / 40,) * 3)
    assert found.taxed is True


def test_a_host_at_its_floor_can_still_be_too_slow() -> None:
    found = bounds(work_of(operations([0.1] * 5), launches(5)))
    assert micro(found.device) == exactly(4 + 0.5 + 4 * 1 + 3)
    assert micro(found.launch) == exactly(4 * 2 + 4 + 0.1 + 3)


def test_a_replay_is_bound_by_the_graph() -> None:
    found = bounds(work_of(operations([2] * 3, call=[0, 0, 0]), calls(CallKind.GRAPH)))
    assert found.path == "graph"
    assert micro(found.own) == micro(found.graph) == exactly(7 + 6 + 2 * 0.5 + 3)
    # Nodes may be closer together than launches: the queue that is never empty is one of nodes.
    assert micro(found.device) == exactly(4 + 6 + 2 * 0.5 + 3)
    assert micro(found.launch) == exactly(4 + 6 + 2 * 1 + 3)


def test_copies_around_a_replay_are_mixed() -> None:
    asked = calls(CallKind.COPY, CallKind.GRAPH, CallKind.SET)
    ops = operations([1, 2, 2, 1], call=[0, 1, 1, 2])
    kinds = np.array([CallKind.COPY, CallKind.LAUNCH, CallKind.LAUNCH, CallKind.SET])
    found = bounds(replace(work_of(ops, asked), kind=kinds))
    assert found.path == "mixed"
    # Copy at 0, graph at 5, set at 5 + 6.2; the graph starts at 12, its last node ends at 16.5.
    assert micro(found.own) == exactly(16.5 + 1 + 1 + 3)
    # Launched: copy at 0, kernels at 5 and 7, set at 9.
    assert micro(found.launch) == exactly(5 + 4 + 2 + 1 + 2 + 1 + 1 + 3)


def test_operations_without_a_call_are_there_in_every_bound() -> None:
    ops = operations([1, 2, 2], call=[NO_CALL, 0, 0])
    found = bounds(work_of(ops, calls(CallKind.GRAPH)))
    assert micro(found.own) == exactly(7 + 2 + 0.5 + 2 + 3)
    assert micro(found.graph) == exactly(7 + 5 + 1 + 3)
    assert micro(found.launch) == exactly(4 + 2 + 1 + 2 + 3)


def test_no_operation_and_one() -> None:
    nothing = bounds(work_of(operations([]), launches(0)), 10)
    assert [micro(each) for each in (nothing.device, nothing.launch, nothing.graph)] == [0, 0, 0]
    assert nothing.tax_share == pytest.approx((1, 1, 1))
    one = bounds(work_of(operations([5]), launches(1)), 10)
    assert micro(one.device) == micro(one.launch) == exactly(12)
    # Shown as it is: the latency is below its bound.
    assert one.tax == pytest.approx((-2 * US,) * 3)


def test_what_overlaps_is_counted() -> None:
    ops = operations([9, 1, 1], chained=[True, False, True])
    found = bounds(work_of(ops, launches(3)))
    assert found.unchained == 1
    assert micro(found.device) == exactly(4 + 9 + 1 + 1 + 3)


def test_what_the_floor_lacks_is_a_reason() -> None:
    work = work_of(operations([1, 1]), launches(2))
    bare = replace(KNOWN, submit={}, graph_launch=None, gap=None, reasons={"graph_launch": "no"})
    found = bounds(work, floor=bare)
    assert found.launch is found.own is found.graph is None
    assert found.tax is found.avoidable is found.tax_share is found.avoidable_share is None
    assert found.taxed is None
    assert found.reasons == {
        "launch": "submit_launch is not known",
        "own": "submit_launch is not known",
        "graph": "no",
    }
    assert found.assumed == (NO_GAP,)
    assert micro(found.device) == exactly(4 + 2 + 3)
    nothing = bounds(work, floor=replace(KNOWN, sync=None, reasons={"sync": "one core only"}))
    assert nothing.device is None
    assert set(nothing.reasons.values()) == {"one core only"}


def test_the_corrections_truth_moves_a_bound() -> None:
    unsure = replace(KNOWN, to_start=replace(given_value(4 * US), systematic=(3 * US, 6 * US)))
    found = bounds(work_of(operations([1]), launches(1)), floor=unsure).own
    assert found is not None
    assert found.systematic == pytest.approx((7 * US, 10 * US))


def test_few_samples_have_no_interval() -> None:
    work = work_of(operations([5]), launches(1))
    found = cuda_bounds(work, [40 * US] * 3, KNOWN)
    assert found.tax is not None
    assert found.tax[1:] == (None, None)
    assert found.tax.value == pytest.approx(28 * US)
    assert found.taxed is None
    with pytest.raises(ValueError, match="positive"):
        cuda_bounds(work, [0.0] * 20, KNOWN)
    with pytest.raises(ValueError, match="no samples"):
        cuda_bounds(work, [], KNOWN)


def test_many_operations_are_drawn_less_often() -> None:
    number = 800
    work = work_of(operations([1.0] * number), launches(number))
    joint = draw_together(work, KNOWN, [1.0] * 20)
    assert joint.resamples == 500
    assert joint.durations.shape == (500, number)
    more = draw_together(work, KNOWN, [1.0] * 20, hosted=True)
    assert (len(more.durations), len(more.begins)) == (250, 250)


def test_on_the_cpu_times_add() -> None:
    found = cpu_bounds([100 * US] * 20, [30 * US] * 20, 500, KNOWN)
    assert found.path == "inline"
    assert micro(found.device) == exactly(70)
    assert micro(found.own) == exactly(71)
    assert found.tax == pytest.approx((29 * US,) * 3)
    assert found.graph is None
    assert "inline" in found.reasons["graph"]


def test_on_the_cpu_without_the_cost_of_a_call_there_is_no_tax() -> None:
    why = {"call_direct": "it was skipped"}
    found = cpu_bounds([100 * US] * 20, [30 * US] * 3, 500, FloorValues(reasons=why))
    assert found.own is None
    assert found.reasons["own"] == "it was skipped"
    assert found.device is not None
    assert micro(found.device) == exactly(70)
    assert found.device.seconds.low is None


@given(pipelines(), st.floats(0, 1))
def test_no_bound_exceeds_a_latency_of_the_model(
    pipeline: tuple[Operations, Calls, Array], slower: float
) -> None:
    ops, asked, begins = pipeline
    nodes = np.bincount(ops.call[ops.call != NO_CALL], minlength=asked.count)
    charge = np.array([float(np.asarray(FLOOR.submit[CallKind(k)])) for k in asked.kind])
    charge += (asked.kind == CallKind.GRAPH) * nodes * float(np.asarray(FLOOR.graph_submit_node))
    busy = np.concatenate([[0.0], np.cumsum(charge)[:-1]])[: asked.count]
    begins = busy + slower * np.sort(begins)
    latency = loop(ops, asked, begins, FLOOR)
    found = cuda_bounds(work_of(ops, asked), [latency or US] * 7, KNOWN)
    for each in (found.device, found.own):
        assert each is not None
        assert each.seconds.value <= latency * (1 + 1e-12)
    assert found.device is not None
    for each in (found.own, found.launch, found.graph):
        assert each is not None
        if each is not found.graph:  # whose nodes may be closer together than launches
            assert found.device.seconds.value <= each.seconds.value * (1 + 1e-12)
        # The parts sum to the whole.
        assert each.seconds.value + each.above.value == pytest.approx(found.latency.value)
        assert _inside(each.share)


def _inside(found: Estimate) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= found.value <= found.high
