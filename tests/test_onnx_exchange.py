"""ONNX Runtime on torch's memory, on other inputs, and on its own outputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ftax_micro.frameworks.onnx_session import Target, open_session
from ftax_micro.modes import onnx_stream
from ftax_micro.modes.onnx_binding import Binding, BindingError
from ftax_micro.modes.onnx_exchange import Copied, Rebound

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")
pytest.importorskip("onnxruntime", reason="the models extra is not installed")
pytest.importorskip("onnx", reason="the models extra is not installed")

from fake_streams import FakeStream, use_fake_streams
from onnx_models import SHAPE, step_model

CPU = Target(threads=1)
NAMES = ("state", "change")


def values(state: float, change: float) -> dict[str, torch.Tensor]:
    return {"state": torch.full(SHAPE, float(state)), "change": torch.full(SHAPE, float(change))}


def numbers(tensors: Any) -> list[float]:
    return [float(each.flatten()[0]) for each in tensors]


@pytest.fixture
def session(tmp_path: Path) -> Any:
    return open_session(step_model(tmp_path), CPU)


def test_inputs_are_read_and_outputs_written_where_they_are(session: Any) -> None:
    inputs = values(1, 2)
    binding = Binding(session, CPU, inputs)
    run = binding.call()
    run()
    assert numbers(binding.outputs) == [3, 6]
    inputs["state"].fill_(5)
    run()
    assert numbers(binding.outputs) == [7, 14]


def test_shapes_that_the_model_leaves_open_are_found(tmp_path: Path) -> None:
    session = open_session(step_model(tmp_path, ("rows", 3)), CPU)
    binding = Binding(session, CPU, values(1, 2))
    assert [tuple(each.shape) for each in binding.outputs] == [SHAPE, SHAPE]
    binding.call()()
    assert numbers(binding.outputs) == [3, 6]


def test_what_lies_otherwise_in_memory_is_read_right(session: Any) -> None:
    state = torch.arange(6.0).reshape(3, 2).t()
    binding = Binding(session, CPU, {"state": state, "change": torch.zeros(SHAPE)})
    binding.call()()
    assert torch.equal(binding.outputs[0], state)


def test_a_call_keeps_its_memory_alive(session: Any) -> None:
    outputs = Binding(session, CPU, values(1, 2)).outputs
    call = Binding(session, CPU, values(1, 2), like=outputs).call()
    taken = [torch.zeros(SHAPE) for _ in range(64)]
    call()
    assert all(each.sum() == 0 for each in taken)


def test_what_cannot_be_bound(session: Any) -> None:
    with pytest.raises(BindingError, match="asks for an input 'change'"):
        Binding(session, CPU, {"state": torch.ones(SHAPE)})
    with pytest.raises(BindingError, match="takes no complex64"):
        Binding(session, CPU, {name: torch.ones(SHAPE, dtype=torch.complex64) for name in NAMES})


def test_outputs_fed_back_are_computed_as_a_loop_does(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Binding(session, CPU, values(1, 2))
    bound: list[set[str]] = []
    bind = Binding.bind

    def counted(self: Binding, inputs: Mapping[str, Any]) -> None:
        before = {name: held.data_ptr() for name, held in self._held.items()}
        bind(self, inputs)
        after = {name: held.data_ptr() for name, held in self._held.items()}
        bound.append({name for name in after if before.get(name) != after[name]})

    run = Rebound(NAMES, lambda inputs: Binding(session, CPU, inputs, like=own.outputs))
    state, change = torch.ones(SHAPE), torch.full(SHAPE, 2.0)
    expected, seen = 1.0, []
    for step in range(6):
        if step == 3:
            monkeypatch.setattr(Binding, "bind", counted)
        outputs = run([state, change])
        expected += 2
        seen.append((numbers(outputs), [expected, expected * 2]))
        state = outputs[0]
    assert all(found == wanted for found, wanted in seen)
    assert bound == [set()] * 3  # addresses repeat: nothing is bound any more
    own.call()()
    assert numbers(own.outputs) == [3, 6]  # the forward's own inputs are untouched


def test_a_captured_graph_gets_copies_at_its_own_addresses(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    stream = FakeStream(told=told)
    use_fake_streams(monkeypatch, told)
    made: list[Binding] = []

    def make(inputs: Mapping[str, torch.Tensor]) -> Binding:
        made.append(Binding(session, CPU, inputs))
        return made[-1]

    run = Copied(NAMES, make, stream)
    first = values(1, 2)
    outputs = run(list(first.values()))
    assert numbers(outputs) == [3, 6]
    assert numbers(run([outputs[0], first["change"]])) == [5, 10]
    assert len(made) == 1
    assert numbers(first.values()) == [1, 2]
    once = ["wait for the caller's", "enter ours", "leave ours", "wait for ours"]
    assert told == once * 2


@pytest.mark.parametrize("still_busy", [True, False])
def test_whether_a_run_waits_is_tried(monkeypatch: pytest.MonkeyPatch, still_busy: bool) -> None:
    told: list[str] = []
    stream = FakeStream(told=told, still_busy=still_busy)
    use_fake_streams(monkeypatch, told)
    busy: list[int] = []
    early = onnx_stream.returns_early(lambda: told.append("run"), stream, busy.append)
    assert early == still_busy
    assert told == [
        *("run", "synchronize", "enter ours", "leave ours"),
        *("run", "query", "synchronize"),
    ]
    assert busy[0] >= 0.05 * 2e9  # longer than launching takes, on any GPU's clock
