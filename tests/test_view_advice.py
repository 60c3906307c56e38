"""The advice view: rows for programs, one sentence for what is alike, and where it is shown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from floor_results import US, floor_result
from profiler_traces import annotation, launched, trace_text
from test_case_bounds import case
from timed_cases import data

from ftax_micro import cli
from ftax_micro.bound_analysis import command
from ftax_micro.records import Case
from ftax_micro.results import save_result

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> str:
        assert cli.run(command, [str(each) for each in arguments]) == 0
        return capsys.readouterr().out

    return run


def save(path: Path, *cases: Case) -> Path:
    rows = floor_result()
    save_result(msgspec.structs.replace(rows, kind="model_latency", cases=list(cases)), path)
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    faster = case(mode="torchscript", latency=data(48 * US), blocks=[42])
    return save(tmp_path / "models.json", case(), faster)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_advice_follows_the_bounds(run: Run, saved: Path) -> None:
    table, markdown = run(saved), run(saved, "--format", "markdown")
    for text in (table, markdown):
        end = text[text.index("What to do") :]
        assert "bert_tiny is framework-bound in eager (" in end
        assert "in torchscript, its fastest mode: 1.04 ×" in end
        assert "kernels twice as fast would save" in end
        assert "one graph of all its operations would save" in end
    sheets = json.loads(run(saved, "--format", "json"))["sheets"]
    assert [each["name"] for each in sheets] == ["bounds", "advice"]


@pytest.mark.parametrize("alone", [("--format", "csv"), ("--sort", "tax"), ("--top", "1")])
def test_a_table_that_is_asked_for_is_the_bounds_alone(
    alone: tuple[str, str], run: Run, saved: Path
) -> None:
    assert "What to do" not in run(saved, *alone)


def test_every_advice_is_a_row_with_its_numbers_and_its_own_sentence(run: Run, saved: Path) -> None:
    rows = rows_of(run(saved, "--view", "advice", "--format", "csv"))
    kinds = ["regime", "regime", "mode", "faster_device", "faster_device", "graph", "graph"]
    assert [row["kind"] for row in rows] == kinds
    regime, mode = rows[0], rows[2]
    assert (regime["source"], regime["mode"]) == ("models.json", "eager")
    assert float(regime["saving_s"]) == pytest.approx(24 * US, rel=0.05)
    low, high = float(regime["saving_low_s"]), float(regime["saving_high_s"])
    assert low <= float(regime["saving_s"]) <= high
    assert float(mode["ratio_low"]) <= float(mode["ratio"]) <= float(mode["ratio_high"])
    assert "torchscript (" not in regime["sentence"]


def test_several_files_are_told_apart(run: Run, saved: Path, tmp_path: Path) -> None:
    other = save(tmp_path / "other.json", case())
    text = run(saved, other, "--view", "advice")
    assert "models.json: bert_tiny is framework-bound" in text
    assert "other.json: bert_tiny is framework-bound" in text


def test_of_a_sweep_the_ends_are_told_and_its_sizes(run: Run, tmp_path: Path) -> None:
    batches = [case(batch=each, latency=data(50 * US), blocks=[42]) for each in (1, 2, 4, 8)]
    path = save(tmp_path / "sweep.json", *batches)
    text = run(path, "--view", "advice")
    assert "bert_tiny batch 1 is framework-bound" in text
    assert "bert_tiny batch 8 is framework-bound" in text
    assert "bert_tiny batch 2 is" not in text
    assert "batch 8 costs no more than batch 1" in text
    assert "2 more, between the ends of sweeps" in text
    rows = rows_of(run(path, "--view", "advice", "--format", "csv"))
    told = [row["case"].split()[-1] for row in rows if row["kind"] == "regime"]
    assert told == ["1", "2", "4", "8"]


def test_what_there_is_no_advice_on_is_said_once(run: Run, tmp_path: Path) -> None:
    untraced = [case(mode=each, device_pass=None) for each in ("eager", "a", "b")]
    text = run(save(tmp_path / "a.json", *untraced), "--view", "advice")
    assert text.count("no advice on what binds it, since the device was not traced") == 1


def test_the_steps_of_a_trace_are_advised_too(run: Run, tmp_path: Path) -> None:
    events = [annotation("ProfilerStep#1", 0, 100), *launched(1, 10, 5, 20, 30)]
    (tmp_path / "trace.json").write_bytes(trace_text(events))
    text = run(tmp_path / "trace.json", "--view", "advice")
    assert "ProfilerStep#1 cuda:0: the device is idle for 70.0 µs of 100" in text
    assert "would save at most" in text
