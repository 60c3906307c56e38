"""Which device models run on: what the driver shows, if torch can use it."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from ftax_micro.errors import DeviceUnavailableError, UsageError
from ftax_micro.orchestration.latency import devices as latency_devices
from ftax_micro.orchestration.latency.devices import resolve_model_device


def torch_like(*, built: bool = True, available: bool = True, count: int = 1) -> types.ModuleType:
    torch = types.ModuleType("torch")
    torch.__version__ = "2.15.0"  # type: ignore[attr-defined]
    cuda = {"is_built": lambda: built}
    torch.backends = types.SimpleNamespace(  # type: ignore[attr-defined]
        cuda=types.SimpleNamespace(**cuda)
    )
    torch.version = types.SimpleNamespace(cuda="13.2")  # type: ignore[attr-defined]
    torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        is_available=lambda: available, device_count=lambda: count
    )
    return torch


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that shows two GPUs; `auto` is the first."""

    def resolved(request: str) -> list[str]:
        return {"auto": ["cuda:0"], "cuda": ["cuda:0"]}.get(request, [request])

    monkeypatch.setattr(latency_devices, "resolve_devices", resolved)


def test_a_gpu_that_torch_can_use_is_taken(gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_like())
    assert resolve_model_device("auto") == ("cuda:0", None)
    assert resolve_model_device("cuda") == ("cuda:0", None)


@pytest.mark.parametrize(
    ("torch", "reason"),
    [
        (torch_like(built=False), "torch 2.15.0 is built without CUDA"),
        (torch_like(available=False), "torch 2.15.0, built for CUDA 13.2, finds no usable GPU"),
        (torch_like(count=0), "torch sees 0 GPUs"),
        (None, "torch is not installed: pip install 'ftax-micro[models]'"),
    ],
)
def test_one_that_it_cannot_use_is_a_reason_or_an_error(
    gpu: None, monkeypatch: pytest.MonkeyPatch, torch: types.ModuleType | None, reason: str
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert resolve_model_device("auto") == ("cpu", reason)
    with pytest.raises(DeviceUnavailableError) as caught:
        resolve_model_device("cuda:0")
    assert str(caught.value) == f"cuda:0 is not available: {reason}"
    assert caught.value.exit_code == 3


def test_a_broken_torch_leaves_the_cpu(
    gpu: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libtorch_cuda.so:\\n undefined symbol')")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    reason = "torch cannot be imported: ImportError: libtorch_cuda.so: undefined symbol"
    assert resolve_model_device("auto") == ("cpu", reason)


def test_models_run_on_one_device() -> None:
    with pytest.raises(UsageError, match="on one device"):
        resolve_model_device("all")
