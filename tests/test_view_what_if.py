"""The view of changes: on pipelines whose latency after the change is plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake_results import environment
from floor_results import COSTS, US, floor_result
from msgspec.structs import replace
from profiler_traces import Event
from synthetic_pipelines import launches, operations
from test_case_bounds import LATENCY_US, call, case, data, device_pass, on_cpu, operation
from traced_pipelines import read, traced
from view_sheets import records, sheet_of

from ftax_micro.analysis.sheet import sentences
from ftax_micro.analysis.views.contract import Question, Source
from ftax_micro.analysis.views.what_if import VIEW
from ftax_micro.records import Case
from ftax_micro.results import Result

HALF = floor_result(spread=0.0, costs={name: cost / 2 for name, cost in COSTS.items()})
ELSEWHERE = replace(HALF, environment=environment(hostname="elsewhere"))


def models(*cases: Case) -> Result:
    return replace(floor_result(spread=0.0), kind="model_latency", cases=list(cases))


def by_change(*results: Result, **how: Any) -> dict[str, dict[str, Any]]:
    return {row["change"]: row for row in records(sheet_of(VIEW, *results, **how))}


def test_where_the_host_binds_faster_kernels_save_their_last_one() -> None:
    found = by_change(models(case()))
    assert found["none"]["latency"].value == pytest.approx(LATENCY_US * US)
    assert found["faster_2"]["saved"].value == pytest.approx(1.5 * US)
    assert found["faster"]["saved"].value == pytest.approx(3 * US)
    assert found["faster"]["saved_share"].value == pytest.approx(3 / LATENCY_US)
    # 9 − 3 + 0.5 µs to the first node, five of 3.5 µs, and 3 µs to the waiting host.
    graph = found["graph"]["latency"].value
    assert graph == pytest.approx((6 + 0.5 + 5 * 3 + 4 * 0.5 + 3) * US)
    assert "floor" not in found


def test_a_larger_batch_is_told_for_an_example() -> None:
    sheet = sheet_of(VIEW, models(case()))
    (row,) = [row for row in records(sheet) if row["change"] == "batch"]
    assert row["saved"].value == pytest.approx(-3 * US)
    (line,) = [line for line in sentences(sheet) if "an example" in line]
    assert "eager: batch 2 takes 6.0% longer, which is 26.5 µs an example, 47.0% less" in line


def test_the_floor_of_another_machine_is_given_or_among_the_files() -> None:
    given = by_change(models(case()), other_floor=ELSEWHERE)["floor"]
    assert given == by_change(models(case()), ELSEWHERE)["floor"]
    assert given["if"].startswith("the floor of elsewhere (")
    # Four calls of half the 2 µs, half of to_start and of sync.
    assert given["saved"].value == pytest.approx((4 + 2 + 1.5) * US)


def test_another_floor_that_lacks_what_is_needed_says_so() -> None:
    bare = replace(ELSEWHERE, measurements=ELSEWHERE.measurements[:1])
    found = by_change(models(case()), other_floor=bare)["floor"]
    assert found["latency"] is None
    assert found["reason"] == "submit_launch is not known on both machines"


def test_on_the_cpu_work_and_host_time_add() -> None:
    twin = on_cpu(40.0, twin=True)
    found = by_change(models(on_cpu(100.0), twin))
    assert found["faster_2"]["latency"].value == pytest.approx(70 * US)
    assert found["faster"]["latency"].value == pytest.approx(40 * US)
    assert found["batch"]["latency"].value == pytest.approx(160 * US)
    assert found["graph"]["reason"] == "nothing is replayed on the cpu"


def test_a_replayed_graph_is_one_already() -> None:
    nodes = [operation(9 + 4 * n, 3, 0) for n in range(5)]
    work = device_pass(nodes, [call(0, "cudaGraphLaunch")])
    found = by_change(models(case(mode="cuda_graph", device_pass=work, host=data(6 * US))))
    assert found["graph"]["reason"] == "it is one already"
    assert found["faster"]["saved"].value == pytest.approx(15 * US)


def test_reasons_stand_once() -> None:
    sheet = sheet_of(VIEW, models(*(on_cpu(100.0, batch=n + 1) for n in range(9))))
    assert sheet.lines == ("all 9 cases: no prediction, its zero-work twin was not measured",)


def steps_of(number: int, **how: Any) -> dict[str, dict[str, Any]]:
    """Five kernels of 3 µs, launched 10 µs apart, in each of so many steps that are waited for."""
    ops, asked = operations([3.0] * 5), launches(5)
    events: list[Event] = []
    for n in range(number):
        events += traced(ops, asked, np.arange(5) * 10 * US, at_us=1000.0 * n, number=n + 1)[0]
    source = Source("trace.json", trace=read(events))
    return {row["change"]: row for row in records(VIEW.build(Question((source,), **how)))}


def test_steps_of_a_trace_are_asked_the_same() -> None:
    found = steps_of(8, floor=floor_result(spread=0.0))
    assert found["none"]["case"] == "8 steps cuda:0"
    assert found["none"]["latency"].value == pytest.approx(50 * US)
    assert found["faster_2"]["saved"].value == pytest.approx(1.5 * US, rel=1e-3)
    assert found["faster"]["latency"].value == pytest.approx(47 * US, rel=1e-3)
    assert found["faster"]["saved"].low is not None
    graph = found["graph"]["latency"].value
    assert graph == pytest.approx((6 + 0.5 + 5 * 3 + 4 * 0.5 + 3) * US, rel=1e-3)


def test_a_trace_without_a_floor_says_what_is_missing() -> None:
    found = steps_of(2)
    assert found["faster"]["saved"].value == pytest.approx(3 * US, rel=1e-3)
    assert "a launch floor of the GPU has it" in found["graph"]["reason"]
    few = steps_of(1)
    assert few["none"]["latency"] is None
    assert "of 10" in few["none"]["reason"]
