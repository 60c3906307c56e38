"""The command `model_latency`: usage, table, CSV, result file."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_results import device, result

from ftax_micro import launch_floor, load_result, measure_module_latency, model_latency
from ftax_micro.analysis.latency_view import latency_view, summarise_cases
from ftax_micro.cli import run
from ftax_micro.cli.model_latency_options import sizes
from ftax_micro.cli.progress import LatencyLine
from ftax_micro.errors import UsageError
from ftax_micro.models import known_models, listing
from ftax_micro.orchestration.latency.api import measure_model_latency
from ftax_micro.records import Case, Data, Plan
from ftax_micro.reporters.latency import render_csv, render_markdown, render_table

pytest.importorskip("torch", reason="the models extra is not installed")

LAYER = "conv1d@channels=2"
FEW = ("--quick", "--min-samples", "4", "--timeout", "1", "--device", "cpu")
BOTH = ("--mode", "eager,torchscript")
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


@pytest.fixture(scope="module")
def saved_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str, str]:
    """A run of the real command: its file, exit code, stdout and stderr."""
    path = tmp_path_factory.mktemp("run") / "latency.json"
    asked = ("--model", LAYER, "--sequence", "4", "--batch", "2", *BOTH)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(model_latency.command, [*asked, *FEW, "-o", str(path)])
    return path, code, out.getvalue(), err.getvalue()


def test_a_run_is_a_table_and_a_file_that_can_be_shown_again(
    saved_run: tuple[Path, int, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, code, out, err = saved_run
    assert code == 0
    assert out.count("torchscript") == 1
    assert "batch 2 sequence 4 fp32" in out
    assert f"saved {path}" in err
    saved = load_result(path)
    assert (saved.kind, saved.complete) == ("model_latency", True)
    assert [(case.batch, case.mode) for case in saved.cases] == [(2, "eager"), (2, "torchscript")]
    assert latency(capsys, "--show", str(path))[:2] == (0, out)
    assert run(launch_floor.command, ["--show", str(path)]) == 2
    assert "is a result of model_latency, which has its own --show" in capsys.readouterr().err


def test_csv_has_the_promised_columns_in_seconds(
    saved_run: tuple[Path, int, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = latency(capsys, "--show", str(saved_run[0]), "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert list(rows[0])[: len(ISSUE_COLUMNS)] == ISSUE_COLUMNS
    assert [row["mode"] for row in rows] == ["eager", "torchscript"]
    for row in rows:
        assert row["params"] == "14"
        assert 0 < float(row["latency_s"]) < 1
        assert int(row["samples"]) >= 4
        # 2 channels from 2 by a kernel of 3, at 4 places of 2 examples.
        assert (row["macs"], row["twin"], row["threads"]) == ("96", "0", "1")
        assert int(row["ops"]) >= 1
        assert row["measured_at"] > "2026"
    assert float(rows[0]["speedup"]) == 1.0


def test_the_list_names_models_weights_and_modes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: known_models()[name] for name in ("bert_base", "conv1d")}
    monkeypatch.setattr(listing, "known_models", lambda: few)  # all are counted in test_models.py
    code, out, _ = latency(capsys, "--list")
    assert code == 0
    assert re.search(r"bert_base +encoder +transformers\.BertModel +109\.48 M +sequence 128", out)
    assert re.search(r"conv1d +layer +torch\.nn: .+ 1\.77 M +sequence 128", out)
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
    wrong = "multi_head_attention@num_attention_heads=7"
    code, out, err = latency(capsys, "--model", wrong, *FEW, *BOTH)
    assert code == 1
    assert " in eager, torchscript: failed, " in out
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
    other = msgspec.structs.replace(case_of("fast", [2.0] * 30), batch=2)
    assert summarise_cases([case_of("eager", [4.0] * 30), other])[1].speedup is None
    twin = msgspec.structs.replace(case_of("eager", [1.0] * 30), twin=True)
    cases = [case_of("eager", [4.0] * 30), twin, case_of("fast", [2.0] * 30)]
    speedup = summarise_cases(cases)[2].speedup
    assert speedup is not None
    assert speedup.value == 2.0


def test_one_reason_for_many_cases_is_one_line() -> None:
    absent: dict[str, Any] = {
        "status": "failed",
        "reason": "no luck",
        "latency": None,
        "blocks": [],
    }
    cases = [msgspec.structs.replace(case_of("m", [1.0]), batch=n, **absent) for n in (1, 2, 4)]
    shown = result(devices=[device("cpu")], kind="model_latency", cases=cases)
    assert "m in m (3 cases): failed, no luck" in render_table(latency_view(shown))


def test_a_case_by_itself_tells_what_the_others_cost_it() -> None:
    alone = Data(estimate="median", stop_reason="interval", samples=[2.0])
    case = msgspec.structs.replace(case_of("eager", [3.0]), solo=alone, executed={"a": 2, "b": 1})
    (row,) = summarise_cases([case])
    assert (row.solo_ratio, row.operations) == (1.5, 3)


def test_any_module_is_measured_as_it_is() -> None:
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout()).half()
    before = {name: each.clone() for name, each in module.state_dict().items()}
    measured = measure_module_latency(module, torch.ones(1, 3), ["eager"], name="own", plan=PLAN)
    (case,) = measured.cases
    assert (case.status, case.model, case.dtype, case.device) == ("ok", "own", "fp16", "cpu")
    assert case.macs == 6
    assert module.training
    assert all(bool((before[name] == each).all()) for name, each in module.state_dict().items())
    with pytest.raises(UsageError, match=r"weights are torch\.float64"):
        measure_module_latency(module.double(), torch.ones(1, 3))
    with pytest.raises(UsageError, match="inputs must be tensors, not int"):
        measure_module_latency(module, 3)
    with pytest.raises(UsageError, match="2 inputs for 1 parameters"):
        measure_module_latency(module, [torch.ones(1, 3)] * 2)


class Steps:
    """Time that only moves when the test says so."""

    now_s = 0.0


def test_the_line_tells_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: Steps.now_s)
    line = LatencyLine(4)
    line.workload_begins("bert batch 1", 0, 2)
    assert line.left_s() is None
    Steps.now_s = 10.0
    line.solo_ends("eager")
    assert line.left_s() == pytest.approx(70.0)  # half a case in 10 s, 3.5 to come
    Steps.now_s = 30.0
    line.case_ends("eager")
    line.case_ends("torchscript")
    assert line.left_s() == pytest.approx(30.0)


def test_the_library_call_gives_what_the_command_shows() -> None:
    measured = measure_model_latency([LAYER], ["eager"], sequence=4, plan=PLAN, isolated=False)
    view = latency_view(measured)
    for text in (render_table(view), render_markdown(view), render_csv(view)):
        assert LAYER in text
        assert "eager" in text
