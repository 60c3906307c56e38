"""The view of crossovers, on sweeps whose law is known."""

from __future__ import annotations

from typing import Any

import pytest
from fake_results import result
from msgspec.structs import replace
from timed_cases import case
from view_sheets import records, sheet_of

from ftax_micro.analysis.sheet import sentences
from ftax_micro.analysis.views.crossovers import NO_SWEEP, VIEW
from ftax_micro.records import Case, Data, DeviceFacts
from ftax_micro.results import Result

BATCHES = (1, 2, 4, 8, 16, 32, 64)
DEVICES = [
    DeviceFacts(name="cpu", kind="cpu", model="A"),
    DeviceFacts(name="cuda:0", kind="cuda", model="B"),
]


def models(*cases: Case) -> Result:
    return result(kind="model_latency", cases=list(cases), devices=DEVICES)


def swept(mode: str, plateau: float, each: float, **changes: Any) -> list[Case]:
    return [case(max(plateau, each * n), mode=mode, batch=n, **changes) for n in BATCHES]


def test_a_sweep_on_a_gpu_crosses_from_its_plateau() -> None:
    sheet = sheet_of(VIEW, models(*swept("eager", 6e-3, 0.5e-3), *swept("script", 2e-3, 1e-6)))
    first, second = records(sheet)
    assert (first["axis"], first["law"], first["mode"], first["points"]) == (
        *("batch", "max", "eager"),
        len(BATCHES),
    )
    assert first["model"] == "bert_base sequence 128"
    assert first["crossover"].value == pytest.approx(12, rel=0.02)
    assert first["crossover"].low <= 8 < 16 <= first["crossover"].high
    assert first["plateau"].value == pytest.approx(6e-3, rel=0.01)
    assert first["slope"].value == pytest.approx(0.5e-3, rel=0.02)
    assert first["worst_residual"] < 0.02
    assert second["crossover"] is None
    assert second["reason"] == "latency does not grow up to 64"
    lines = sentences(sheet)
    assert "up to batch 8 latency stays at 6 ms" in lines[0]
    assert "script: no crossover, latency does not grow up to 64" in lines[-1]


def test_a_sweep_on_the_cpu_is_a_sum() -> None:
    cases = [case(4e-3 + 0.5e-3 * n, batch=n, device="cpu") for n in BATCHES]
    (row,) = records(sheet := sheet_of(VIEW, models(*cases)))
    assert row["law"] == "sum"
    assert row["crossover"].value == pytest.approx(8, rel=0.02)
    assert row["intercept"].value == pytest.approx(4e-3, rel=0.02)
    assert "4 ms are fixed" in sentences(sheet)[0]


def test_two_sizes_are_no_sweep_that_shows_anything_and_one_is_none() -> None:
    sheet = sheet_of(VIEW, models(case(1e-3, batch=1), case(2e-3, batch=2)))
    assert [row.shown for row in sheet.rows] == [False]
    assert "the sweep has 2 points" in sheet.lines[-1]
    assert sheet_of(VIEW, models(case(1e-3))).lines == (NO_SWEEP,)


def test_a_latency_that_cannot_be_is_a_reason_not_an_error() -> None:
    broken = case(1e-3, batch=128)
    zero = replace(broken, latency=Data(estimate="median", stop_reason="interval", samples=[0.0]))
    (row,) = records(sheet_of(VIEW, models(*swept("eager", 6e-3, 0.5e-3), zero)))
    assert row["crossover"] is None
    assert row["reason"] == "a latency in it is not positive"
