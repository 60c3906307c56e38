"""The main job: a floor and two models into one result, within its time."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from fake_results import environment
from ladder_results import rung
from stand_in import OLD_RESULT

from ftax_micro import __main__, cli, main_job
from ftax_micro.analysis.main_view import main_view
from ftax_micro.interleaving import Block
from ftax_micro.orchestration.ladder import LadderSelection
from ftax_micro.orchestration.latency.run import InThisProcess
from ftax_micro.orchestration.main_run import BUDGET_S, MainRun
from ftax_micro.orchestration.workload.job import Counted, Ready, Taken
from ftax_micro.orchestration.workload.job import Timed as Ended
from ftax_micro.orchestration.workload.journal import Journal
from ftax_micro.records import Case, Data, Roofline
from ftax_micro.reporters.main_job import render_json, render_markdown, render_table
from ftax_micro.results import Result, decode_result, encode_result, save_result


def case_of(model: str, mode: str, samples: Sequence[float]) -> Case:
    return Case(
        model=model,
        mode=mode,
        device="cpu",
        dtype="fp32",
        status="ok",
        sequence=128,
        latency=Data(estimate="median", stop_reason="interval", samples=list(samples)),
        blocks=[len(samples) // 10] * 10,
    )


def whole(*cases: Case) -> Result:
    floor = decode_result(OLD_RESULT.read_bytes())
    return msgspec.structs.replace(floor, kind="model_latency", cases=list(cases))


EAGER, FAST = case_of("small", "eager", [4e-3] * 200), case_of("small", "fast", [1e-3] * 200)
SAME = case_of("small", "same", [3.9e-3, 4.3e-3] * 100)


# What it says


def test_floor_rungs_and_models_stand_in_one_page_with_the_answer() -> None:
    found = msgspec.structs.replace(whole(EAGER, FAST), rungs=[rung("raw_call", 2e-9)])
    text = render_table(main_view(found))
    parts = ("Launch anatomy of cpu", "Dispatch ladder of cpu", "over eager", "small: ")
    assert sorted(map(text.index, parts)) == [text.index(part) for part in parts]
    assert "Dispatch ladder of cpu" in render_markdown(main_view(found))
    assert "small: 4.00 ms in eager, 1.00 ms in fast, its fastest mode: 4.00 × (4.00" in text
    assert "for want of time" not in text


def test_a_mode_that_may_be_no_faster_is_not_called_faster() -> None:
    doubtful = case_of("small", "same", ([3.7e-3] * 20 + [4.4e-3] * 20) * 5)
    text = render_markdown(main_view(whole(EAGER, doubtful)))
    assert "no mode is faster beyond doubt, same at 4.05 ms comes nearest" in text
    slower = case_of("small", "same", [5e-3] * 200)
    text = render_markdown(main_view(whole(EAGER, slower)))
    assert "4.00 ms in eager, its fastest mode; same at 5.00 ms comes nearest" in text


def test_without_a_model_there_is_no_answer_and_no_heading_of_one() -> None:
    skipped = msgspec.structs.replace(
        EAGER, status="skipped", reason="torch is not installed", latency=None, blocks=[]
    )
    for render in (render_table, render_markdown):
        text = render(main_view(whole(skipped)))
        assert "torch is not installed" in text
        assert "What to do" not in text
        assert "What binds" not in text


def test_too_few_samples_are_told_with_their_number() -> None:
    text = render_table(main_view(whole(EAGER, case_of("small", "fast", [1e-3] * 20))))
    assert "fewer samples than the paper's 100, for want of time: small fast 20" in text


def test_with_eager_alone_there_is_nothing_to_be_faster() -> None:
    assert "no mode but eager was asked for" in render_table(main_view(whole(EAGER)))
    skipped = msgspec.structs.replace(
        FAST, status="skipped", reason="not here", latency=None, blocks=[]
    )
    assert "no other mode was measured" in render_table(main_view(whole(EAGER, skipped)))


def test_an_incomplete_run_says_so_once() -> None:
    cut = msgspec.structs.replace(whole(EAGER), complete=False, incomplete_reason="stopped by X")
    assert render_table(main_view(cut)).count("stopped by X") == 1


def test_json_is_what_would_be_saved() -> None:
    found = whole(EAGER, FAST)
    assert decode_result(render_json(main_view(found)).encode()) == found


# The command


def run(*arguments: object) -> int:
    return cli.run(__main__.command, [str(each) for each in arguments])


def test_a_saved_one_is_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_result(whole(EAGER, FAST), tmp_path / "a.json")
    assert run("--show", tmp_path / "a.json") == 0
    assert "its fastest mode" in capsys.readouterr().out


def test_the_report_is_written_where_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("plotly", reason="the report extra is not installed")
    save_result(whole(EAGER, FAST), tmp_path / "a.json")
    page = tmp_path / "a.html"
    assert run("--show", tmp_path / "a.json", "--report", page) == 0
    assert f"report: {page}\n" in capsys.readouterr().err
    assert "its fastest mode" in page.read_text()
    assert run("--show", tmp_path / "a.json", "--report", page) == 2
    assert "exists" in capsys.readouterr().err
    assert run("--show", tmp_path / "a.json", "--report", page, "--force") == 0


def test_where_a_report_goes_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftax_micro.reporters.page.check_page", lambda: None)

    def of(*arguments: str) -> main_job.Report:
        parser = argparse.ArgumentParser()
        main_job.add_options(parser)
        return main_job.Report.of(parser.parse_args(arguments))

    def place(*arguments: str) -> Path | None:
        return of(*arguments).path

    assert place("-o", str(tmp_path / "a.json")) == tmp_path / "a.html"
    assert place("-o", str(tmp_path / "a.json"), "--report", str(tmp_path / "b")) == tmp_path / "b"
    for nowhere in ([], ["-o", os.devnull]):
        found = place(*nowhere)
        assert found is not None
        assert found.parent == Path(tempfile.gettempdir())
    assert place("--show", "a.json") is None
    # The page says what it is of, which is no host's name.
    assert of("-o", str(tmp_path / "a.json")).source == "a.json"
    assert of("--show", "b.json", "--report", str(tmp_path / "b")).source == "b.json"
    assert of("-o", os.devnull).source == of().source == "this run"


def test_without_plotly_the_result_stands_and_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    report = main_job.Report.of(
        argparse.Namespace(show=None, report=None, output=None, force=False)
    )
    assert report.write(whole(EAGER)) == 0
    assert "no report: plotly is not installed: pip install" in capsys.readouterr().err
    save_result(whole(EAGER), tmp_path / "a.json")
    assert run("--show", tmp_path / "a.json", "--report", tmp_path / "a.html") == 1
    assert "pip install 'ftax-micro[report]'" in capsys.readouterr().err


def test_a_result_of_another_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--show", OLD_RESULT) == 2
    assert "is not of the main job" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "tablee"], "did you mean table"),
        (["--quick"], "unrecognized arguments: --quick"),
        (["--device", "gpu"], "unknown device"),
        (["-o", "/nowhere/at/all.json"], "/nowhere/at"),
    ],
)
def test_wrong_usage_is_one_line_before_anything_is_measured(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) in (2, 4)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words in err


# The run


class Measured:
    """Stands for what measures a workload: notes the plan, and takes its time."""

    def __init__(self, takes_s: float) -> None:
        self.takes_s = takes_s
        self.now_s = 0.0
        self.timeouts_s: list[float] = []

    def measure(self, journal: Journal) -> None:
        self.timeouts_s.append(journal.plan.timeout_s)
        self.now_s += self.takes_s


def job_of(measures: Any, **settings: Any) -> MainRun:
    values: dict[str, Any] = {
        "probes": ["call_direct"],
        "modes": ["eager"],
        "clock": lambda: measures.now_s,
    }
    return MainRun("cpu", ["cpu"], environment(), measures, **{**values, **settings})


@pytest.mark.parametrize(
    ("takes_s", "share_s"), [(5.0, 15.0), (BUDGET_S - 90.0, 10.0), (BUDGET_S, 6.0)]
)
def test_the_larger_model_gets_the_time_that_is_left(takes_s: float, share_s: float) -> None:
    measures = Measured(takes_s)
    job_of(measures).run_models()
    assert measures.timeouts_s == [3.0, pytest.approx(share_s)]


class Timed(Measured):
    """Stands for a machine whose modes take seconds to make ready, and milliseconds to run."""

    ready_s: ClassVar = {"eager": 0.1, "onnxruntime": 20.0, "torch_compile": 10.0}

    def __init__(self, takes_s: float) -> None:
        super().__init__(takes_s)
        self.twins: dict[str, list[str]] = {}

    def measure(self, journal: Journal) -> None:
        super().measure(journal)
        asked = journal.request
        if asked.twin:
            self.twins[asked.model.text] = list(journal.modes)
        for mode in journal.modes:
            latency_s = 1e-3 if asked.twin else 4e-3
            cost = {"export": self.ready_s[mode]}
            journal.hear(
                Ready(mode=mode, costs_s=cost, facts={}, relative_norm=0.0, largest_difference=0.0)
            )
            journal.hear(Taken(mode=mode, block=Block(latency=[latency_s] * 40)))
            journal.hear(Ended(mode=mode, reason="interval"))
            journal.hear(Counted(mode=mode, executed={"aten::add": 50}))


def test_a_model_on_the_cpu_is_followed_by_its_twin_as_far_as_there_is_time() -> None:
    measures = Timed(50.0)
    job = job_of(measures, modes=list(Timed.ready_s))
    assert job.cases == 12
    found = job.run_models()
    # The first twin has all the time it needs; with it and the second model gone, 20 s are left.
    assert measures.twins == {"bert_tiny": ["eager", "onnxruntime"], "bert_base": ["eager"]}
    absent = {(case.model, case.mode): case.reason for case in found.cases if not case.latency}
    assert absent == {
        ("bert_tiny", "torch_compile"): "the compiler makes other operations of it",
        ("bert_base", "torch_compile"): "the compiler makes other operations of it",
        ("bert_base", "onnxruntime"): "no time was left for it",
    }
    assert all(case.twin for case in found.cases if not case.latency)


def test_what_was_measured_ends_in_regime_tax_and_advice() -> None:
    job = job_of(Timed(1.0), modes=list(Timed.ready_s))
    job.run_floor()
    found = msgspec.structs.replace(job.run_models(), incomplete_reason=None, complete=True)
    view = main_view(decode_result(encode_result(found)))
    text = render_table(view)
    end = text[text.index("What binds the models") :]
    assert "framework-bound" in end
    assert "zero-work twin takes" in end
    assert "bert_tiny is framework-bound in eager (tax " in end
    assert "twice as fast would save 1.50 ms (37.5 %" in end
    assert "twin was skipped: the compiler makes other operations of it" in end
    # Twins have no row in the table of models.
    assert text.count("bert_tiny  batch 1") == len(Timed.ready_s)
    markdown = render_markdown(view)
    assert "## What binds the models" in markdown
    assert "- bert_tiny is framework-bound in eager" in markdown
    answers = json.loads(render_json(view))["answers"]
    assert [each["name"] for each in answers] == ["bounds", "advice"]
    first = answers[0]["rows"][0]
    assert (first["model"], first["regime"]) == ("bert_tiny", "framework-bound")
    assert first["tax_s"]["value"] == pytest.approx(1e-3, rel=0.01)
    assert {"regime", "faster_device", "mode"} <= {row["kind"] for row in answers[1]["rows"]}


def test_a_twin_that_went_wrong_is_told() -> None:
    broken = msgspec.structs.replace(
        EAGER, twin=True, status="failed", reason="no memory", latency=None, blocks=[]
    )
    text = render_table(main_view(whole(EAGER, broken)))
    assert "the zero-work twin of small in eager: failed, no memory" in text
    assert "its zero-work twin failed: no memory" in text


def test_the_machines_peaks_are_recorded_once() -> None:
    asked: list[object] = []

    def peaks(*arguments: object, **_: object) -> list[Roofline]:
        asked.append(arguments)
        return [
            Roofline(
                device="cpu", operation="copy", dtype="fp32", work=1.0, status="skipped", reason="-"
            )
        ]

    found = job_of(Timed(1.0), peaks=peaks).run_models()
    assert asked == [("cpu", ["fp32"])]
    assert [each.operation for each in found.rooflines] == ["copy"]


def test_a_gpu_needs_no_twins() -> None:
    job = job_of(Timed(1.0))
    job.device = "cuda:0"
    assert job.cases == 2


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="the models extra is missing")
def test_floor_and_models_come_into_one_result() -> None:
    job = MainRun(
        "cpu",
        ["cpu"],
        environment(),
        InThisProcess(),
        probes=["call_direct"],
        modes=["eager"],
        models=["layer_norm@hidden_size=16"],
        budget_s=60.0,
    )
    job.run_floor()
    alone = job.result()
    assert [row.name for row in alone.measurements] == ["call_direct"]
    assert not alone.complete
    job.ladder.selection = LadderSelection(["cpu"], rungs=["raw_call"])
    rungs = job.run_ladder()
    assert {row.name for row in rungs.rungs} == {"raw_call"}
    assert rungs.incomplete_reason == "the models were not measured"
    found = job.run_models()
    assert found.complete
    assert found.rungs == rungs.rungs
    assert [(case.status, case.twin) for case in found.cases] == [("ok", False), ("ok", True)]
    assert found.measurements == alone.measurements
    view = main_view(found)
    assert len(view.bounds.rows) == 1
    assert decode_result(render_json(view).encode()).cases == found.cases
