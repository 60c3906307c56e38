"""Exports: by the first exporter that can, silently, each refusal kept as one line."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from workload_here import WorkloadRun

from ftax_micro.errors import Interrupted, Skip
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.models.request import ModelRequest, own_spec
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes.onnx_cache import LOCATION_VARIABLE
from ftax_micro.modes.onnx_export import MODEL_FILE, export
from ftax_micro.modes.onnx_silence import silenced
from ftax_micro.orchestration.workload.request import WorkloadRequest
from ftax_micro.records import QUICK_PLAN

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")
pytest.importorskip("onnxscript", reason="the models extra is not installed")


class Scales(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(1.0, 5.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


class Branches(torch.nn.Module):
    """What only a tracer takes, by taking one of the branches."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x * 3


class TracedWrongly(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        factor = 3 if torch.jit.is_tracing() else 2
        return x * factor if x.sum() > 0 else x


class Refuses(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_exporting() or torch.jit.is_tracing():
            raise ValueError("\n  ---\n  no export of this\nmore of it")
        return x


class StopsMidway(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_exporting():
            raise Interrupted("SIGINT", 130)
        return x


def workload(module: torch.nn.Module) -> Workload:
    return build_workload(own_spec("mine", lambda: (module, torch.ones(4))))


def test_a_model_that_the_dynamo_exporter_takes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with torch.inference_mode():
        exported = export(workload(Scales()), tmp_path)
    assert (exported.exporter, exported.refused) == ("dynamo", ())
    assert exported.opset >= 18
    assert exported.nodes == 1
    # Its weights in a file of their own, however small: no model is too large for its file.
    assert {path.name for path in tmp_path.iterdir()} == {MODEL_FILE, f"{MODEL_FILE}.data"}
    assert capfd.readouterr() == ("", "")


def test_the_older_exporter_is_the_fallback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    before = torch.backends.mha.get_fastpath_enabled()
    with caplog.at_level(logging.INFO, "ftax_micro.modes"):
        exported = export(workload(Branches()), tmp_path)
    assert exported.exporter == "legacy"
    assert len(exported.refused) == 1
    assert exported.refused[0].startswith("dynamo exporter: GuardOnDataDependentSymNode: ")
    assert (tmp_path / MODEL_FILE).exists()
    assert torch.backends.mha.get_fastpath_enabled() == before
    assert capfd.readouterr() == ("", "")
    assert "ONNX export by the dynamo exporter failed" in caplog.text


def test_each_exporter_s_reason_where_none_can(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.INFO, "ftax_micro.modes"),
        pytest.raises(PreparationError) as caught,
    ):
        export(workload(Refuses()), tmp_path)
    assert str(caught.value) == (
        "ONNX export failed: dynamo exporter: ValueError: no export of this; "
        "legacy exporter: ValueError: no export of this"
    )
    assert "more of it" in caplog.text
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_an_interruption_is_not_an_exporter_s_refusal(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        export(workload(StopsMidway()), tmp_path)


def test_without_an_exporter_s_package_the_mode_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(Skip, match=r"^onnxscript is not installed: pip install .*\[models\]"):
        export(workload(Scales()), tmp_path)


def test_a_wrong_export_is_a_failed_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime", reason="the models extra is not installed")
    monkeypatch.setenv(LOCATION_VARIABLE, str(tmp_path))
    model = own_spec("mine", lambda: (TracedWrongly(), torch.ones(4)))
    request = WorkloadRequest(ModelRequest("mine", model), model.shape)
    (case,) = WorkloadRun(request, ["onnxruntime"], QUICK_PLAN).run()
    assert case.status == "failed"
    assert case.reason is not None
    assert "outputs differ from eager's by 0.5 of their norm" in case.reason
    assert case.latency is None


def test_silence_holds_for_one_thread(caplog: pytest.LogCaptureFixture) -> None:
    out = io.StringIO()
    other: Any = None
    with contextlib.redirect_stderr(out), caplog.at_level(logging.INFO), silenced():
        sys.stderr.write("an exporter\n")
        logging.getLogger("torch.onnx").error("an exporter")
        other = threading.Thread(target=lambda: sys.stderr.write("a progress bar\n"))
        other.start()
        other.join()
        sys.stderr.flush()
    assert out.getvalue() == "a progress bar\n"
    assert caplog.text == ""
    logging.getLogger("torch.onnx").error("afterwards")
    assert "afterwards" in caplog.text
