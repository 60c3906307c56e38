"""On a real GPU, a small model of each family goes through each mode."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from gpu import script
from tiny_models import SMALLEST

from ftax_micro.modes import MODES

pytestmark = pytest.mark.cuda

# A process for each of them: what one loads is nothing to the others, and compiling takes its time.
LIBRARIES = {
    "torch": [mode for mode in MODES if "compile" not in mode and "onnx" not in mode],
    "compiler": [mode for mode in MODES if "compile" in mode],
    "onnxruntime": [mode for mode in MODES if "onnx" in mode],
}
SCRIPT = """
import json, warnings
import torch
from tiny_models import SMALLEST

assert torch.cuda.is_available(), "torch sees no GPU"
from ftax_micro.errors import FtaxError, Skip
from ftax_micro.models.request import parse_model
from ftax_micro.models.workload import build_workload
from ftax_micro.modes import MODES
from ftax_micro.modes.equality import check_equal

name, sizes = SMALLEST[{family!r}]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    request = parse_model(name)
    shape = request.spec.shape.replaced(**sizes)
    workload = build_workload(request.spec, request.overrides, shape, device="cuda:0")
warnings.simplefilter("error")
inputs = list(workload.inputs.values())
others = [inputs[0].flip(-1), *inputs[1:]]

def agreement(reference, outputs):
    return check_equal(reference, [each.cpu() for each in outputs], "fp32").relative_norm

def told(mode):
    try:
        prepared = MODES.open(mode)().prepare(workload)
    except Skip as reason:
        return {{"skipped": str(reason)}}
    except FtaxError as reason:
        return {{"failed": str(reason)}}
    outputs = prepared.outputs(prepared.forward())
    norms = [agreement(eager.outputs(eager.forward()), outputs)]
    norms.append(agreement([each.cpu() for each in eager.run(others)], prepared.run(others)))
    prepared.close()
    return {{"norms": norms}}

with torch.inference_mode():
    eager = MODES.open("eager")().prepare(workload)
    print(json.dumps({{mode: told(mode) for mode in {modes!r}}}))
"""


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("family", SMALLEST)
def test_each_family_goes_through_each_mode(family: str, library: str) -> None:
    needed = ("torch", "transformers", "torchvision")
    if any(importlib.util.find_spec(name) is None for name in needed):
        pytest.skip("the models extra is not installed")
    modes = LIBRARIES[library]
    found: dict[str, dict[str, Any]] = script(
        SCRIPT.format(family=family, modes=modes), timeout_s=240
    )
    assert set(found) == set(modes)
    # PyTorch itself can run all of them. A compiler may be missing, and of ONNX Runtime this build
    # may have no CUDA, or a part of the model no place in its graphs.
    accepted: dict[str, set[str]] = {
        "torch": set(),
        "compiler": {"skipped"},
        "onnxruntime": {"skipped", "failed"},
    }
    refused = {mode: each for mode, each in found.items() if "norms" not in each}
    if library == "torch" and family != "encoder":
        assert "is no BERT" in refused.pop("better_transformer")["skipped"]
    for each in refused.values():
        assert set(each) <= accepted[library], refused
    if refused:
        pytest.skip("; ".join(f"{mode}: {each}" for mode, each in refused.items()))
