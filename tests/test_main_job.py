"""The main job: a floor and two models into one result, within its time."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from fake_results import environment
from ladder_results import rung
from stand_in import OLD_RESULT

from ftax_micro import __main__, cli
from ftax_micro.analysis.main_view import main_view
from ftax_micro.orchestration.ladder import LadderSelection
from ftax_micro.orchestration.latency_run import InThisProcess
from ftax_micro.orchestration.main_run import BUDGET_S, MainRun
from ftax_micro.orchestration.workload_journal import Journal
from ftax_micro.records import Case, Data
from ftax_micro.reporters.main_job import render_json, render_markdown, render_table
from ftax_micro.results import Result, decode_result, save_result


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
    assert "small: 4 ms in eager, 1 ms in fast, its fastest mode: 4.00 × as fast" in text
    assert "for want of time" not in text


def test_a_mode_that_may_be_no_faster_is_not_called_faster() -> None:
    text = render_markdown(main_view(whole(EAGER, SAME)))
    assert "no mode is faster beyond doubt" in text
    assert "its fastest mode" not in text


def test_too_few_samples_are_told_with_their_number() -> None:
    text = render_table(main_view(whole(EAGER, case_of("small", "fast", [1e-3] * 20))))
    assert "fewer samples than the paper's 100, for want of time: small fast 20" in text


def test_with_eager_alone_there_is_nothing_to_be_faster() -> None:
    assert "no other mode was measured" in render_table(main_view(whole(EAGER)))


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


@pytest.mark.parametrize(
    ("takes_s", "share_s"), [(5.0, 15.0), (BUDGET_S - 85.0, 10.0), (BUDGET_S, 1.5)]
)
def test_the_larger_model_gets_the_time_that_is_left(takes_s: float, share_s: float) -> None:
    measures = Measured(takes_s)
    job = MainRun(
        "cpu",
        ["cpu"],
        environment(),
        measures,
        probes=["call_direct"],
        modes=["eager"],
        clock=lambda: measures.now_s,
    )
    job.run_models()
    assert measures.timeouts_s == [3.0, pytest.approx(share_s)]


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="the models extra is missing")
def test_floor_and_models_come_into_one_result() -> None:
    job = MainRun(
        "cpu",
        ["cpu"],
        environment(),
        InThisProcess(),
        probes=["call_direct"],
        modes=["eager"],
        models=["layer_norm@hidden_size=16", "feed_forward@hidden_size=16,intermediate_size=16"],
        budget_s=0.0,
    )
    job.run_floor()
    alone = job.result()
    assert [row.name for row in alone.measurements] == ["call_direct"]
    assert not alone.complete
    job.ladder.selection = LadderSelection(["cpu"], rungs=["raw_call"])
    rungs = job.run_ladder()
    assert [row.name for row in rungs.rungs] == ["raw_call"]
    assert rungs.incomplete_reason == "the models were not measured"
    found = job.run_models()
    assert found.complete
    assert found.rungs == rungs.rungs
    assert [case.status for case in found.cases] == ["ok", "ok"]
    assert found.measurements == alone.measurements
    assert decode_result(render_json(main_view(found)).encode()).cases == found.cases
