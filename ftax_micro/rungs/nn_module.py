"""torch.add behind the call of an `nn.Module`."""

from __future__ import annotations

from typing import Any

from ftax_micro.rungs.contract import PACKAGE_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.torch_program import load_torch, python_program


def _make(place: Place, _arguments: int) -> Program:
    return python_program(place, operation_of=_module)


def _module(torch: Any) -> Any:
    add = torch.add

    class Add(torch.nn.Module):  # type: ignore[misc]  # torch comes with the call
        def forward(self, x: Any, y: Any) -> Any:
            return add(x, y)

    return Add().eval()


RUNG = Rung(
    name="nn_module",
    summary=(
        "Python calls an nn.Module under inference mode, and its forward calls torch.add. What it "
        "adds is __call__, which looks for hooks, and the Python call of forward."
    ),
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html",
    operation={"cpu": "add", "cuda": "add"},
    below={"cpu": "torch_inference_mode", "cuda": "torch_inference_mode"},
    make=_make,
    package="torch",
    load=load_torch,
    processes=PACKAGE_PROCESSES,
)
