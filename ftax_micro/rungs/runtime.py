"""cudaLaunchKernel of the CUDA runtime library, in a C++ loop."""

from __future__ import annotations

from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda.loops import translated
from ftax_micro.devices.cuda.runtime_library import runtime_path
from ftax_micro.records import FactValue
from ftax_micro.rungs.contract import ARGUMENTS, Place, Program, Rung
from ftax_micro.rungs.launching import open_session, submitted_program


def _make(place: Place, arguments: int) -> Program:
    session, cuda = open_session(place), core().cuda
    version = int(cuda.driver_facts("")[0])
    path = runtime_path(version, str(cuda.loaded_runtime(version)))
    with translated():
        session.use_runtime(path)
        found = cuda.runtime_facts(session, path)
    facts: dict[str, FactValue] = {
        "runtime_version": int(found.version),
        "runtime_path": str(found.path),
    }
    return submitted_program(session, arguments, "runtime", facts)


RUNG = Rung(
    name="runtime",
    summary=(
        "A C++ loop calls cudaLaunchKernel of the shared runtime library with the same kernel. "
        "The runtime looks up the calling thread's context and the kernel in it, then calls the "
        "driver."
    ),
    source="https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__EXECUTION.html",
    operation={"cuda": "kernel"},
    below={"cuda": "driver"},
    make=_make,
    arguments=ARGUMENTS,
)
