"""A session runs where and as it was asked to, or says that it does not."""

from __future__ import annotations

import logging
import os
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ftax_micro.errors import Skip
from ftax_micro.frameworks import onnx_session
from ftax_micro.frameworks.onnx_packages import import_onnxruntime
from ftax_micro.frameworks.onnx_profile import count_nodes, executed_nodes
from ftax_micro.frameworks.onnx_session import (
    ProviderError,
    Target,
    check_provider,
    open_session,
    run_options,
)

pytest.importorskip("onnxruntime", reason="the models extra is not installed")
pytest.importorskip("onnx", reason="the models extra is not installed")

from onnx_models import step_model


@dataclass
class FakeSession:
    providers: list[str]

    def get_providers(self) -> list[str]:
        return self.providers


@dataclass
class FakeLibrary:
    """Makes sessions of the given providers, and notes what they were made with."""

    providers: list[str]
    asked: list[Any] = field(default_factory=list)
    ExecutionMode = types.SimpleNamespace(ORT_SEQUENTIAL="sequential")

    def SessionOptions(self) -> Any:  # noqa: N802
        return types.SimpleNamespace(add_session_config_entry=lambda _key, _value: None)

    def InferenceSession(self, _model: str, _options: Any, providers: Any) -> FakeSession:  # noqa: N802
        self.asked = providers
        os.write(2, b"libcurand.so.10: cannot open\n")
        return FakeSession(self.providers)

    def set_default_logger_severity(self, _severity: int) -> None: ...

    def preload_dlls(self) -> None:
        sys.stdout.write("Failed to load something\n")


@pytest.fixture
def use_fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(*providers: str) -> FakeLibrary:
        fake = FakeLibrary(list(providers))
        onnx_session._preload_cuda.cache_clear()
        monkeypatch.setattr(onnx_session, "import_onnxruntime", lambda: fake)
        return fake

    yield use
    onnx_session._preload_cuda.cache_clear()


def test_a_session_on_the_cpu_has_our_threads_and_lets_them_rest(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = open_session(step_model(tmp_path), Target(threads=2))
    assert session.get_providers() == ["CPUExecutionProvider"]
    options = session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (2, 1)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert capfd.readouterr() == ("", "")


def test_a_session_that_fell_back_to_the_cpu_is_an_error_and_silent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")
    if torch.cuda.is_available():
        pytest.skip("CUDA can be had here")
    with pytest.raises(ProviderError, match="did not take CUDAExecutionProvider and would run on "):
        open_session(step_model(tmp_path), Target(threads=1, stream=4711))
    assert capfd.readouterr() == ("", "")


def test_a_cuda_session_is_asked_for_our_stream(
    use_fake: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    fake = use_fake("CUDAExecutionProvider", "CPUExecutionProvider")
    target = Target(threads=1, device_index=1, stream=4711, tf32=True, cuda_graph=True)
    with caplog.at_level(logging.INFO, "ftax_micro.frameworks"):
        open_session(Path("model.onnx"), target)
    assert fake.asked == [
        (
            "CUDAExecutionProvider",
            {
                "device_id": "1",
                "user_compute_stream": "4711",
                "use_tf32": "1",
                "enable_cuda_graph": "1",
            },
        )
    ]
    assert capfd.readouterr() == ("", "")
    assert "Failed to load something" in caplog.text
    assert "cannot open" in caplog.text


def test_what_onnxruntime_said_of_its_fallback_is_the_reason(use_fake: Any) -> None:
    use_fake("CPUExecutionProvider")
    with pytest.raises(
        ProviderError, match=r"would run on CPUExecutionProvider: libcurand\.so\.10: cannot open$"
    ):
        open_session(Path("model.onnx"), Target(threads=1, stream=4711))


def test_a_session_without_our_provider_is_never_taken() -> None:
    cuda = Target(threads=1, stream=4711)
    check_provider(FakeSession(["CUDAExecutionProvider", "CPUExecutionProvider"]), cuda, [])
    with pytest.raises(ProviderError, match=r"run on TensorrtExecutionProvider$"):
        check_provider(FakeSession(["TensorrtExecutionProvider"]), cuda, [])


def test_runs_that_do_not_wait_are_asked_for_by_option() -> None:
    key = "disable_synchronize_execution_providers"
    assert run_options(asynchronous=True).get_run_config_entry(key) == "1"
    options = run_options(asynchronous=False, graph=1)
    assert options.get_run_config_entry("gpu_graph_id") == "1"
    with pytest.raises(RuntimeError, match=key):
        options.get_run_config_entry(key)


def test_without_onnxruntime_the_reason_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        Skip, match=r"^onnxruntime is not installed: pip install 'ftax-micro\[models\]'$"
    ):
        import_onnxruntime()


def test_an_onnxruntime_that_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('built for another numpy')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "onnxruntime")
    with pytest.raises(Skip, match=r"^onnxruntime cannot be imported: built for another numpy$"):
        import_onnxruntime()


def test_nodes_are_counted_as_they_ran(tmp_path: Path) -> None:
    import numpy as np

    ones = np.ones((2, 3), np.float32)
    counted = executed_nodes(
        step_model(tmp_path),
        Target(threads=1),
        lambda session: session.run(None, {"state": ones, "change": ones}),
    )
    assert counted == {"Add": 1, "Mul": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_only_kernels_count() -> None:
    kernel = {"cat": "Node", "name": "a_kernel_time", "args": {"op_name": "Gemm"}}
    fence = {"cat": "Node", "name": "a_fence_before", "args": {"op_name": "Gemm"}}
    whole = {"cat": "Session", "name": "model_run", "args": {}}
    assert count_nodes([kernel, fence, whole, kernel]) == {"Gemm": 2}


def test_a_profile_that_cannot_be_had_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(Skip, match=r"^ONNX Runtime's profile cannot be had: "):
        executed_nodes(tmp_path / "gone.onnx", Target(threads=1), lambda session: None)
