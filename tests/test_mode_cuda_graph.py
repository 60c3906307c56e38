"""CUDA graphs without a device: what is refused, in which order things happen, what is told."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.models.request import own_spec
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes import MODES, cuda_graph
from ftax_micro.modes.cuda_graph import first_cause
from ftax_micro.modes.waiting import waiting_for

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")


def workload(module: torch.nn.Module | None = None) -> Workload:
    made = module or torch.nn.Linear(3, 2)
    return build_workload(own_spec("mine", lambda: (made, torch.ones(4, 3))))


class FakeCuda:
    """What the mode asks of `torch.cuda`, written down in `log`.

    A graph records that its forward ran once, and a replay runs it again into the same outputs.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        stream = self._stream
        monkeypatch.setattr(torch.cuda, "Stream", lambda: stream("side"))
        monkeypatch.setattr(torch.cuda, "current_stream", lambda _d=None: stream("current"))
        monkeypatch.setattr(torch.cuda, "stream", lambda _s: self._noted("on side"))
        monkeypatch.setattr(torch.cuda, "device", lambda _d: contextlib.nullcontext())
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: self.log.append("synchronize"))
        monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda keep_graph: self)
        monkeypatch.setattr(torch.cuda, "graph", self._capture)

    def _stream(self, name: str) -> Any:
        log = self.log

        class Stream:
            def synchronize(self) -> None:
                log.append(f"{name} synchronize")

            def wait_stream(self, _other: Any) -> None:
                log.append(f"{name} waits")

        return Stream()

    @contextlib.contextmanager
    def _noted(self, what: str) -> Iterator[None]:
        self.log.append(what)
        yield

    @contextlib.contextmanager
    def _capture(self, graph: Any, stream: Any, capture_error_mode: str) -> Iterator[None]:
        assert capture_error_mode == "thread_local"
        self.log.append("capture")
        try:
            yield
        except Exception as error:
            raise RuntimeError("CUDA error: the capture has ended") from error
        self.log.append("captured")

    def instantiate(self) -> None:
        self.log.append("instantiate")

    def replay(self) -> None:
        self.log.append("replay")

    def reset(self) -> None:
        self.log.append("reset")


def pretended(module: torch.nn.Module | None = None) -> Workload:
    own = workload(module)
    object.__setattr__(own, "device", "cuda:0")
    return own


def test_cuda_graphs_need_a_cuda_device() -> None:
    with pytest.raises(Skip, match=r"^CUDA graphs exist on a CUDA device only$"):
        MODES.open("cuda_graph")().prepare(workload())


def test_a_graph_is_captured_beside_and_replayed_on_the_current_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake, own = FakeCuda(monkeypatch), pretended()
    with torch.inference_mode():
        prepared = MODES.open("cuda_graph")().prepare(own)
        assert fake.log == [
            *("side waits", "on side", "current waits", "side synchronize"),
            *("capture", "captured", "instantiate", "replay", "current synchronize"),
        ]
        assert set(prepared.costs_s) == {"warm_up", "capture", "instantiate", "first_runs"}
        fake.log.clear()
        prepared.forward()
        assert prepared.synchronise is not None
        prepared.synchronise()
        assert fake.log == ["replay", "current synchronize"]
        (output,) = prepared.outputs(None)
        assert torch.equal(output, own.module(own.inputs["input"]))
        # Inputs go into the graph's own places, and the workload's stay what they are.
        assert prepared.run is not None
        prepared.run([torch.zeros(4, 3)])
        assert own.inputs["input"].all()
        assert prepared.executed is not None
        with pytest.raises(Skip, match="what the device runs is traced"):
            prepared.executed()
    prepared.close()
    assert fake.log[-1] == "reset"


def test_a_capture_that_fails_tells_of_the_call_that_may_not_be_captured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeCuda(monkeypatch)

    class Waits(torch.nn.Module):  # type: ignore[misc]  # torch's types are not followed
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if fake.log[-1] == "capture":
                raise RuntimeError("CUDA error: operation not permitted when stream is capturing\n")
            return x

    with pytest.raises(PreparationError) as caught:
        MODES.open("cuda_graph")().prepare(pretended(Waits()))
    assert str(caught.value) == (
        "capturing a CUDA graph failed: RuntimeError: "
        "CUDA error: operation not permitted when stream is capturing"
    )
    assert fake.log[-2:] == ["reset", "synchronize"]


def test_a_forward_without_tensors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeCuda(monkeypatch)

    class Nothing(torch.nn.Module):  # type: ignore[misc]  # torch's types are not followed
        def forward(self, x: torch.Tensor) -> None:
            return None

    with pytest.raises(PreparationError, match="returns no tensor"):
        MODES.open("cuda_graph")().prepare(pretended(Nothing()))


def test_the_first_cause_is_found_in_a_chain_and_in_a_ring() -> None:
    one, two, three = ValueError("1"), ValueError("2"), ValueError("3")
    assert first_cause(one) is one
    three.__context__, two.__context__ = two, one
    assert first_cause(three) is one
    one.__context__ = three
    assert first_cause(three) is one


def test_every_mode_waits_for_the_current_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waiting_for(workload()) is None
    fake, own = FakeCuda(monkeypatch), pretended()
    for mode in ("eager", "torchscript"):
        prepared = MODES.open(mode)().prepare(own)
        fake.log.clear()
        assert prepared.synchronise is not None
        prepared.synchronise()
        assert fake.log == ["current synchronize"]


def test_a_device_that_nobody_knows_to_wait_for_is_a_skip() -> None:
    own = workload()
    object.__setattr__(own, "device", "meta")
    with pytest.raises(Skip, match="wait for the device meta"):
        waiting_for(own)


def test_clearing_up_after_a_failure_never_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def reset(self) -> None:
            raise RuntimeError("CUDA error")

    called: list[int] = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: called.append(1))
    cuda_graph._clear(Broken())
    assert called == [1]


@pytest.mark.parametrize("mode", ["eager", "torchscript"])
def test_a_forward_runs_on_other_inputs(mode: str) -> None:
    own = workload()
    with torch.inference_mode():
        prepared = MODES.open(mode)().prepare(own)
        assert prepared.run is not None
        (output,) = prepared.run([torch.zeros(4, 3)])
        assert torch.equal(output, own.module.bias.expand(4, 2))
