"""Workloads in ONNX Runtime: found or exported, on the cpu, and as far as fakes go on CUDA."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_streams import FakeStream, use_fake_streams

from ftax_micro.errors import Skip
from ftax_micro.frameworks.onnx_session import ProviderError, Target, open_session
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.models.request import own_spec, parse_model
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes import MODES, onnx_preparation
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.equality import check_equal
from ftax_micro.modes.onnx_cache import LOCATION_VARIABLE
from ftax_micro.modes.outputs import on_cpu

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")
for package in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(package, reason="the models extra is not installed")


def asked(dtype: str = "fp32") -> Workload:
    request = parse_model("feed_forward@hidden_size=16,intermediate_size=32")
    shape = request.spec.shape.replaced(sequence=4)
    return build_workload(request.spec, request.overrides, shape, dtype)


def prepared(workload: Workload, mode: str = "onnxruntime") -> Prepared:
    with torch.inference_mode():
        made: Prepared = MODES.open(mode)().prepare(workload)
        return made


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One export of the same model for all tests here."""
    with pytest.MonkeyPatch.context() as patched:
        folder = tmp_path_factory.mktemp("cache")
        patched.setenv(LOCATION_VARIABLE, str(folder))
        prepared(asked()).close()
        yield folder


def test_an_export_is_made_once_and_then_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(LOCATION_VARIABLE, str(tmp_path))
    first, second = prepared(asked()), prepared(asked())
    assert set(first.costs_s) == {"identify", "export", "load", "first_run"}
    assert set(second.costs_s) == {"identify", "load", "first_run"}
    assert all(cost > 0 for cost in first.costs_s.values())
    assert (first.facts["export_cached"], second.facts["export_cached"]) == (False, True)
    common = {"exporter", "opset", "exported_nodes", "onnxruntime", "providers"}
    assert first.facts.keys() == second.facts.keys() == common | {"export_cached"}
    assert second.facts["exporter"] == "dynamo"
    assert second.facts["providers"] == "CPUExecutionProvider"
    assert capfd.readouterr() == ("", "")


def test_a_forward_on_the_cpu_is_done_when_it_returns() -> None:
    workload = asked()
    ready = prepared(workload)
    expected = on_cpu(workload.module(**workload.inputs))
    assert check_equal(expected, ready.outputs(ready.forward()), "fp32").relative_norm < 1e-5
    assert (ready.synchronise, ready.host, ready.unpipelined) == (None, True, None)


def test_other_inputs_leave_the_forward_s_own_alone() -> None:
    workload = asked()
    ready = prepared(workload)
    before = ready.outputs(ready.forward())
    other = [torch.randn_like(value) for value in workload.inputs.values()]
    assert ready.run is not None
    check_equal(on_cpu(workload.module(*other)), ready.run(other), "fp32")
    assert torch.equal(ready.outputs(ready.forward())[0], before[0])


def test_what_ran_is_counted_after_optimisation() -> None:
    ready = prepared(asked())
    assert ready.executed is not None
    counted = ready.executed()
    assert sum(counted.values()) <= int(str(ready.facts["exported_nodes"])) + 2
    assert counted.keys() & {"MatMul", "Gemm", "FusedMatMul"}


def test_short_dtypes_run_or_say_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOCATION_VARIABLE, str(tmp_path))
    half = asked("fp16")
    ready = prepared(half)
    (output,) = ready.outputs(ready.forward())
    check_equal(on_cpu(half.module(**half.inputs)), [output], "fp16")
    with pytest.raises(PreparationError, match=r"^loading the exported model failed: NotImpl.*NOT"):
        prepared(asked("bf16"))


def test_a_cache_that_cannot_be_written_is_a_fact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(LOCATION_VARIABLE, str(tmp_path / "file"))
    ready = prepared(asked())
    assert ready.facts["export_cached"] is False
    assert str(ready.facts["export_not_kept"]).startswith("the cache cannot be written: ")
    assert ready.executed is not None
    assert ready.executed()
    ready.close()
    with pytest.raises(Skip, match="profile cannot be had"):
        ready.executed()


def test_a_model_without_identity_is_exported_each_time(cache: Path) -> None:
    class Local(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    kept = sorted(cache.rglob("*"))
    ready = prepared(build_workload(own_spec("mine", lambda: (Local(), torch.ones(3)))))
    assert "Local was made inside a function" in str(ready.facts["export_not_kept"])
    assert ready.outputs(ready.forward())[0].tolist() == [2, 2, 2]
    ready.close()
    assert sorted(cache.rglob("*")) == kept


def test_without_onnxruntime_the_mode_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(Skip, match=r"onnxruntime is not installed: pip install .*\[models\]"):
        prepared(asked())


def test_cuda_graphs_are_skipped_on_the_cpu() -> None:
    with pytest.raises(Skip, match=r"^CUDA graphs exist on a CUDA device only$"):
        prepared(asked(), "onnxruntime_cuda_graph")


@pytest.fixture
def fake_cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    """ONNX Runtime on the cpu, as on CUDA with a stream of ours; returns the stream."""
    targets: list[Target] = []

    def opened(model: Path, target: Target) -> Any:
        targets.append(target)
        return open_session(model, Target(threads=1))

    stream = FakeStream()
    use_fake_streams(monkeypatch, stream.told)
    monkeypatch.setattr(Target, "device_type", "cpu")
    monkeypatch.setattr(onnx_preparation, "open_session", opened)
    monkeypatch.setattr(onnx_preparation, "new_stream", lambda _device: stream)
    return stream, targets


def on_cuda() -> Workload:
    made = asked()
    return Workload(made.model, made.shape, made.dtype, made.module, made.inputs, "cuda:0")


@pytest.mark.parametrize("mode", ["onnxruntime", "onnxruntime_cuda_graph"])
def test_on_cuda_a_run_returns_early_and_is_waited_for(fake_cuda: Any, mode: str) -> None:
    stream, targets = fake_cuda
    ready = prepared(on_cuda(), mode)
    (target,) = targets
    assert (target.stream, target.device_index) == (stream.cuda_stream, 0)
    assert target.cuda_graph == (mode == "onnxruntime_cuda_graph")
    assert (ready.host, ready.unpipelined) == (True, None)
    assert ("capture" in ready.costs_s) == target.cuda_graph
    assert ready.facts["tf32"] is False
    assert ready.synchronise is not None
    stream.told.clear()
    value = ready.forward()
    assert stream.told == []
    ready.synchronise()
    ready.outputs(value)
    assert stream.told == ["synchronize"] * 2


@pytest.mark.parametrize("mode", ["onnxruntime", "onnxruntime_cuda_graph"])
def test_on_cuda_a_run_that_waits_is_not_pipelined(fake_cuda: Any, mode: str) -> None:
    fake_cuda[0].still_busy = False
    ready = prepared(on_cuda(), mode)
    assert ready.host is False
    assert ready.unpipelined == "ONNX Runtime's run waits for the device before it returns"
    # A replay waits at its end; a run may have waited for anything.
    assert (ready.synchronise is None) == (mode == "onnxruntime_cuda_graph")


def test_a_run_that_fell_back_to_the_cpu_is_no_result(
    fake_cuda: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if torch.cuda.is_available():
        pytest.skip("CUDA can be had here")
    monkeypatch.setattr(onnx_preparation, "open_session", open_session)
    with pytest.raises(ProviderError, match="did not take CUDAExecutionProvider"):
        prepared(on_cuda())
