"""On a real GPU every rung in torch launches one kernel an operation, without waiting for it.

Ranges are generous, as in test_gpu_anatomy.py: they tell a wrong unit, a burst that waited for the
device, and operations that were fused.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from gpu import script

pytestmark = pytest.mark.cuda

US = 1e-6
PYTHON = ("torch_inference_mode", "torch_no_grad", "torch_grad", "nn_module", "torch_custom_op")
NAMES = ("torchscript", *PYTHON, "torch_compile_op")
RUNGS = """
import json
from ftax_micro import stats
from ftax_micro.orchestration.point.measure import measure_point
from ftax_micro.records import Plan
from ftax_micro.rungs.ladder import LadderDevice

plan = Plan(min_samples=30, min_time_s=0.05, timeout_s=2.0, half_width=0.03)
device, told = LadderDevice("cuda:0"), {{}}
for row in device.rows():
    if row.name not in {names}:
        continue
    found = measure_point((device, row, row.settings[0]), plan)
    told[row.name] = line = {{"status": found.status, "reason": found.reason}}
    if found.data is not None:
        levels = found.data.levels
        counts = [each.count for each in levels]
        samples = [each.samples_s for each in levels]
        fitted = stats.slope_interval(counts, samples, 0.95)
        line["slope_s"], line["off"] = fitted.slope.value, fitted.worst_residual
        line["counted"] = found.facts.get("operations_counted")

import torch

torch.cuda.synchronize()
told["after"] = {{
    "fusing": torch._C._jit_can_fuse_on_gpu(),
    "default_stream": torch.cuda.current_stream() == torch.cuda.default_stream(),
    "grad": torch.is_grad_enabled(),
}}
device.close()
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told() -> Any:
    """What each rung took, by name, and the lowest one."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return script(RUNGS.format(names=("driver", *NAMES)))


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_takes_more_of_the_host_than_the_launch_inside_it(
    told: Any, name: str
) -> None:
    if told[name]["status"] == "skipped":
        pytest.skip(told[name]["reason"])
    assert told[name]["status"] == "ok", told[name]["reason"]
    assert told[name]["counted"]
    assert told["driver"]["slope_s"] < told[name]["slope_s"] < 300 * US
    assert told[name]["off"] < 0.3  # as much for each further operation


def test_python_costs_more_than_the_interpreter_of_graphs(told: Any) -> None:
    assert all(told[name]["slope_s"] > 0.8 * told["torchscript"]["slope_s"] for name in PYTHON)


def test_torch_is_left_as_it_was(told: Any) -> None:
    assert told["after"] == {"fusing": True, "default_stream": True, "grad": True}
