"""The command `model_latency`: usage, table, CSV, result file."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from ftax_micro import launch_floor, load_result, model_latency
from ftax_micro.analysis.latency_view import latency_view, summarise_cases
from ftax_micro.cli import run
from ftax_micro.model_latency_options import sizes
from ftax_micro.orchestration.latency_api import measure_model_latency
from ftax_micro.records import Case, Data, Plan
from ftax_micro.reporters.latency import render_csv, render_markdown, render_table

pytest.importorskip("torch", reason="the models extra is not installed")

LAYER = "layer_norm@hidden_size=8"
FEW = ("--quick", "--min-samples", "4", "--timeout", "1", "--mode", "eager,torchscript")
PLAN = Plan(min_samples=4, min_time_s=0.0, timeout_s=1.0, half_width=100.0, quick=True)
ISSUE_COLUMNS = [
    "model",
    "mode",
    "device",
    "dtype",
    "batch",
    "sequence",
    "params",
    "macs",
    "latency_s",
    "latency_low_s",
    "latency_high_s",
    "host_s",
    "pipelined_s",
    "busy_s",
    "device_ops",
    "samples",
    "status",
    "reason",
]


def latency(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(model_latency.command, arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_run_is_a_table_and_a_file_that_can_be_shown_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "latency.json"
    asked = ("--model", LAYER, "--sequence", "4", "--batch", "1,2")
    code, out, err = latency(capsys, *asked, *FEW, "-o", str(path))
    assert code == 0
    assert out.count("torchscript") == 2
    assert "batch 2 sequence 4 fp32" in out
    assert f"saved {path}" in err
    result = load_result(path)
    assert (result.kind, result.complete, len(result.cases)) == ("model_latency", True, 4)
    assert [(case.batch, case.mode) for case in result.cases][:2] == [
        (1, "eager"),
        (1, "torchscript"),
    ]
    assert latency(capsys, "--show", str(path))[:2] == (0, out)
    assert run(launch_floor.command, ["--show", str(path)]) == 2
    assert "is a result of model_latency, which has its own --show" in capsys.readouterr().err


def test_csv_has_the_promised_columns_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = latency(capsys, "--model", LAYER, *FEW, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert list(rows[0])[: len(ISSUE_COLUMNS)] == ISSUE_COLUMNS
    assert [row["mode"] for row in rows] == ["eager", "torchscript"]
    for row in rows:
        assert row["params"] == "16"
        assert 0 < float(row["latency_s"]) < 1
        assert int(row["samples"]) >= 4
    assert float(rows[0]["speedup"]) == 1.0


def test_the_list_names_models_weights_and_modes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = latency(capsys, "--list")
    assert code == 0
    assert re.search(r"bert_base +encoder +transformers\.BertModel +109\.48 M +sequence 128", out)
    assert "modes: eager, torchscript" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "which model? --model NAME; --list names them"),
        (("--model", "bert_bse"), "unknown model 'bert_bse'; did you mean bert_base"),
        (("--model", LAYER, "--mode", "eger"), "unknown mode 'eger'; did you mean eager?"),
        (("--model", LAYER, "--dtype", "fp8", *FEW), "unknown dtype 'fp8'"),
        (("--model", LAYER, "--image", "8"), "the model's input has no image"),
        (("--model", LAYER, "--batch", "8..1"), "8..1 goes down"),
        (("--model", LAYER, "--batch", "0"), "0 is not between 1 and"),
        (("--model", LAYER, "--format", "html"), "unknown format 'html'"),
        (("--model", ""), "which model?"),
        (("--show", "no-such-file.json"), "no-such-file.json"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = latency(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_failed_case_is_told_and_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = latency(capsys, "--model", "multi_head_attention@num_attention_heads=7", *FEW)
    assert code == 1
    assert out.count("failed, ") == 2
    assert "2 of 2 cases failed" in err


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", [1]), ("1,3", [1, 3]), ("1..128", [1, 2, 4, 8, 16, 32, 64, 128]), ("3..7,3", [3, 6])],
)
def test_sizes_are_lists_and_ranges_of_powers(text: str, expected: list[int]) -> None:
    assert sizes(1000)(text) == expected


def case_of(mode: str, samples: list[float]) -> Case:
    data = Data(estimate="median", stop_reason="interval", samples=samples)
    return Case(
        model="m",
        mode=mode,
        device="cpu",
        dtype="fp32",
        status="ok",
        latency=data,
        blocks=[len(samples)],
    )


def test_a_speedup_is_eager_s_latency_over_the_mode_s() -> None:
    eager, fast = summarise_cases([case_of("eager", [4.0] * 30), case_of("fast", [2.0] * 30)])
    assert eager.speedup is not None
    assert fast.speedup is not None
    assert (eager.speedup.value, fast.speedup.value) == (1.0, 2.0)


def test_another_workload_s_eager_is_no_reference() -> None:
    import msgspec

    other = msgspec.structs.replace(case_of("fast", [2.0] * 30), batch=2)
    assert summarise_cases([case_of("eager", [4.0] * 30), other])[1].speedup is None


def test_the_library_call_gives_what_the_command_shows() -> None:
    result = measure_model_latency([LAYER], ["eager"], sequence=4, plan=PLAN)
    view = latency_view(result)
    for text in (render_table(view), render_markdown(view), render_csv(view)):
        assert LAYER in text
        assert "eager" in text
