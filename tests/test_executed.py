"""What a forward executes: counted by name, in eager and under TorchScript; what it allocates."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest
from tiny_models import tiny

from ftax_micro.models.request import parse_model
from ftax_micro.models.workload import build_workload
from ftax_micro.modes import MODES
from ftax_micro.modes.executed import activation_bytes, dispatched

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")


def linear_then_relu() -> torch.Tensor:
    return torch.nn.functional.linear(torch.ones(3, 4), torch.ones(2, 4)).relu_()


@pytest.mark.parametrize("inference", [True, False])
def test_composed_operations_count_as_what_they_are_made_of(inference: bool) -> None:
    with torch.inference_mode(inference):
        counted = dispatched(linear_then_relu)
    assert counted == {"aten::ones": 2, "aten::t": 1, "aten::mm": 1, "aten::relu_": 1}


def test_the_most_frequent_comes_first() -> None:
    assert next(iter(dispatched(linear_then_relu))) == "aten::ones"


def test_only_new_memory_is_allocated() -> None:
    # 3 × 4 and 2 × 4 ones, 3 × 2 products; the transposed view and relu_ write nothing new.
    assert activation_bytes(linear_then_relu) == 4 * (12 + 8 + 6)


def test_a_tensor_that_comes_back_twice_is_allocated_once() -> None:
    given = torch.ones(8)

    def views() -> list[torch.Tensor]:
        return list((given + 1).split(2))

    assert activation_bytes(views) == 4 * 8
    assert activation_bytes(lambda: given.view(2, 4).t()) == 0


def test_modes_tell_what_they_execute() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what libraries say when they are imported
        request = parse_model(tiny("resnet50"))
        workload = build_workload(
            request.spec, request.overrides, request.spec.shape.replaced(image=64)
        )
    counts = {}
    for mode in ("eager", "torchscript"):
        with torch.inference_mode():
            prepared = MODES.open(mode)().prepare(workload)
            assert prepared.executed is not None
            counts[mode] = prepared.executed()
    # Four bottlenecks of three convolutions, four ways around them, and the stem.
    assert counts["eager"]["aten::convolution"] == 4 * 3 + 4 + 1
    # Freezing folds batch norms into the convolutions.
    assert counts["torchscript"]["aten::_convolution"] == 17
    assert counts["eager"]["aten::native_batch_norm"] == 17
    assert not [name for name in counts["torchscript"] if "batch_norm" in name]
