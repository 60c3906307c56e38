"""What the rungs in Triton share: its empty kernel, compiled, on torch's device and stream."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Any

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import preparing
from ftax_micro.frameworks.quiet import quiet
from ftax_micro.records import FactValue
from ftax_micro.rungs.chained import Chain
from ftax_micro.rungs.contract import Place, Program
from ftax_micro.rungs.empty_functions import EMPTY
from ftax_micro.rungs.launching import LAUNCHED
from ftax_micro.rungs.null_kernels import launch_arguments
from ftax_micro.rungs.packages import require
from ftax_micro.rungs.torch_program import import_torch

# The oldest that was read; torch 2.9 brought it.
_AT_LEAST = (3, 5)
GRID = (1,)


@dataclass(frozen=True)
class TritonKernel:
    """The null kernel of Triton with arguments for it, and the stream that it is launched on."""

    torch: Any
    stream: Any
    kernel: Any
    arguments: list[Any]
    facts: dict[str, FactValue]

    def launch(self) -> Any:
        """Launch it by a JIT call, which compiles it the first time; the compiled kernel."""
        with preparing("launching the null kernel with Triton"), quiet():
            with self.torch.cuda.stream(self.stream):
                compiled = self.kernel[GRID](*self.arguments)
            self.stream.synchronize()
        return compiled

    def program(self, chain: Chain) -> Program:
        """Programs of `chain` on the stream."""

        def burst(count: int) -> float:
            with self.torch.cuda.stream(self.stream):
                return chain.burst(count)

        with preparing("launching the null kernel with Triton"):
            burst(1)
            self.stream.synchronize()
        return Program(burst, LAUNCHED, facts=self.facts, close=self.stream.synchronize)


def triton_kernel(place: Place, arguments: int) -> TritonKernel:
    """The null kernel with so many arguments, not compiled yet.

    Errors: `Skip` where Triton, torch, a device or a compiler is missing.
    """
    triton = require("triton", "models", _AT_LEAST)
    torch = import_torch(place)
    _check_compiler()
    kernel = triton.jit(EMPTY[arguments])
    if not isinstance(kernel, triton.runtime.JITFunction):
        raise Skip("TRITON_INTERPRET is set: Triton launches no kernels but interprets them")
    with preparing("readying Triton's arguments"):
        stream = torch.cuda.Stream(place.index)
        made = launch_arguments(arguments, lambda: torch.empty(1, device=place.device))
        torch.cuda.synchronize(place.index)
    facts: dict[str, FactValue] = {"triton": triton.__version__, "torch": torch.__version__}
    return TritonKernel(torch, stream, kernel, made, facts)


def _check_compiler() -> None:
    """Errors: `Skip` without a C compiler, with which Triton builds its way to the driver."""
    if not os.environ.get("CC") and not any(map(shutil.which, ("gcc", "clang"))):
        raise Skip("Triton needs a C compiler for its launchers: install gcc, or name one in CC")
