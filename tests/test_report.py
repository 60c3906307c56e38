"""The command ``report``: what it writes, what it refuses, and how it ends."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import msgspec
import pytest
from commands import Run, runner
from fake_results import environment
from floor_results import floor_result
from ladder_results import ladder, rung
from report_results import empty, question, swept

from ftax_micro.analysis.report import build_page
from ftax_micro.report import command
from ftax_micro.reporters.page import _plotly
from ftax_micro.reporters.pictures import draw
from ftax_micro.results import save_result

pytest.importorskip("plotly")
pytest.importorskip("matplotlib")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(command, capsys)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "models.json"
    save_result(swept(batches=(1, 2), dtypes=("fp16",)), path)
    return path


def test_a_page_is_written_and_named(run: Run, models: Path, tmp_path: Path) -> None:
    code, out, err = run(models, "-o", tmp_path / "report.html")
    assert (code, out) == (0, "")
    assert err == f"saved {tmp_path / 'report.html'}\n"
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "<p>Of models.json: A GPU, A Processor (host quiet), 2026-01-02</p>" in text


def test_what_exists_is_replaced_only_by_force(run: Run, models: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("mine")
    code, _, err = run(models, "-o", path)
    assert code == 2
    assert "--force" in err
    assert path.read_text() == "mine"
    assert run(models, "-o", path, "--force")[0] == 0
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE")


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_pictures_come_with_their_data(run: Run, tmp_path: Path, form: str) -> None:
    save_result(ladder(rung("raw_call", 2e-9, op="call"), rung("add", 1e-6)), tmp_path / "a.json")
    folder = tmp_path / "figures"
    code, _, err = run(tmp_path / "a.json", "-o", folder, "--format", form)
    assert (code, err) == (0, f"saved 1 figure in {folder}\n")
    (picture,) = folder.glob(f"*.{form}")
    data = picture.read_bytes()
    assert data.startswith({"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[form])
    assert b"/Type3" not in data
    with picture.with_suffix(".csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["rung"] for row in rows] == ["raw_call", "add"]
    assert float(rows[0]["host time_s"]) == pytest.approx(2e-9, rel=0.05)
    again = run(tmp_path / "a.json", "-o", folder, "--format", form)
    assert again[0] == 2
    assert "not empty" in again[2]
    assert run(tmp_path / "a.json", "-o", folder, "--format", form, "--force")[0] == 0
    assert picture.read_bytes() == data  # the same data are the same file


def test_every_kind_of_figure_is_drawn() -> None:
    page = build_page(question(swept(batches=(1, 2), dtypes=("fp16",))), "1")
    kinds = {figure.kind: figure for figure in page.figures}
    assert len(kinds) == 5
    for figure in kinds.values():
        text = draw(figure, "svg").decode()
        assert figure.series[0].name in text  # text is text


def test_nothing_to_draw_is_an_error_of_its_own(run: Run, tmp_path: Path) -> None:
    save_result(empty(), tmp_path / "a.json")
    code, _, err = run(tmp_path / "a.json", "-o", tmp_path / "figures", "--format", "pdf")
    assert code == 4
    assert "nothing to draw" in err
    assert run(tmp_path / "a.json", "-o", tmp_path / "a.html")[0] == 0


def test_a_floor_of_another_machine_is_pointed_out(run: Run, models: Path, tmp_path: Path) -> None:
    other = msgspec.structs.replace(floor_result(), environment=environment(hostname="elsewhere"))
    save_result(other, tmp_path / "floor.json")
    code, _, err = run(models, "--floor", tmp_path / "floor.json", "-o", tmp_path / "a.html")
    assert code == 0
    assert "warning: models.json was measured on quiet" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: FILE"),
        (["a.json"], "required: -o REPORT"),
        (["a.json", "-o", "b.html", "--format", "htm"], "did you mean html"),
        (["a.json", "-o", "b.html", "--whole", "--annotation", "x"], "choose one"),
        (["/nowhere.json", "-o", "b.html"], "/nowhere.json: No such file"),
        (["a.json", "-o", "/nowhere/b.html"], "cannot write"),
        (["a.json", "-o", "."], "is a folder"),
        (["a.json", "-o", "file", "--format", "svg"], "is a file"),
    ],
)
def test_wrong_usage_is_one_line(
    arguments: list[str], words: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (4 if "cannot write" in words else 2, "", 1)
    assert words in err
    assert not Path("b.html").exists()


@pytest.mark.parametrize(("form", "package"), [("html", "plotly"), ("pdf", "matplotlib")])
def test_a_missing_package_is_one_line_that_names_the_extra(
    form: str, package: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    code, _, err = run("a.json", "-o", tmp_path / "b", "--format", form)
    assert (code, err.count("\n")) == (1, 1)
    assert f"{package} is not installed: pip install 'ftax-micro[report]'" in err


def test_a_package_that_is_broken_is_one_line(
    run: Run, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _plotly.cache_clear()
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    code, _, err = run(models, "-o", tmp_path / "a.html")
    assert (code, err.count("\n")) == (1, 1)
    assert "plotly cannot be imported" in err
    assert not (tmp_path / "a.html").exists()
