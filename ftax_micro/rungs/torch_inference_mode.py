"""torch.add from Python under `torch.inference_mode`."""

from __future__ import annotations

from ftax_micro.rungs.contract import PACKAGE_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.torch_program import load_torch, python_program


def _make(place: Place, _arguments: int) -> Program:
    return python_program(place)


RUNG = Rung(
    name="torch_inference_mode",
    summary=(
        "Python calls torch.add on one-element tensors under torch.inference_mode(). Beyond the "
        "dispatcher and the kernel, which TorchScript pays too, there are Python's call, argument "
        "parsing and a new Python object for the result."
    ),
    source="https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html",
    operation={"cpu": "add", "cuda": "add"},
    below={"cpu": "torchscript", "cuda": "torchscript"},
    make=_make,
    package="torch",
    load=load_torch,
    processes=PACKAGE_PROCESSES,
)
