"""On a real GPU, modes that run PyTorch compute what eager computes, asynchronously, or say why."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from gpu import script

pytestmark = pytest.mark.cuda

MODES = """
import json, sys, warnings
import torch
from tiny_models import tiny

assert torch.cuda.is_available(), "torch sees no GPU"
from ftax_micro.errors import Skip
from ftax_micro.models.request import parse_model
from ftax_micro.models.workload import build_workload
from ftax_micro.modes import MODES
from ftax_micro.modes.equality import check_equal

name, lengths, *modes = {arguments}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    request = parse_model(tiny(name))
    shape = request.spec.shape.replaced(batch=2, sequence=32)
    workload = build_workload(
        request.spec, request.overrides, shape, device="cuda:0", lengths=lengths
    )
warnings.simplefilter("error")

def agreement(reference, outputs):
    return check_equal(reference, outputs, "fp32", workload.valid).relative_norm

def same(eager, prepared):
    return agreement(eager.outputs(eager.forward()), prepared.outputs(prepared.forward()))

def told(mode):
    try:
        prepared = MODES.open(mode)().prepare(workload)
    except Skip as reason:
        return {{"skipped": str(reason)}}
    found = {{"costs": list(prepared.costs_s), "facts": dict(prepared.facts)}}
    found["first"] = same(eager, prepared)
    inputs = list(workload.inputs.values())
    others = [inputs[0].flip(1), *inputs[1:]]
    reference = [each.cpu() for each in eager.run(others)]
    found["others"] = agreement(reference, [each.cpu() for each in prepared.run(others)])
    prepared.forward()
    # Another run must not change what this mode answers for its own inputs.
    found["again"] = same(eager, prepared)
    torch.cuda._sleep(200_000_000)
    prepared.forward()
    busy = torch.cuda.current_stream().query()
    prepared.synchronise()
    found["early"], found["done"] = not busy, torch.cuda.current_stream().query()
    try:
        found["executed"] = prepared.executed()
    except Skip as reason:
        found["untold"] = str(reason)
    prepared.close()
    return found

with torch.inference_mode():
    eager = MODES.open("eager")().prepare(workload)
    print(json.dumps({{mode: told(mode) for mode in modes}}))
"""


def told(*arguments: str | None) -> dict[str, Any]:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
        pytest.skip("the models extra is not installed")
    found: dict[str, Any] = script(MODES.format(arguments=list(arguments)))
    return found


def check(found: dict[str, Any]) -> None:
    assert max(found["first"], found["others"], found["again"]) < 1e-3
    assert found["done"]


@pytest.fixture(scope="module")
def dense() -> dict[str, Any]:
    """What all modes but the compiled ones tell of a tiny BERT."""
    return told("bert_tiny", None, "eager", "torchscript", "cuda_graph", "better_transformer")


@pytest.mark.parametrize("mode", ["eager", "torchscript", "cuda_graph", "better_transformer"])
def test_a_mode_computes_what_eager_computes_and_returns_before_it_is_done(
    dense: dict[str, Any], mode: str
) -> None:
    check(dense[mode])
    assert dense[mode]["early"]


def test_a_graph_is_captured_and_its_operations_are_left_to_the_trace(
    dense: dict[str, Any],
) -> None:
    assert set(dense["cuda_graph"]["costs"]) == {"warm_up", "capture", "instantiate", "first_runs"}
    assert "what the device runs is traced" in dense["cuda_graph"]["untold"]


def test_padded_sentences_become_a_nested_tensor() -> None:
    found = told("bert_tiny", "penn_treebank", "better_transformer")["better_transformer"]
    check(found)
    assert found["facts"] == {"nested": True}
    assert found["executed"]["aten::_nested_tensor_from_mask"] == 1


def test_compiled_modes_compute_what_eager_computes_or_lack_a_compiler() -> None:
    found = told("bert_tiny", None, "torch_compile", "torch_compile_reduce_overhead")
    for mode, each in found.items():
        if "skipped" in each:
            pytest.skip(each["skipped"])
        check(each)
        assert each["early"], mode
        assert each["facts"]["graphs"] >= 1
    kernels = [name for name in found["torch_compile"]["executed"] if "triton_" in name]
    assert kernels
    assert "untold" in found["torch_compile_reduce_overhead"]


FAILING = """
import json
import torch
from ftax_micro.models.request import own_spec
from ftax_micro.models.workload import build_workload
from ftax_micro.modes import MODES
from ftax_micro.frameworks.preparation import PreparationError

class Waits(torch.nn.Module):
    def forward(self, x):
        return x * float(x.sum().item())

spec = own_spec("waits", lambda: (Waits(), torch.ones(4)))
workload = build_workload(spec, device="cuda:0")
with torch.inference_mode():
    try:
        MODES.open("cuda_graph")().prepare(workload)
        said = None
    except PreparationError as error:
        said = str(error)
    after = float((torch.ones(8, device="cuda:0") * 2).sum())
    fine = build_workload(own_spec("f", lambda: (torch.nn.Linear(4, 4), torch.ones(1, 4))),
                          device="cuda:0")
    prepared = MODES.open("cuda_graph")().prepare(fine)
    eager = MODES.open("eager")().prepare(fine)
    one, two = (each.outputs(each.forward())[0] for each in (eager, prepared))
print(json.dumps({"said": said, "after": after, "same": bool((one == two).all())}))
"""


def test_a_capture_that_fails_leaves_the_device_usable() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    found = script(FAILING)
    assert found["said"].startswith("capturing a CUDA graph failed: ")
    assert "captur" in found["said"].removeprefix("capturing a CUDA graph failed: ")
    assert (found["after"], found["same"]) == (16.0, True)
