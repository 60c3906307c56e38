"""The view of ops, from files to what is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_results import result, row
from profiler_traces import Event, annotation, complete, launched, trace_text

from ftax_micro.analysis.sheet import ordered
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.views.contract import Question, Source
from ftax_micro.analysis.views.operations import VIEW
from ftax_micro.bound_analysis import command
from ftax_micro.reporters.sheets import render_csv, render_json, render_table

NASTY = "<b>add</b>\x1b[31m\nnext"


def op(name: str, ts: float, dur: float) -> Event:
    return complete("cpu_op", name, ts, dur)


def events(device: int = 0) -> list[Event]:
    return [
        annotation("ProfilerStep#1", 0, 60),
        op("aten::mm", 10, 20),
        *launched(1, 12, 5, 20, 10, name="volta_sgemm_32x32_nn", device=device),
        op(NASTY, 40, 10),
        *launched(2, 42, 5, 46, 4, name="void at::native::add<int>(int)", device=device),
    ]


def question(*found: list[Event], **settings: Any) -> Question:
    sources = [
        Source(f"{i}.json", trace=read_pytorch_trace(trace_text(each)))
        for i, each in enumerate(found)
    ]
    return Question(tuple(sources), **settings)


def named(sheet: Any, name: str) -> dict[str, Any]:
    place = [column.name for column in sheet.columns]
    rows = [dict(zip(place, each.cells, strict=True)) for each in sheet.rows]
    return next(each for each in rows if each["op"] == name)


def test_a_row_for_each_op_with_its_share() -> None:
    sheet = VIEW.build(question(events()))
    rows = [named(sheet, str(row.cells[1])) for row in sheet.rows]
    assert sum(each["share_of_tax"] for each in rows) == pytest.approx(1)
    mm = named(sheet, "aten::mm")
    assert (mm["device"], mm["libraries"], mm["library_share"]) == ("cuda:0", "cuBLAS", 1)
    assert mm["dispatch"] == pytest.approx(15e-6)
    assert mm["python"] is None
    assert "1 step, 60 µs in all, the device waited 43 µs" in sheet.lines[0]
    assert "had returned: 1; they" in sheet.lines[1]


def test_it_can_be_sorted_by_any_column() -> None:
    sheet = VIEW.build(question(events()))
    assert ordered(sheet, "device_time_s").rows[0].cells[1] == "aten::mm"
    assert ordered(sheet, "launch_delay").rows[0].cells[1] == "aten::mm"


def test_names_are_shown_and_obeyed_by_nobody() -> None:
    sheet = VIEW.build(question(events()))
    text = render_table([sheet])
    assert "<b>add</b>\\x1b[31m\\nnext" in text
    assert "\x1b[31m" not in text
    assert len(render_csv([sheet]).splitlines()) == 1 + len(sheet.rows)
    assert json.loads(render_json([sheet]))["sheets"][0]["name"] == "operations"


def test_several_files_and_devices_have_columns() -> None:
    one = VIEW.build(question(events()))
    several = VIEW.build(question(events(), [*events(), *events(device=1)]))
    assert [column.heading for column in one.columns[:3]] == [None, "op", None]
    assert [column.heading for column in several.columns[:3]] == ["source", "op", "device"]


def test_what_has_no_ops_is_said() -> None:
    measured = Source("r.json", result=result(row("submit", [1e-6] * 30)))
    sheet = VIEW.build(Question((measured,)))
    assert sheet.rows == ()
    assert sheet.lines == ("r.json: a result has no ops of a framework: a trace of the PyTorch "
                           "profiler has",)  # fmt: skip
    cpu = VIEW.build(question([op("a", 0, 10)]))
    assert "no device activity" in cpu.lines[0]
    assert named(cpu, "a")["share_of_tax"] is None


def test_spans_that_cross_are_counted() -> None:
    sheet = VIEW.build(question([*events(), op("crossing", 45, 30)]))
    assert any("outlast the one they began in: 1;" in line for line in sheet.lines)


def test_the_command_cuts_at_annotations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.json"
    file.write_bytes(trace_text([*events(), annotation("mine", 35, 25)]))
    asked = ["--view", "operations", "--annotation", "mine", "--sort", "launches", "--top", "1"]
    assert command([str(file), *asked]) == 0
    shown = capsys.readouterr().out
    assert "next" in shown
    assert "aten::mm" not in shown
    assert "1 of 2 rows not shown" in shown
