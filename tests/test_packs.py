"""The result packs of bench/results: their index and the README say what the files give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import report_results
from bench_scripts import BENCH
from fake_results import environment, result, row
from floor_results import floor_result

from ftax_micro.results import Result, load_result, save_result

WORDS = ["/opt/x/ftax_micro/launch_floor.py", "--log=/home/someone/a.log", "-o", "runs/floor.json"]

pytestmark = pytest.mark.skipif(
    not (BENCH / "results").exists(), reason="the tests are not in a checkout"
)


@pytest.fixture
def packs(bench: Any) -> Any:
    return bench("packs")


@pytest.fixture
def elsewhere(packs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script on an empty folder of results and a README of its own."""
    folder = tmp_path / "results"
    folder.mkdir()
    monkeypatch.setattr(packs, "ROOT", tmp_path)
    monkeypatch.setattr(packs, "RESULTS", folder)
    for name, path, marker in (
        ("INDEX", folder / "README.md", "packs"),
        ("README", tmp_path / "README.md", "headline"),
    ):
        path.write_text(f"before\n<!-- {marker}: begin -->\nstale\n<!-- {marker}: end -->\nafter\n")
        monkeypatch.setattr(packs, name, path)
    return packs


def saved(found: Result, path: Path) -> str:
    save_result(found, path)
    return str(path)


def test_index_and_readme_are_what_the_files_give(
    packs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert packs.main(["--check"]) == 0, capsys.readouterr().err


def test_a_gpu_s_files_make_rows_of_their_own(elsewhere: Any, tmp_path: Path) -> None:
    models = report_results.swept(batches=(1, 2), dtypes=("fp16",))
    laptop = result(environment=environment(hostname="other", gpus=None))
    for what, found in (("models", models), ("floor", laptop)):
        source = saved(found, tmp_path / f"{what}.json")
        assert elsewhere.main(["--add", source, what]) == 0
    assert elsewhere.main(["--check"]) == 0
    index, readme = elsewhere.INDEX.read_text(), elsewhere.README.read_text()
    for text in (index, readme):
        assert text.startswith("before\n")
        assert text.endswith("after\n")
        assert "stale" not in text
    # Machines with a GPU first; of a machine without rows there is a part, and no line of numbers.
    assert index.index("## A GPU, 8 logical CPUs") < index.index("## A Processor, 8 logical CPUs")
    assert "| driver | 580.1 |" in index
    assert "launch floor of cpu, cuda:0; dispatch ladder of cpu, cuda:0" in index
    layers, cases = (readme.partition("| machine | model |")[place] for place in (0, 2))
    (line,) = (each for each in layers.splitlines() if each.startswith("| A GPU, cuda:0 |"))
    submit, to_start, together, operation, ratio = line.strip("| ").split(" | ")[1:]
    numbers = [float(each.split(" µs (")[0]) for each in (submit, to_start, operation)]
    assert numbers == pytest.approx([2, 6, 9], rel=0.02)
    assert (together, ratio) == ("not measured", "4.5")
    (line,) = (each for each in cases.splitlines() if each.startswith("| A GPU, cuda:0 |"))
    _, case, *rest = line.strip("| ").split(" | ")
    assert case == "bert_base, batch 1, sequence 128, fp16"
    assert rest[3].startswith("cuda_graph: ")
    assert "not measured" not in line
    assert "A Processor" not in cases


def test_what_was_not_measured_is_said(elsewhere: Any, tmp_path: Path) -> None:
    floor = floor_result()
    rows = [row for row in floor.measurements if row.name != "to_start"]
    bare = msgspec.structs.replace(floor, measurements=rows)
    assert elsewhere.main(["--add", saved(bare, tmp_path / "floor.json"), "floor"]) == 0
    (line,) = (each for each in elsewhere.README.read_text().splitlines() if "cuda:0" in each)
    cells = line.strip("| ").split(" | ")
    assert [place for place, cell in enumerate(cells) if cell == "not measured"] == [2, 3, 4, 5]


@pytest.mark.parametrize("worker", ["polling", "busy"])
def test_a_worker_that_polled_is_said(elsewhere: Any, tmp_path: Path, worker: str) -> None:
    handed = msgspec.structs.replace(
        row("submit", [2e-6] * 40, setting={"wait": "spin"}), facts={"worker": worker}
    )
    assert elsewhere.main(["--add", saved(result(handed), tmp_path / "floor.json"), "floor"]) == 0
    assert ("that polled the queue" in elsewhere.README.read_text()) == (worker == "polling")


def test_nothing_private_is_published(elsewhere: Any, tmp_path: Path) -> None:
    floor = result(environment=environment(command=WORDS))
    source = saved(floor, tmp_path / "floor.json")
    assert elsewhere.main(["--add", source, "floor"]) == 0
    found = load_result(elsewhere.RESULTS / "a-floor.json")
    assert found.environment.hostname is None
    assert found.environment.unknown == {"hostname": "left out of what is published"}
    assert found.environment.command == [
        *("python", "-m", "ftax_micro.launch_floor", "--log=a.log", "-o", "runs/floor.json")
    ]
    assert msgspec.structs.replace(found, environment=floor.environment) == floor


def test_a_file_put_there_as_it_is_is_refused(
    elsewhere: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(result(), elsewhere.RESULTS / "h200-floor.json")
    assert elsewhere.main(["--write"]) == 1
    told = capsys.readouterr().err
    assert "h200-floor.json is of a machine whose files begin with a-" in told
    assert "h200-floor.json tells host name or folders" in told
    assert "stale" in elsewhere.README.read_text()


def test_what_is_stale_is_told(elsewhere: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert elsewhere.main(["--check"]) == 1
    told = capsys.readouterr().err
    assert "results/README.md is not what the files give" in told
    assert "\npacks: README.md is not what the files give" in told


def test_files_are_not_replaced_unasked(
    elsewhere: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content, name in (("a result", "floor"), ("reports", "bench")):
        source = tmp_path / f"{name}.json"
        if content == "reports":
            source.write_text(json.dumps([report()]))
        else:
            saved(floor_result(), source)
        for expected, options in ((0, []), (1, []), (0, ["--force"])):
            assert elsewhere.main(["--add", str(source), name, *options]) == expected
        assert "exists already" in capsys.readouterr().err
    text = elsewhere.INDEX.read_text()
    assert "| [bench](a-bench.json) | benches of ours: `peers` | 1 skipped |" in text
    assert "- a load of 2.5 on 8 CPUs (bench; the worst of 2)" in text


def report() -> dict[str, Any]:
    """One of a bench script, of the machine of `result`."""
    machine = {
        "cpu": "A Processor",
        "logical_cpus": 8,
        "gpus": [],
        "ftax_micro": "0.1.0",
        "packages": ["numpy 2.0", "unheard-of 1"],
        "warnings": ["a load of 1.5 on 8 CPUs", "a load of 2.5 on 8 CPUs"],
    }
    return {
        "bench": "peers",
        "created_at": "2026-01-03T00:00:00+00:00",
        "quick": False,
        "machine": machine,
        "settings": {},
        "rows": [{"name": "x", "status": "skipped", "reason": "not here"}],
    }


@pytest.mark.parametrize("text", ["{}", "[]", '[{"bench": 1}]', "no JSON"])
def test_what_is_neither_result_nor_reports_is_one_line(
    elsewhere: Any, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere.RESULTS / "a.json").write_text(text)
    assert elsewhere.main([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "a.json" in line


def test_a_marker_that_is_missing_is_told(
    elsewhere: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere.README.write_text("nothing")
    assert elsewhere.main(["--write"]) == 1
    assert "has no markers of 'headline'" in capsys.readouterr().err
