"""The view of framework times: values, reasons once, and agreement in words."""

from __future__ import annotations

from typing import Any

import pytest
from floor_results import US, floor_result
from ladder_results import ladder, rung
from msgspec.structs import replace
from test_case_bounds import LATENCY_US
from test_case_bounds import case as on_gpu
from timed_cases import case
from view_sheets import records, sheet_of

from ftax_micro.analysis.sheet import sentences
from ftax_micro.analysis.views.estimates import VIEW
from ftax_micro.records import Case
from ftax_micro.results import Result

LADDER = ladder(rung("torch_inference_mode", 5 * US), rung("torchscript", 90 * US))


def models(*cases: Case) -> Result:
    return replace(floor_result(), kind="model_latency", cases=list(cases))


def on_cpu(latency: float, **changes: Any) -> Case:
    return case(latency, device="cpu", **changes)


def test_on_a_gpu_host_time_exposed_time_and_the_models_prediction() -> None:
    sheet = sheet_of(VIEW, models(on_gpu()))
    rows = {row["estimate"]: row for row in records(sheet)}
    assert rows["host_s"]["seconds"].value == pytest.approx(42 * US)
    assert rows["latency_less_busy"]["seconds"].value == pytest.approx((LATENCY_US - 15) * US)
    assert rows["tax"]["family"] == "exposed"
    assert rows["pipeline_model"]["seconds"].value == pytest.approx(LATENCY_US * US, rel=0.02)
    assert rows["twin"]["reason"] == "its zero-work twin was not measured"
    lines = sentences(sheet)
    assert any("latency less busy and the tax differ: " in line for line in lines)
    assert any("the pipeline model predicts a latency of " in line for line in lines)
    assert any("nothing from the twin, its zero-work twin was not" in line for line in lines)
    assert "of 1 pairs of estimates 1 differ" in lines
    assert any(line.startswith("the pipeline model predicts 1 latencies, half") for line in lines)


def test_on_the_cpu_the_ladder_is_a_part_of_the_twin() -> None:
    twins = [on_cpu(1e-3, twin=True), on_cpu(1e-3, twin=True, mode="torchscript")]
    cases = [on_cpu(5e-3), on_cpu(5e-3, mode="torchscript")]
    sheet = sheet_of(VIEW, models(*cases, *twins), LADDER)
    rows = {(row["mode"], row["estimate"]): row for row in records(sheet)}
    assert rows["eager", "twin"]["seconds"].value == pytest.approx(1e-3)
    assert rows["eager", "ladder"]["seconds"].value == pytest.approx(0.5e-3, rel=0.02)
    lines = sentences(sheet)
    assert any("eager: the ladder is within the twin: " in line for line in lines)
    assert any("torchscript: the ladder exceeds the twin, of which" in line for line in lines)
    (gone,) = [line for line in lines if "latency less busy, the tax" in line]
    assert gone.startswith("all 2 cases: ")


def test_a_twin_of_other_operations_counts_none_for_the_ladder() -> None:
    other = on_cpu(1e-3, twin=True, executed={"aten::add": 10})
    rows = {
        row["estimate"]: row for row in records(sheet_of(VIEW, models(on_cpu(5e-3), other), LADDER))
    }
    assert rows["ladder"]["seconds"] is None
    assert rows["ladder"]["reason"] == rows["twin"]["reason"]


def test_the_ladder_of_the_models_machine_alone_counts() -> None:
    cases = models(on_cpu(5e-3), on_cpu(1e-3, twin=True))
    elsewhere = replace(LADDER, environment=replace(LADDER.environment, hostname="elsewhere"))
    rows = {row["estimate"]: row for row in records(sheet_of(VIEW, cases, elsewhere))}
    assert rows["ladder"]["reason"] == "the dispatch ladder was not measured"
