"""A custom operation written in Python, called from Python."""

from __future__ import annotations

from ftax_micro.rungs.contract import PACKAGE_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.custom_add import custom_add
from ftax_micro.rungs.torch_program import load_torch, python_program


def _make(place: Place, _arguments: int) -> Program:
    return python_program(place, operation_of=custom_add)


RUNG = Rung(
    name="torch_custom_op",
    summary=(
        "Python calls an operation made by torch.library.custom_op whose body calls torch.add. "
        "The call goes through the dispatcher twice: once to come back into Python with the "
        "operation's body, and once for the addition."
    ),
    source="https://docs.pytorch.org/docs/stable/library.html#torch.library.custom_op",
    operation={"cpu": "add", "cuda": "add"},
    below={"cpu": "torch_inference_mode", "cuda": "torch_inference_mode"},
    make=_make,
    package="torch",
    load=load_torch,
    processes=PACKAGE_PROCESSES,
)
