"""The launcher of a kernel that Triton has compiled, called without its JIT.

What a launcher takes before the kernel's own arguments has changed from version to version. So it
is not written down here but seen: one JIT call is made with something in the launcher's place that
takes what it is handed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ftax_micro.errors import Skip
from ftax_micro.rungs.contract import ARGUMENTS, Place, Program, Rung
from ftax_micro.rungs.null_kernels import argument_names, launch_chain
from ftax_micro.rungs.triton_program import TritonKernel, triton_kernel

# The attribute of a compiled kernel that holds its launcher, once it was launched.
_LAUNCHER = "_run"


def _make(place: Place, arguments: int) -> Program:
    made = triton_kernel(place, arguments)
    launcher, handed = _launcher(made)
    leading = len(handed) - arguments
    before = {f"h{i}": value for i, value in enumerate(handed[:leading])}
    names = ", ".join([*before, *filter(None, [argument_names(arguments)])])
    chain = launch_chain(
        f"launch({names})",
        {"launch": launcher, **before},
        made.arguments,
        before=made.stream.synchronize,
    )
    return made.program(chain)


def _launcher(made: TritonKernel) -> tuple[Callable[..., object], tuple[Any, ...]]:
    """The compiled kernel's launcher, and what a JIT call hands to it.

    Errors: `Skip` where this Triton launches in a way that is not known here.
    """
    compiled = made.launch()
    launcher = getattr(compiled, _LAUNCHER, None)
    if not callable(launcher):
        raise _unknown(made, "a compiled kernel has no launcher where it was looked for")
    seen: list[tuple[Any, ...]] = []
    setattr(compiled, _LAUNCHER, lambda *handed: seen.append(handed))
    try:
        made.launch()
    finally:
        setattr(compiled, _LAUNCHER, launcher)
    if len(seen) != 1:
        raise _unknown(made, f"a JIT call used the launcher {len(seen)} times")
    handed = seen[0]
    own = handed[max(0, len(handed) - len(made.arguments)) :]
    if list(map(id, own)) != list(map(id, made.arguments)):
        raise _unknown(made, "what it takes does not end with the kernel's arguments")
    return launcher, handed


def _unknown(made: TritonKernel, why: str) -> Skip:
    return Skip(f"the launcher of Triton {made.facts['triton']} is not known: {why}")


RUNG = Rung(
    name="triton_cached",
    summary=(
        "Python calls the launcher of a compiled Triton kernel with what Triton's JIT hands to it: "
        "grid, stream, function, metadata, hooks and the arguments. The launcher asks the driver "
        "about every pointer and calls cuLaunchKernelEx."
    ),
    source="https://github.com/triton-lang/triton/blob/main/third_party/nvidia/backend/driver.py",
    operation={"cuda": "kernel"},
    below={"cuda": "driver"},
    make=_make,
    package="triton",
    arguments=ARGUMENTS,
)
