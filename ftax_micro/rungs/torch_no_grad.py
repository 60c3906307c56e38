"""torch.add from Python under `torch.no_grad`."""

from __future__ import annotations

from ftax_micro.rungs.contract import PACKAGE_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.torch_program import load_torch, python_program


def _make(place: Place, _arguments: int) -> Program:
    return python_program(place, "no_grad")


RUNG = Rung(
    name="torch_no_grad",
    summary=(
        "Python calls torch.add under torch.no_grad(), on tensors that autograd could track. The "
        "dispatcher still goes through autograd's kernels, which find nothing to record, and "
        "results get version counters, both of which inference mode leaves out."
    ),
    source="https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation",
    operation={"cpu": "add", "cuda": "add"},
    below={"cpu": "torch_inference_mode", "cuda": "torch_inference_mode"},
    make=_make,
    package="torch",
    load=load_torch,
    processes=PACKAGE_PROCESSES,
)
