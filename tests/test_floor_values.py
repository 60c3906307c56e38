"""What bounds need of a floor, out of rows whose costs are known."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from fake_results import absent, around, correction, result, row
from floor_results import COSTS, GPU, US, floor_result, floor_rows

from ftax_micro.analysis.bounding.pipeline import CallKind
from ftax_micro.analysis.floor.values import FloorValue, floor_values, given_value, sampled_value
from ftax_micro.records import Measurement, Setting

_NAMES = ("to_start", "gap", "sync", "graph_launch", "graph_node", "kernel_duration")


def value(found: FloorValue | None) -> float:
    assert found is not None
    return found.estimate.value


@pytest.mark.parametrize("name", _NAMES)
def test_each_is_found(name: str) -> None:
    found = getattr(floor_values(floor_result(), GPU), name)
    assert value(found) == pytest.approx(COSTS[name], rel=0.02)
    low, high = found.estimate.low, found.estimate.high
    assert low < found.estimate.value < high
    drawn = found.drawn(2000, np.random.default_rng(1))
    # What is drawn has the interval that the row has.
    assert np.percentile(drawn, [2.5, 97.5]) == pytest.approx([low, high], rel=0.01)


def test_calls_are_charged_by_kind() -> None:
    found = floor_values(floor_result(), GPU)
    wanted = {"LAUNCH": "launch", "COPY": "copy", "SET": "set", "GRAPH": "graph_host"}
    for kind, name in wanted.items():
        assert value(found.submit[CallKind[kind]]) == pytest.approx(COSTS[name], rel=0.02)
    assert value(found.graph_submit_node) == pytest.approx(COSTS["graph_node_host"], rel=0.2)
    assert value(found.call_direct) == 2e-9
    assert not found.reasons
    assert found.has_graph
    assert found.why_not("to_start", "submit_launch") is None


def test_the_point_has_a_graphs_start_and_gap() -> None:
    found = floor_values(floor_result(spread=0.0), GPU).point()
    # T(N) = a + b N = start + N k0 + (N - 1) g' + y
    gap = COSTS["graph_node"] - COSTS["kernel_duration"]
    assert found.graph_gap == pytest.approx(gap)
    assert found.graph_start == pytest.approx(COSTS["graph_launch"] - COSTS["sync"] + gap)


def test_corrections_leave_a_systematic_range() -> None:
    found = floor_values(floor_result(spread=0.0), GPU)
    corners = found.corners
    ends = np.array([0.0, -0.5 * US, 0.5 * US])
    assert corners.to_start == pytest.approx(COSTS["to_start"] + ends)
    assert corners.sync == pytest.approx(COSTS["sync"] + ends)
    assert corners.gap == pytest.approx(np.full(3, COSTS["gap"]))


def test_what_is_missing_has_a_reason() -> None:
    skipped = absent("sync", reason="one core only", device=GPU, setting={"wait": "spin"})
    rows = [each for each in floor_rows() if each.name in ("submit", "to_start")]
    gap = absent("gap", "failed", "the tracer died", device=GPU, setting={"spin_ns": 0})
    found = floor_values(result(*rows, skipped, gap), GPU)
    assert found.sync is None
    assert found.reasons["sync"] == "sync wait=spin has no value: one core only"
    assert found.reasons["gap"] == "gap has no value: the tracer died"
    assert found.reasons["kernel_duration"] == "kernel_duration was not measured"
    assert found.reasons["submit_copy"] == "memcpy_d2h part=submit was not measured"
    assert found.why_not("to_start", "gap", "sync") == found.reasons["gap"]
    assert not found.has_graph
    with pytest.raises(ValueError, match="one core only"):
        found.point()


def test_one_failed_process_leaves_no_value() -> None:
    rows = [each for each in floor_rows() if each.name == "sync"]
    failed = absent("sync", "failed", "it hung", device=GPU, setting={"wait": "spin"})
    found = floor_values(result(*rows, msgspec.structs.replace(failed, process=1)), GPU)
    assert found.reasons["sync"].endswith("it hung")
    assert found.reasons["to_start"] == "to_start was not measured on cuda:0"


def test_a_gap_that_is_missing_counts_as_none() -> None:
    rows = [each for each in floor_rows() if each.name != "gap"]
    assert floor_values(result(*rows), GPU).point().gap == 0.0


def test_the_cpu_has_a_plain_call_alone() -> None:
    found = floor_values(floor_result(), "cpu")
    assert value(found.call_direct) == 2e-9
    assert found.reasons["to_start"] == "operations run inline on the cpu"
    assert floor_values(result(), "cpu").reasons["call_direct"] == "call_direct was not measured"


def _sync(value_s: float, process: int) -> Measurement:
    return row(
        "sync",
        around(value_s, process),
        device=GPU,
        setting={"wait": "spin"},
        process=process,
        corrections=[correction(US, US, US)],
    )


def test_processes_that_differ_differ_in_what_is_drawn() -> None:
    found = floor_values(result(*(_sync((4 + n) * US, n) for n in range(5))), GPU).sync
    assert value(found) == pytest.approx(5 * US, rel=0.01)
    assert found is not None
    drawn = found.drawn(2000, np.random.default_rng(0))
    assert np.percentile(drawn, [2.5, 97.5]) == pytest.approx([3 * US, 7 * US], rel=0.02)


def test_the_null_kernel_of_processes_is_between_theirs() -> None:
    def traced(value_s: float, process: int) -> Measurement:
        setting: Setting = {"spin_ns": 0, "tracer": "cupti"}
        samples = around(value_s, process)
        return row("kernel_duration", samples, device=GPU, setting=setting, process=process)

    found = floor_values(result(traced(US, 0), traced(1.5 * US, 1)), GPU).kernel_duration
    assert value(found) == pytest.approx(1.25 * US, rel=0.01)
    assert found is not None
    assert found.estimate.low == pytest.approx(US, rel=0.01)


def test_a_given_value_is_itself() -> None:
    found = given_value(3 * US)
    assert found.estimate == (3 * US, 3 * US, 3 * US)
    assert set(found.drawn(3, np.random.default_rng(0))) == {3 * US}


def test_samples_make_a_value() -> None:
    found = sampled_value(around(US, size=100))
    assert found.estimate.value == pytest.approx(US, rel=0.01)
    assert found.systematic == (found.estimate.value,) * 2
    assert np.std(found.drawn(500, np.random.default_rng(0))) > 0
