"""The view of the paper's findings, on machines made so that each holds or does not."""

from __future__ import annotations

from typing import Any

import pytest
from fake_results import result
from test_paper_checks import World
from timed_cases import case
from view_sheets import records, sheet_of

from ftax_micro.analysis.sheet import Sheet, sentences
from ftax_micro.analysis.views.paper import NO_EVIDENCE, VIEW
from ftax_micro.reporters.sheets import render_table


@pytest.fixture(scope="module")
def sheet() -> Sheet:
    return sheet_of(VIEW, World().result())


def of_finding(sheet: Sheet, name: str) -> list[dict[str, Any]]:
    return [row for row in records(sheet) if row["finding"] == name]


def test_each_finding_has_a_verdict_and_its_instances_with_the_papers_numbers(sheet: Sheet) -> None:
    heads = [row for row in records(sheet) if row["kind"] == "finding"]
    assert [row["finding"] for row in heads] == [*map(str, range(1, 13)), "table 1", "table 3"]
    first, script, onnx = of_finding(sheet, "1")
    assert (first["verdict"], first["gpu"]) == ("confirmed", "NVIDIA A")
    assert script["measured"].value == pytest.approx(0.4, rel=0.02)
    assert (script["paper"], onnx["paper"], script["unit"]) == (0.3416, 0.7138, "share")
    assert "2302.06117, section 4" in first["paper_source"]


def test_numbers_are_shown_in_their_units(sheet: Sheet) -> None:
    shown = render_table([sheet])
    assert "34 %" in shown
    assert "mean over 6 models" in shown


def test_what_was_not_measured_says_what_it_needs(sheet: Sheet) -> None:
    head, needs = of_finding(sheet, "8")
    assert head["verdict"] == "not measured"
    assert needs["text"].startswith("needs bert_base with lengths=penn_treebank")


def test_a_finding_of_many_instances_shows_those_against_it_first(sheet: Sheet) -> None:
    shown = {row.cells[3] for row in sheet.rows if row.shown}
    own = of_finding(sheet, "11")
    assert own[0]["verdict"] == "contradicted"
    assert own[1]["verdict"] == "contradicted"
    assert own[1]["text"] in shown
    assert sum(row["text"] in shown for row in own) <= 5
    assert any(
        line.startswith("finding 11 on NVIDIA A, further instances: ") for line in sentences(sheet)
    )
    assert sheet.lines[0].startswith("8 confirmed, 1 contradicted, ")


def test_a_cpu_says_nothing_of_them() -> None:
    sheet = sheet_of(VIEW, result(kind="model_latency", cases=[case(1e-3, device="cpu")]))
    assert sheet.lines == (
        "14 not measured, of the paper's twelve findings and Tables 1 and 3",
        f"0: {NO_EVIDENCE}",
    )
