"""A call of cupy.RawKernel."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ftax_micro.frameworks.preparation import preparing
from ftax_micro.rungs.contract import ARGUMENTS, Place, Program, Rung
from ftax_micro.rungs.launching import LAUNCHED
from ftax_micro.rungs.null_kernels import (
    KERNEL,
    argument_names,
    cuda_extra,
    launch_arguments,
    launch_chain,
    null_ptx,
    unusable,
)
from ftax_micro.rungs.packages import require

# The oldest for CUDA 12 that Python 3.10 and NumPy of today go with.
_AT_LEAST = (13,)


def _make(place: Place, arguments: int) -> Program:
    cupy = require("cupy", cuda_extra(), _AT_LEAST)
    _check_device(cupy)
    with preparing("launching the null kernel with CuPy"):
        device = cupy.cuda.Device(place.index)
        with device:  # the runtime's, whose context is the primary one
            stream = cupy.cuda.Stream(non_blocking=True)
            chain = launch_chain(
                f"kernel(one, one, ({argument_names(arguments)}{',' if arguments else ''}))",
                {"kernel": _kernel(cupy, arguments), "one": (1,)},
                launch_arguments(arguments, lambda: cupy.empty(1, cupy.float32)),
                before=stream.synchronize,
            )

        def burst(count: int) -> float:
            with device, stream:
                return chain.burst(count)

        burst(1)
        stream.synchronize()
    return Program(burst, LAUNCHED, facts={"cupy": cupy.__version__}, close=stream.synchronize)


def _check_device(cupy: Any) -> None:
    """Errors: `Skip` where CuPy finds no device, with what its runtime says."""
    try:
        if cupy.cuda.runtime.getDeviceCount() > 0:
            return
    except Exception as error:  # the runtime's own
        raise unusable("cupy", cupy.__version__, error) from error
    raise unusable("cupy", cupy.__version__, "its runtime finds none")


def _kernel(cupy: Any, arguments: int) -> Any:
    """The null kernel as a RawKernel, which needs no compiler: the driver's does."""
    # CuPy knows modules by the names of their files, so this one must be new.
    with tempfile.TemporaryDirectory(prefix="ftax-micro-cupy-") as folder:
        file = Path(folder) / "null.ptx"
        file.write_bytes(null_ptx(arguments))
        return cupy.RawModule(path=str(file)).get_function(KERNEL)


RUNG = Rung(
    name="cupy_raw_kernel",
    summary=(
        "Python calls a cupy.RawKernel with a grid, a block and a tuple of arguments, on the "
        "current stream. CuPy's compiled code asks the runtime for the device, looks up the kernel "
        "for it, wraps every argument in an object, and calls cuLaunchKernel."
    ),
    source="https://docs.cupy.dev/en/stable/reference/generated/cupy.RawKernel.html",
    operation={"cuda": "kernel"},
    below={"cuda": "driver"},
    make=_make,
    package="cupy",
    arguments=ARGUMENTS,
)
