"""A kernel of triton.jit, launched the way that its users do."""

from __future__ import annotations

from ftax_micro.rungs.contract import ARGUMENTS, Place, Program, Rung
from ftax_micro.rungs.null_kernels import argument_names, launch_chain
from ftax_micro.rungs.triton_program import GRID, triton_kernel


def _make(place: Place, arguments: int) -> Program:
    made = triton_kernel(place, arguments)
    made.launch()
    chain = launch_chain(
        f"kernel[grid]({argument_names(arguments)})",
        {"kernel": made.kernel, "grid": GRID},
        made.arguments,
        before=made.stream.synchronize,
    )
    return made.program(chain)


RUNG = Rung(
    name="triton_jit",
    summary=(
        "Python calls an empty @triton.jit function as kernel[grid](...), with torch's tensors. "
        "Each call asks for the device and the stream, derives from the type, value and alignment "
        "of every argument which compiled kernel it needs, and looks that up before it launches."
    ),
    source="https://triton-lang.org/main/python-api/generated/triton.jit.html",
    operation={"cuda": "kernel"},
    below={"cuda": "triton_cached"},
    make=_make,
    package="triton",
    arguments=ARGUMENTS,
)
