"""cuLaunchKernel of the driver, in a C++ loop."""

from __future__ import annotations

from ftax_micro.rungs.contract import ARGUMENTS, Place, Program, Rung
from ftax_micro.rungs.launching import open_session, submitted_program


def _make(place: Place, arguments: int) -> Program:
    return submitted_program(open_session(place), arguments, "kernel")


RUNG = Rung(
    name="driver",
    summary=(
        "A C++ loop calls cuLaunchKernel with an empty kernel and its prepared arguments. It is "
        "the least host time that a launch costs here, and every other way to launch ends in it."
    ),
    source="https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html",
    operation={"cuda": "kernel"},
    below={"cuda": None},
    make=_make,
    arguments=ARGUMENTS,
)
