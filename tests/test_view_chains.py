"""The view of chains: results and traces, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_results import result, row
from floor_results import COSTS, floor_rows
from profiler_traces import Event, annotation, launched, trace_text
from test_case_chains import NAMES, named

from ftax_micro.analysis.bounding.chain_rows import ChainRow
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.views.chains import VIEW, chain_text
from ftax_micro.analysis.views.contract import Question, Source
from ftax_micro.bound_analysis import command
from ftax_micro.records import Case
from ftax_micro.reporters.sheets import render_csv, render_json, render_table
from ftax_micro.stats import Estimate

ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
NASTY = "<script>\x1b]0;title\x07"


def events(device: int = 0, number: int = 12) -> list[Event]:
    """Pairs of kernels, each behind one that comes once."""
    found = [annotation("ProfilerStep#1", 0, 40 * number)]
    for n in range(number):
        for k, name in enumerate([ADD, NASTY, f"other{n}"]):
            at = 30 * n + 10 * k
            found += launched(3 * n + k + 1, at, 2, at + 5, 1, name=name, device=device)
    return found


def trace_source(found: list[Event], name: str = "t.json") -> Source:
    return Source(name, trace=read_pytorch_trace(trace_text(found)))


def of_results(*cases: Case, **settings: Any) -> Question:
    measured = result(row("call_direct", [2e-9] * 30), *floor_rows(spread=0.0))
    models = msgspec.structs.replace(measured, cases=list(cases))
    return Question((Source("r.json", result=models),), **settings)


def cells(sheet: Any, number: int = 0) -> dict[str, Any]:
    names = [column.name for column in sheet.columns]
    return dict(zip(names, sheet.rows[number].cells, strict=True))


def test_a_case_has_its_chains_with_intervals() -> None:
    sheet = VIEW.build(of_results(named(NAMES)))
    found = cells(sheet)
    assert (found["chain"], found["mode"], found["length"]) == ("norm → mul", "eager", 2)
    assert (found["occurrences"], found["launches_saved"]) == (3, 3)
    assert found["saved"].low == pytest.approx(30e-6)
    assert found["saved_share"] == pytest.approx(30 / 89)
    assert found["counted"] == pytest.approx(6e-6)
    assert found["op"] is None
    assert "fusing one chain saves 30 µs (30 µs … 30 µs) of 89 µs" in sheet.lines[1]


def test_a_replay_says_that_nothing_is_launched_one_by_one() -> None:
    replayed = named(NAMES)
    assert replayed.device_pass is not None
    operations = [msgspec.structs.replace(each, call=0) for each in replayed.device_pass.operations]
    calls = [msgspec.structs.replace(replayed.device_pass.calls[0], name="cudaGraphLaunch")]
    traced = msgspec.structs.replace(replayed.device_pass, operations=operations, calls=calls)
    case = msgspec.structs.replace(replayed, device_pass=traced, mode="cuda_graph")
    sheet = VIEW.build(of_results(case))
    assert sheet.rows == ()
    assert any("nothing is launched one by one" in line for line in sheet.lines)


def test_a_trace_has_its_own_floor_or_the_one_that_is_given() -> None:
    sheet = VIEW.build(Question((trace_source(events()),)))
    found = cells(sheet)
    assert found["case"] == "ProfilerStep#1 cuda:0"
    assert found["saved"].value == pytest.approx(120e-6)
    assert found["counted"] == pytest.approx(12 * 2e-6)
    given = of_results().sources[0].result
    measured = cells(VIEW.build(Question((trace_source(events()),), floor=given)))
    assert measured["saved"].value == pytest.approx(120e-6, rel=0.01)
    short = VIEW.build(Question((trace_source(events(number=2)),)))
    assert short.rows == ()
    assert "no chains" in short.lines[-1]


def test_each_device_has_its_own() -> None:
    other = events(device=1)[1:]
    for each in other:
        each["args"]["correlation"] += 1000
        if each["cat"] == "cuda_runtime":
            each["tid"] = 11
    sheet = VIEW.build(Question((trace_source([*events(), *other]),)))
    assert [each.cells[1] for each in sheet.rows] == [
        "ProfilerStep#1 cuda:0",
        "ProfilerStep#1 cuda:1",
    ]


def test_sentences_name_the_file_where_there_are_several() -> None:
    sheet = VIEW.build(Question((trace_source(events()), trace_source(events(), "u.json"))))
    told = [line for line in sheet.lines if "saves" in line]
    assert [line[:6] for line in told] == ["t.json", "u.json"]


def test_what_saves_nothing_is_told_in_a_sentence_alone() -> None:
    steps: list[Event] = []
    for number, longer in enumerate([0, 1000, 1000]):
        for each in events():
            each["ts"] += 100_000 * number
            if each["cat"] == "kernel":
                each["ts"] += longer * (each["args"]["correlation"] - 1)
                each["dur"] += longer
            if "correlation" in each["args"]:
                each["args"]["correlation"] += 1000 * number
            steps.append(each)
    costs = {**COSTS, "gap": 0.0}
    floor = result(row("call_direct", [2e-9] * 30), *floor_rows(spread=0.0, costs=costs))
    gapless = VIEW.build(Question((trace_source(steps),), floor=floor))
    assert [each.shown for each in gapless.rows] == [False]
    assert "3 steps cuda:0: fusing one chain saves nothing" in gapless.lines[1]


def test_names_are_text_in_every_format() -> None:
    sheet = VIEW.build(Question((trace_source(events()),)))
    text = render_table([sheet])
    assert "\x1b]0" not in text
    assert "<script>" in text
    (found,) = csv.DictReader(io.StringIO(render_csv([sheet])))
    assert found["kernels"].startswith("void at::native")
    assert json.loads(render_json([sheet]))["sheets"][0]["rows"][0]["length"] == 2


@pytest.mark.parametrize(
    ("kernels", "text"),
    [
        ((ADD, "gemm"), "vectorized_elementwise_kernel<CUDAF… → gemm"),
        ((ADD,) * 3, "3 × vectorized_elementwise_kernel<CUDAF…"),
        (tuple("abcd"), "a → b → c → d"),
        (tuple("abcdef"), "a → b → c → d → 2 more"),
    ],
)
def test_a_chain_in_a_few_words(kernels: tuple[str, ...], text: str) -> None:
    found = ChainRow(kernels, None, (), 3, Estimate(1e-6, None, None), None)
    assert chain_text(found) == text


def test_the_command_shows_those_that_save_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.json"
    file.write_bytes(trace_text(events()))
    assert command([str(file), "--view", "chains", "--sort", "saved", "--top", "1"]) == 0
    shown = capsys.readouterr().out
    assert "120 µs" in shown
    assert "one kernel that takes as long" in shown


def test_more_than_the_device_was_idle_is_told() -> None:
    found = events()
    found[0]["dur"] = 360
    # Other streams take turns all the time, and nothing tells that they wait for each other.
    for n in range(36):
        found += launched(
            500 + n, 10 * n + 3, 1, 10 * n + 4, 10, stream=9 + n % 3, name=f"elsewhere{n}"
        )
    sheet = VIEW.build(Question((trace_source(found),)))
    assert any("more than the device was idle" in line for line in sheet.lines)
    assert any("several streams" in line for line in sheet.lines)
