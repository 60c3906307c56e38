"""The compare command on models: what it prints, in which formats, and when it fails."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from commands import Run, runner
from comparing import model_result
from fake_results import around, row
from timed_cases import case, data

from ftax_micro import compare
from ftax_micro.results import Result, save_result


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(compare.command, capsys)


def models(factor: float, seed: int, *, fast: bool = True) -> Result:
    """A floor, and a model in two modes, the second a third of the first."""
    found = msgspec.structs.replace(
        case(factor * 3e-3, blocks=[42]), pipelined=data(factor * 2.9e-3)
    )
    other = case(1e-3, mode="fast", blocks=[42])
    if not fast:
        changes: dict[str, Any] = {"status": "failed", "latency": None, "blocks": []}
        changes["reason"] = "out of memory"
        other = msgspec.structs.replace(other, **changes)
    return model_result(found, other, measurements=[row("submit", around(1e-6, seed))])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A run, and one whose first mode is a fifth slower and whose second failed."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    save_result(models(1.0, 1), old)
    save_result(models(1.2, 2, fast=False), new)
    return old, new


def test_the_table_has_a_section_for_each_kind(run: Run, files: tuple[Path, Path]) -> None:
    code, out, err = run(*files)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "Launch floor, cpu" in lines
    assert "Model latency, cuda:0, fp16 batch=1 sequence=128" in lines
    place = next(n for n, each in enumerate(lines) if each.startswith("bert_base eager latency"))
    assert lines[place].rstrip().endswith("baseline")
    assert lines[place + 1].split()[0] == "new"
    assert lines[place + 1].rstrip().endswith("slower")
    assert "3 ratios against old, margin 2 %: 2 slower, 1 same" in out
    what = "cuda:0 bert_base fast fp16 batch=1 sequence=128 latency"
    assert f"not compared, new: {what}: failed: out of memory" in out


def test_csv_has_a_row_for_each_quantity(run: Run, files: tuple[Path, Path]) -> None:
    _, out, _ = run(*files, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(r["result"], r["kind"], r["name"], r["quantity"], r["verdict"]) for r in rows] == [
        ("old", "floor", "submit", "", "baseline"),
        ("new", "floor", "submit", "", "same"),
        ("old", "latency", "bert_base", "latency", "baseline"),
        ("new", "latency", "bert_base", "latency", "slower"),
        ("old", "latency", "bert_base", "pipelined", "baseline"),
        ("new", "latency", "bert_base", "pipelined", "slower"),
        ("old", "latency", "bert_base", "latency", "baseline"),
        ("new", "latency", "bert_base", "latency", ""),
    ]
    assert rows[2]["setting"] == "mode=eager dtype=fp16 batch=1 sequence=128"
    assert float(rows[3]["ratio"]) == pytest.approx(1.2)
    assert (rows[3]["paired"], rows[3]["firm"]) == ("false", "true")
    assert (rows[7]["status"], rows[7]["reason"]) == ("failed", "failed: out of memory")


def test_json_and_markdown_have_kinds(run: Run, files: tuple[Path, Path]) -> None:
    content = json.loads(run(*files, "--format", "json")[1])
    assert [each["kind"] for each in content["rows"]] == ["floor", *["latency"] * 3]
    assert content["not_compared"][0]["kind"] == "latency"
    out = run(*files, "--format", "markdown")[1]
    assert "**Model latency, cuda:0, fp16 batch=1 sequence=128**" in out
    assert "| bert_base eager pipelined |  | old |" in out


def test_one_file_is_compared_by_mode(run: Run, files: tuple[Path, Path]) -> None:
    code, out, _ = run(files[0], "--by", "mode", "--probe", "latency")
    assert code == 0
    assert "eager (baseline)" in out
    assert "1 ratio against eager, margin 2 %: 1 faster" in out
    for baseline in ("2", "fast"):
        again = run(files[0], "--by", "mode", "--probe", "latency", "--baseline", baseline)[1]
        assert "1 ratio against fast, margin 2 %: 1 slower" in again


@pytest.mark.parametrize(
    "options", [["--by=modus"], ["--by=mode", "--baseline=old fats"], ["--kind=latencies"]]
)
def test_names_that_are_none_suggest_the_nearest(
    run: Run, files: tuple[Path, Path], options: list[str]
) -> None:
    code, out, err = run(*files, *options)
    assert (code, out) == (2, "")
    assert "did you mean" in err


def test_fail_on_looks_at_all_kinds_or_the_chosen(run: Run, files: tuple[Path, Path]) -> None:
    code, _, err = run(*files, "--fail-on", "slower")
    assert code == 1
    assert "slower: cuda:0 bert_base eager fp16 batch=1 sequence=128 pipelined of new at 1.2" in err
    assert run(*files, "--fail-on", "slower", "--kind", "floor")[0] == 0
    assert run(*files, "--fail-on", "slower", "--margin", "30%")[0] == 0


def test_fail_on_what_is_missing(run: Run, files: tuple[Path, Path]) -> None:
    code, _, err = run(*files, "--fail-on", "missing")
    assert code == 1
    assert "missing: cuda:0 bert_base fast" in err
    assert "slower" not in err
    # What the baseline lacks is nothing that got lost.
    assert run(*reversed(files), "--fail-on", "missing")[0] == 0
    assert run(*files, "--kind", "floor", "--fail-on", "missing")[0] == 0


def test_fail_on_a_kind_that_got_lost(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    floor = tmp_path / "floor.json"
    save_result(msgspec.structs.replace(models(1.0, 3), cases=[]), floor)
    code, _, err = run(files[0], floor, "--fail-on", "missing")
    assert code == 1
    assert "missing: model latency of floor: not in this result" in err
    assert run(floor, files[0], "--fail-on", "missing")[0] == 0


def test_names_out_of_files_are_text_alone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    save_result(model_result(case(1e-3, model="\x1b[2J<b>", blocks=[42])), path)
    for form in ("table", "csv", "json", "markdown"):
        out = run(path, path, "--format", form)[1]
        assert "\x1b" not in out
        assert "[2J" in out
    assert "<b>" not in run(path, path, "--format", "markdown")[1]
