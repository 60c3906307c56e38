"""Two workloads have one identity exactly where one export does for both."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
import os
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ftax_micro.models.request import own_spec, parse_model
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes import onnx_identity
from ftax_micro.modes.onnx_identity import UnidentifiableError, identify

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

ATTENTION = "multi_head_attention@hidden_size=16,num_attention_heads=2"


def asked(text: str = ATTENTION, sequence: int = 4, dtype: str = "fp32", seed: int = 0) -> Workload:
    request = parse_model(text)
    shape = request.spec.shape.replaced(sequence=sequence)
    return build_workload(request.spec, request.overrides, shape, dtype, seed=seed)


def own(module: torch.nn.Module) -> Workload:
    return build_workload(own_spec("mine", lambda: (module, torch.ones(2))))


class Applies(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def times(factor: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: x * factor


def test_the_same_workload_made_again_is_the_same() -> None:
    assert identify(asked()) == identify(asked())


@pytest.mark.parametrize(
    "other",
    [
        # The same weights, in the same shapes.
        {"text": "multi_head_attention@hidden_size=16,num_attention_heads=4"},
        {"text": "multi_head_attention@hidden_size=32,num_attention_heads=2"},
        {"sequence": 5},
        {"dtype": "bf16"},
        {"seed": 1},
    ],
)
def test_another_setting_is_another_identity(other: dict[str, Any]) -> None:
    assert identify(asked(**other)) != identify(asked())


def test_one_weight_or_input_more_or_other_is_another_identity() -> None:
    workload = asked()
    before = identify(workload)
    weight = next(workload.module.parameters())
    with torch.no_grad():
        weight[0] += 1e-3
    changed = identify(workload)
    renamed = {f"{name}_": value for name, value in workload.inputs.items()}
    assert len({before, changed, identify(dataclasses.replace(workload, inputs=renamed))}) == 3


def test_settings_outside_the_weights_count() -> None:
    slopes = [identify(own(torch.nn.LeakyReLU(slope))) for slope in (0.1, 0.1, 0.2)]
    assert slopes[0] == slopes[1] != slopes[2]


def test_what_a_function_closes_over_counts() -> None:
    factors = [identify(own(Applies(times(factor)))) for factor in (2.0, 2.0, 3.0)]
    assert factors[0] == factors[1] != factors[2]
    plus, minus = (lambda x: x + 1), (lambda x: x - 1)
    assert identify(own(Applies(plus))) != identify(own(Applies(minus)))


def test_parametrised_modules_have_an_identity() -> None:
    def normed(seed: int) -> Workload:
        torch.manual_seed(seed)
        return own(torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2)))

    keys = [identify(normed(seed)) for seed in (1, 1, 2)]
    assert keys[0] == keys[1] != keys[2]


def test_another_version_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = asked()
    before = identify(workload)
    real = importlib.metadata.version

    def newer(package: str) -> str:
        return "99.0" if package == "onnxscript" else real(package)

    with monkeypatch.context() as patched:
        patched.setattr(importlib.metadata, "version", newer)
        assert identify(workload) != before
    monkeypatch.setattr(onnx_identity, "FORMAT", onnx_identity.FORMAT + 1)
    assert identify(workload) != before


def test_a_user_s_own_code_counts_by_its_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    for name in ("ftax_helper", "ftax_net"):
        request.addfinalizer(functools.partial(sys.modules.pop, name, None))
    (tmp_path / "ftax_helper.py").write_text("def double(x):\n    return x * 2\n")
    (tmp_path / "ftax_net.py").write_text(
        "import torch\nfrom ftax_helper import double\n"
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return double(x)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("ftax_net").Net()
    before = identify(own(module))
    assert identify(own(module)) == before
    (tmp_path / "ftax_helper.py").write_text("def double(x):\n    return x + x\n")
    assert identify(own(module)) != before
    (tmp_path / "ftax_net.py").unlink()
    with pytest.raises(UnidentifiableError, match="ftax_net cannot be read"):
        identify(own(module))


def test_modules_that_a_package_made_in_memory_are_that_package_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As PyTorch's remote modules are, once something has imported them."""
    before = identify(own(Applies(abs)))
    made = types.ModuleType("made_by_torch")
    made.__file__ = "<made_by_torch>.py"
    monkeypatch.setitem(sys.modules, "made_by_torch", made)
    assert identify(own(Applies(abs))) == before


def test_what_cannot_be_compared_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Local(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    with pytest.raises(UnidentifiableError, match="Local was made inside a function"):
        identify(own(Local()))
    locked = Applies(abs)
    locked.lock = threading.Lock()
    with pytest.raises(UnidentifiableError, match="cannot pickle"):
        identify(own(locked))
    typed = type("Typed", (Applies,), {"__module__": "a_prompt"})
    monkeypatch.setitem(sys.modules, "a_prompt", types.ModuleType("a_prompt"))
    with pytest.raises(UnidentifiableError, match="a_prompt has no file"):
        identify(own(typed(abs)))


SAYS = """
from ftax_micro.models.request import parse_model
from ftax_micro.models.workload import build_workload
from ftax_micro.modes.onnx_identity import identify
request = parse_model("rnn@hidden_size=16")
print(identify(build_workload(request.spec, request.overrides)))
"""


def test_another_process_finds_the_same() -> None:
    request = parse_model("rnn@hidden_size=16")
    here = identify(build_workload(request.spec, request.overrides))
    there = subprocess.run(
        [sys.executable, "-c", SAYS],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert there.stdout.strip() == here
