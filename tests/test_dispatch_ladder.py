"""The command ``dispatch_ladder``: options, formats, exit codes, pictures."""

from __future__ import annotations

import csv
import importlib.util
import io
from pathlib import Path

import msgspec
import pytest
from commands import Run, runner
from fake_results import absent, result
from ladder_results import ladder, rung
from stand_in import NO_CUDA, OLD_RESULT, TINY
from test_ladder_prediction import case

from ftax_micro.dispatch_ladder import command
from ftax_micro.results import decode_result, load_result, save_result
from ftax_micro.rungs.contract import CALL_PROCESSES

RUNGS = (
    rung("raw_call", 2e-9, op="call"),
    rung("extension", 4e-8, op="call", arguments=0, below="raw_call"),
    rung("torch_inference_mode", 2e-6, 1e-6, below="extension"),
)
GONE = absent("torchscript", reason="torch is not installed", setting={"op": "add"})
LADDER = ladder(*RUNGS, GONE)
# What other programs read.
COLUMNS = [
    *("device", "rung", "op", "arguments", "slope_s", "slope_low_s", "slope_high_s"),
    *("intercept_s", "ratio_to_floor", "status", "reason"),
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    for name, value in NO_CUDA.items():
        monkeypatch.setenv(name, value)

    return runner(command, capsys)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_result(LADDER, tmp_path / "ladder.json")
    return tmp_path / "ladder.json"


def test_a_rung_is_measured_saved_and_shown_again(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    code, out, err = run("--device", "cpu", "--rung", "raw_call", *TINY, "-o", path)
    assert code == 0, err
    assert "Dispatch ladder of cpu" in out
    assert [(row.name, row.process) for row in load_result(path).rungs] == [
        ("raw_call", process) for process in range(CALL_PROCESSES)
    ]
    again = run("--show", path)
    assert again[:2] == (0, out)


def test_the_table_says_what_each_layer_adds_and_why_one_is_not_there(
    run: Run, saved: Path
) -> None:
    _, out, _ = run("--show", saved)
    for words in ("over the rung below", "(extension)", "1,000", "█"):
        assert words in out
    assert "cpu torchscript op=add: skipped, torch is not installed" in out


def test_csv_has_the_promised_columns_first(run: Run, saved: Path) -> None:
    _, out, _ = run("--show", saved, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0])[: len(COLUMNS)] == COLUMNS
    assert [row["rung"] for row in rows] == [row.name for row in LADDER.rungs]
    assert float(rows[1]["slope_s"]) == pytest.approx(4e-8)
    assert float(rows[1]["ratio_to_floor"]) == pytest.approx(20)
    assert rows[1]["arguments"] == "0"
    assert rows[3]["slope_s"] == rows[3]["intercept_s"] == rows[3]["ratio_to_floor"] == ""
    assert (rows[3]["op"], rows[3]["status"]) == ("add", "skipped")


def test_json_is_the_file_and_markdown_a_table(run: Run, saved: Path) -> None:
    assert decode_result(run("--show", saved, "--format", "json")[1].encode()) == LADDER
    lines = run("--show", saved, "--format", "markdown")[1].splitlines()
    assert lines[0].startswith("**Dispatch ladder of cpu")
    assert sum(line.startswith("| ") for line in lines) == 2 + len(RUNGS)
    assert lines[-1].startswith("- cpu torchscript")


def test_a_failed_rung_ends_with_1(run: Run, tmp_path: Path) -> None:
    failed = msgspec.structs.replace(GONE, status="failed")
    save_result(ladder(*RUNGS, failed), tmp_path / "a.json")
    code, _, err = run("--show", tmp_path / "a.json")
    assert code == 1
    assert "1 of 4 rungs failed" in err


def test_the_list_has_two_sentences_and_a_source_for_each(run: Run) -> None:
    code, out, _ = run("--list")
    assert code == 0
    assert "raw_call" in out
    assert "[csrc/host_calls.hpp]" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--rung", "torchscipt"], 2, "did you mean torchscript"),
        (["--format", "tablee"], 2, "did you mean table"),
        (["--device", "cuda"], 3, "cuda is not available"),
        (["--device", "gpu"], 2, "unknown device"),
        (["--list", "--quick"], 2, "--quick is for measuring"),
        (["--list", "--picture", "a.svg"], 2, "--list has nothing to predict from or to draw"),
        (["--show", "a", "--list"], 2, "choose one"),
        (["--show", "a", "-o", "b"], 2, "-o saves what is measured"),
        (["--show", "/nowhere.json"], 2, "/nowhere.json"),
        (["--show", OLD_RESULT], 2, "is a result of launch_floor, and dispatch_ladder is what"),
        (["--predict", OLD_RESULT], 2, "is a result of launch_floor, and model_latency is what"),
        (["--picture", "a.gif"], 2, "a.gif ends in none of .svg, .png, .pdf"),
        (["-o", "/nowhere/at/all.json"], 4, "/nowhere/at"),
        (["--timeout", "0.1"], 2, "--timeout (0.1 s) is below --min-time"),
        (["--processes", "0"], 2, "0 is not between"),
    ],
)
def test_wrong_usage_is_one_line_before_anything_is_measured(
    arguments: list[object], code: int, words: str, run: Run
) -> None:
    found, out, err = run(*arguments)
    assert (found, out, err.count("\n")) == (code, "", 1)
    assert words in err


MISSING = "raise ModuleNotFoundError(\"No module named 'numba'\", name='numba')"
BROKEN = "raise OSError('libsvml.so: cannot open\\nshared object file')"


@pytest.mark.parametrize(
    ("package", "code", "status", "reason"),
    [
        (MISSING, 0, "skipped", "numba is not installed: pip install 'ftax-micro[ladder]'"),
        ("__version__ = '0.50.1'", 0, "skipped", "numba 0.50.1 is too old: 0.60 is needed"),
        (BROKEN, 1, "failed", "numba cannot be imported: OSError: libsvml.so: cannot open shared"),
    ],
)
def test_what_is_wrong_with_a_package_costs_its_rung_alone(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    code: int,
    status: str,
    reason: str,
) -> None:
    """In the process of its own in which a rung is measured."""
    (tmp_path / "numba.py").write_text(package)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    options = ("--device", "cpu", "--rung", "raw_call,numba", "--format", "csv", *TINY)
    found, out, err = run(*options)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert found == code, err
    assert [row["status"] for row in rows] == ["ok", *[status] * 3]
    assert all(row["reason"].startswith(reason) for row in rows[1:])


# Predictions


def test_predictions_stand_below_the_table(run: Run, saved: Path, tmp_path: Path) -> None:
    models = result(
        kind="model_latency", cases=[case("eager", 1.0), case("eager", 1e-3, twin=True)]
    )
    save_result(models, tmp_path / "models.json")
    code, out, _ = run("--show", saved, "--predict", tmp_path / "models.json")
    assert code == 0
    assert "bert_base eager on cpu: 100 operations at the cost of torch_inference_mode" in out


def test_models_in_no_mode_of_a_rung_are_told(run: Run, saved: Path, tmp_path: Path) -> None:
    models = result(kind="model_latency", cases=[case("cuda_graph", 1.0)])
    save_result(models, tmp_path / "models.json")
    _, _, err = run("--show", saved, "--predict", tmp_path / "models.json")
    assert "has no model in a mode that a rung stands for" in err


# Pictures

drawing = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed"
)


@drawing
@pytest.mark.parametrize(("name", "head"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG")])
def test_a_ladder_is_drawn(run: Run, saved: Path, tmp_path: Path, name: str, head: bytes) -> None:
    code, _, err = run("--show", saved, "--picture", tmp_path / name)
    assert code == 0
    assert f"drew {tmp_path / name}" in err
    data = (tmp_path / name).read_bytes()
    assert data.startswith(head)
    if name.endswith("svg"):
        assert all(each.name.encode() in data for each in RUNGS)
        assert b"torchscript" not in data


@drawing
def test_a_picture_is_not_overwritten_unasked(run: Run, saved: Path, tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("mine")
    code, _, err = run("--show", saved, "--picture", tmp_path / "a.svg")
    assert (code, (tmp_path / "a.svg").read_text()) == (2, "mine")
    assert "--force replaces it" in err


@drawing
def test_a_ladder_without_a_value_is_not_drawn(run: Run, tmp_path: Path) -> None:
    save_result(ladder(GONE), tmp_path / "a.json")
    code, _, err = run("--show", tmp_path / "a.json", "--picture", tmp_path / "a.svg")
    assert code == 4
    assert "no rung has a value" in err


def test_without_matplotlib_the_extra_is_named(
    run: Run, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    code, _, err = run("--show", saved, "--picture", "a.svg")
    assert code == 1
    assert "pip install 'ftax-micro[report]'" in err


PAGE = Path(__file__).resolve().parent.parent / "docs" / "ladder.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the tests are not in a checkout")
def test_the_page_has_the_list_as_it_is(run: Run) -> None:
    _, out, _ = run("--list", "--format", "markdown")
    assert out in PAGE.read_text()


@pytest.mark.skipif(not PAGE.exists(), reason="the tests are not in a checkout")
def test_the_page_shows_what_the_committed_files_say(run: Run) -> None:
    results = PAGE.parent.parent / "bench" / "results"
    ladder, twins = (results / f"amd-epyc-{what}.json" for what in ("ladder", "twins"))
    _, out, _ = run("--show", ladder, "--predict", twins, "--format", "markdown")
    lines = [line for line in out.splitlines() if "at the cost of" in line]
    assert len(lines) == 6
    assert "\n".join(lines) in PAGE.read_text()
