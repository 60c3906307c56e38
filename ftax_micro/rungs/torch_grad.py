"""torch.add from Python with gradients: each call adds a node to autograd's graph."""

from __future__ import annotations

from ftax_micro.rungs.contract import PACKAGE_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.torch_program import load_torch, python_program


def _make(place: Place, _arguments: int) -> Program:
    return python_program(place, "enable_grad", recorded=True)


RUNG = Rung(
    name="torch_grad",
    summary=(
        "Python calls torch.add with a tensor that wants a gradient, as training does, and as "
        "inference does that was not told otherwise. Each call makes a node of autograd's graph "
        "and hangs it from the one before; freeing the graph is not timed."
    ),
    source="https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history",
    operation={"cpu": "add", "cuda": "add"},
    below={"cpu": "torch_no_grad", "cuda": "torch_no_grad"},
    make=_make,
    package="torch",
    load=load_torch,
    processes=PACKAGE_PROCESSES,
)
