"""The view of host time by layer."""

from __future__ import annotations

import pytest
from fake_results import result
from ladder_results import ladder, rung
from timed_cases import case
from view_sheets import records, sheet_of

from ftax_micro.analysis.sheet import sentences
from ftax_micro.analysis.views.splits import VIEW
from ftax_micro.records import Case
from ftax_micro.results import Result

US = 1e-6
LADDER = ladder(
    rung("raw_call", 0.1 * US),
    rung("torchscript", 2.1 * US, below="raw_call"),
    rung("torch_inference_mode", 5.1 * US, below="torchscript"),
)


def models(*cases: Case) -> Result:
    return result(kind="model_latency", cases=list(cases))


def timed(mode: str, twin_s: float) -> list[Case]:
    return [
        case(50e-3, device="cpu", mode=mode),
        case(twin_s, device="cpu", mode=mode, twin=True),
    ]


def test_layers_by_modes_and_by_rungs() -> None:
    sheet = sheet_of(VIEW, models(*timed("eager", 3e-3), *timed("torchscript", 1e-3)), LADDER)
    found = {
        (row["layer"], row["way"]): row["seconds"]
        for row in records(sheet)
        if row["mode"] == "eager" and row["seconds"] is not None
    }
    assert found["host time", None].value == pytest.approx(3e-3)
    assert found["python", "modes"].value == pytest.approx(2e-3)
    assert found["python", "rungs"].value == pytest.approx(300 * US, rel=0.02)
    assert found["dispatcher", "rungs"].value == pytest.approx(200 * US, rel=0.02)
    assert found["launch path", "rungs"].value == pytest.approx(10 * US, rel=0.02)
    assert found["rest", "rungs"].value == pytest.approx(2.49e-3, rel=0.02)
    assert any("no library by rungs, no mode" in line for line in sheet.lines)


def test_without_a_ladder_or_a_twin_the_reasons_stand_once() -> None:
    cases = [each for n in range(20) for each in timed("eager", 1e-3) if n or not each.twin]
    alone = sheet_of(VIEW, models(*(each for each in cases if not each.twin)))
    assert not any(row.shown for row in alone.rows)
    (line,) = sentences(alone)
    assert line.endswith(
        "no layers, its host time is not known: its zero-work twin was not measured"
    )
    without = sheet_of(VIEW, models(*timed("eager", 1e-3)))
    assert any("the rung raw_call was not measured" in line for line in without.lines)


def test_modes_that_do_not_dispatch_by_operation_say_so() -> None:
    sheet = sheet_of(VIEW, models(*timed("torch_compile", 1e-3)))
    assert "torch_compile does not dispatch operation by operation" in sheet.lines[0]
