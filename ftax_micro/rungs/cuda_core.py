"""launch() of cuda.core, NVIDIA's own Python interface to CUDA."""

from __future__ import annotations

import contextlib
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

# The first version that loads PTX as it is.
_AT_LEAST = (0, 3)
_BYTES = 4  # one fp32


def _make(place: Place, arguments: int) -> Program:
    package = require("cuda.core", cuda_extra(), _AT_LEAST)
    library = _interface(package)
    version = str(package.__version__)
    try:
        device = library.Device(place.index)
        device.set_current()  # its primary context
    except Exception as error:  # the driver's own, or that none can be loaded
        raise unusable("cuda.core", version, error) from error
    with contextlib.ExitStack() as undo, preparing("launching the null kernel with cuda.core"):
        stream = device.create_stream()
        undo.callback(stream.close)

        def array() -> Any:
            buffer = device.allocate(_BYTES, stream=stream)
            undo.callback(buffer.close)
            return buffer

        kernel = library.ObjectCode.from_ptx(null_ptx(arguments)).get_kernel(KERNEL)
        names = {
            "launch": library.launch,
            "stream": stream,
            "config": library.LaunchConfig(grid=1, block=1),
            "kernel": kernel,
        }
        chain = launch_chain(
            f"launch(stream, config, kernel, {argument_names(arguments)})",
            names,
            launch_arguments(arguments, array),
            before=stream.sync,
        )
        undo.callback(stream.sync)
        chain.burst(1)
        stream.sync()
        return Program(
            chain.burst, LAUNCHED, facts={"cuda_core": version}, close=undo.pop_all().close
        )


def _interface(package: Any) -> Any:
    """Where the classes are: until version 0.5 in a module of their own."""
    if hasattr(package, "Device"):
        return package
    return require("cuda.core.experimental", cuda_extra())


RUNG = Rung(
    name="cuda_core",
    summary=(
        "Python calls launch() of cuda.core with a stream, a configuration and a loaded kernel. "
        "Its compiled code checks these, turns each argument into bytes of its own, and calls "
        "cuLaunchKernelEx."
    ),
    source="https://nvidia.github.io/cuda-python/cuda-core/latest/generated/cuda.core.launch.html",
    operation={"cuda": "kernel"},
    below={"cuda": "driver"},
    make=_make,
    package="cuda.core",
    arguments=ARGUMENTS,
)
