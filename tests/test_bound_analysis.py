"""The command ``bound_analysis``: what explains the latencies in a file."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import msgspec
import pytest
from commands import Run, runner
from fake_results import environment
from floor_results import US, floor_result
from profiler_traces import annotation, launched, trace_text
from stand_in import OLD_RESULT
from test_case_bounds import LATENCY_US, case, on_cpu

from ftax_micro.bound_analysis import command
from ftax_micro.results import Result, save_result

# What other programs read.
COLUMNS = [
    *("source", "case", "regime", "latency_s", "device_bound_s", "launch_bound_s"),
    *("graph_bound_s", "busy_s", "idle_s", "launches", "tax_s", "tax_low_s", "tax_high_s"),
    *("tax_share", "status", "reason"),
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(command, capsys)


def models(*cases: object, floor: bool = True) -> Result:
    found = floor_result()
    rows = found.measurements if floor else []
    return msgspec.structs.replace(
        found, kind="model_latency", cases=list(cases), measurements=rows
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    untraced = case(mode="torchscript", device_pass=None)
    broken = case(
        mode="onnxruntime", status="failed", reason="no operator", latency=None, blocks=[]
    )
    save_result(models(case(), untraced, broken), tmp_path / "models.json")
    return tmp_path / "models.json"


def test_csv_has_the_promised_columns_and_a_row_for_each_case(run: Run, saved: Path) -> None:
    code, out, _ = run(saved, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert set(COLUMNS) <= set(rows[0])
    assert [(row["mode"], row["status"]) for row in rows] == [
        ("eager", "ok"),
        ("torchscript", "skipped"),
        ("onnxruntime", "failed"),
    ]
    first = rows[0]
    assert float(first["latency_s"]) == pytest.approx(LATENCY_US * US)
    assert float(first["tax_low_s"]) <= float(first["tax_s"]) <= float(first["tax_high_s"])
    assert float(first["tax_s"]) + float(first["launch_bound_s"]) == pytest.approx(
        LATENCY_US * US, rel=1e-4
    )
    assert (first["source"], first["regime"]) == ("models.json", "framework-bound")
    assert (first["paper_regime"], first["launches"]) == ("framework-bound", "5")
    assert rows[1]["reason"] == "the device was not traced"


def test_the_table_says_in_words_what_binds(run: Run, saved: Path) -> None:
    _, out, _ = run(saved)
    assert "eager: framework-bound, " in out
    assert "onnxruntime: failed, no operator" in out
    markdown = run(saved, "--format", "markdown", "--view", "bounds")[1]
    assert markdown.startswith("| case | mode | latency |")
    rows = json.loads(run(saved, "--format", "json")[1])["sheets"][0]["rows"]
    assert rows[0]["regime"] == "framework-bound"


def test_without_a_floor_the_reason_is_told_and_floor_gives_one(
    run: Run, saved: Path, tmp_path: Path
) -> None:
    save_result(models(case(), floor=False), tmp_path / "bare.json")
    assert "was not measured on" in run(tmp_path / "bare.json")[1]
    code, out, err = run(tmp_path / "bare.json", "--floor", saved)
    assert (code, err) == (0, "")
    assert "eager: framework-bound, " in out


def test_a_floor_of_another_machine_is_pointed_out(run: Run, saved: Path, tmp_path: Path) -> None:
    other = msgspec.structs.replace(floor_result(), environment=environment(hostname="elsewhere"))
    save_result(other, tmp_path / "floor.json")
    _, _, err = run(saved, "--floor", tmp_path / "floor.json")
    assert "quiet" in err
    assert "elsewhere" in err


def test_a_floor_given_as_a_file_serves_the_models_of_its_machine(run: Run, tmp_path: Path) -> None:
    save_result(models(case(), floor=False), tmp_path / "bare.json")
    save_result(floor_result(), tmp_path / "floor.json")
    code, out, err = run(tmp_path / "floor.json", tmp_path / "bare.json")
    assert (code, err) == (0, "")
    assert "eager: framework-bound, " in out


def test_files_of_other_machines_are_told_and_old_versions_read(run: Run, saved: Path) -> None:
    code, out, err = run(saved, OLD_RESULT)
    assert code == 0
    assert err.startswith("warning: result-v1-cpu.json is of ")
    assert "where none of the models given were measured" in err
    assert "eager: framework-bound, " in out


def test_results_of_mixed_schema_versions_go_together(run: Run, tmp_path: Path) -> None:
    save_result(models(case(), floor=False), tmp_path / "new.json")
    save_result(floor_result(), tmp_path / "floor.json")
    raw = json.loads((tmp_path / "new.json").read_text())
    for version, later in ((2, ("rungs", "rooflines")), (3, ("rungs",))):
        older = {key: value for key, value in raw.items() if key not in later}
        text = json.dumps({**older, "schema_version": version})
        (tmp_path / f"v{version}.json").write_text(text)
    files = [tmp_path / f"{name}.json" for name in ("v2", "floor", "v3", "new")]
    code, out, err = run(*files, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, err) == (0, "")
    assert [row["source"] for row in rows] == ["v2.json", "v3.json", "new.json"]
    assert len({row["tax_s"] for row in rows}) == 1


def test_tables_name_the_file_where_there_are_several(
    run: Run, saved: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / saved.name
    other.write_bytes(saved.read_bytes())
    assert "source" not in run(saved)[1]
    out = run(saved, other, "--view", "bounds")[1]
    assert out.startswith("source")
    assert f"{other}: bert_tiny cuda:0 fp32 batch 1 eager: framework-bound, " in out
    for view in ("bounds", "estimates", "splits", "indices", "what_if"):
        out = run(saved, other, "--view", view)[1]
        # Of the same case in two files, each is named, and none is counted as the other.
        lines = [line for line in out.splitlines() if line.startswith(f"{saved}: bert_tiny")]
        assert any(f"{other}: bert_tiny cuda:0 fp32 batch 1" in line for line in lines), view


def test_the_floor_of_another_machine_answers_what_if(
    run: Run, saved: Path, tmp_path: Path
) -> None:
    save_result(floor_result(), tmp_path / "other.json")
    wanted = (saved, "--view", "what_if", "--other-floor", tmp_path / "other.json")
    code, out, err = run(*wanted)
    assert (code, err) == (0, "")
    assert "the floor of " in out
    assert "the floor of " not in run(saved, "--view", "what_if")[1]


def test_several_views_have_titles_and_paper_is_short_for_one(run: Run, saved: Path) -> None:
    out = run(saved, "--view", "bounds, indices")[1]
    assert "bounds: latency, bounds" in out
    assert "indices: TKLQT" in out
    out = run(saved, "--paper")[1]
    assert out.startswith("finding")
    sheets = json.loads(run(saved, "--view", "all", "--format", "json")[1])["sheets"]
    listed = [line.split()[0] for line in run("--list")[1].splitlines()]
    assert [sheet["name"] for sheet in sheets] == listed


def test_a_cpu_case_without_a_twin_says_what_is_missing(run: Run, tmp_path: Path) -> None:
    save_result(models(on_cpu(100.0)), tmp_path / "a.json")
    assert "twin" in run(tmp_path / "a.json")[1]


@pytest.mark.parametrize("packed", [False, True])
def test_steps_of_a_trace_are_told_with_their_idle_time_by_cause(
    run: Run, tmp_path: Path, packed: bool
) -> None:
    events = [annotation("ProfilerStep#1", 0, 100), *launched(1, 10, 5, 20, 30)]
    path = tmp_path / ("trace.json.gz" if packed else "trace.json")
    data = trace_text(events)
    path.write_bytes(gzip.compress(data) if packed else data)
    code, out, _ = run(path)
    assert code == 0
    assert "ProfilerStep#1 cuda:0: idle by cause: " in out
    (row,) = csv.DictReader(io.StringIO(run(path, "--format", "csv")[1]))
    assert float(row["latency_s"]) == pytest.approx(100e-6)
    assert float(row["busy_s"]) == pytest.approx(30e-6)
    assert (row["status"], row["launches"]) == ("skipped", "1")
    assert "the trace has 1 launches, of 10" in row["reason"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "the following arguments are required: FILE"),
        (["/nowhere.json"], "/nowhere.json: No such file"),
        ([OLD_RESULT], "is a result of launch_floor: it has no models to analyse"),
        ([OLD_RESULT, "--format", "tablee"], "did you mean table"),
        ([OLD_RESULT, "--floor", "/nowhere.json"], "/nowhere.json"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[object], words: str, run: Run) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


# Its time is part of the test's name.
_PACKED = gzip.compress(bytes(range(256)) * 9, mtime=0)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"nonsense", b'{"traceEvents": []}', b"\x1f\x8bnonsense"),
        _PACKED[:40],
        _PACKED[:12] + b"\xff\xff\xff\xff" + _PACKED[16:],
        b'{"schema_version": 999}',
    ],
)
def test_what_is_neither_result_nor_trace_is_one_line(
    data: bytes, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_bytes(data)
    code, out, err = run(tmp_path / "a.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "a.json" in err
