"""A function compiled by Numba, called from Python; on a GPU, an empty kernel launched by it."""

from __future__ import annotations

import warnings
from typing import Any

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import preparing
from ftax_micro.rungs.contract import ARGUMENTS, PACKAGE_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.empty_functions import EMPTY
from ftax_micro.rungs.launching import LAUNCHED, called_program
from ftax_micro.rungs.null_kernels import (
    argument_names,
    cuda_extra,
    launch_arguments,
    launch_chain,
    unusable,
)
from ftax_micro.rungs.packages import require

_AT_LEAST = (0, 60)
# NVIDIA's own, which took CUDA over from Numba: the first that knows CUDA 13.
_CUDA_AT_LEAST = (0, 20)


def _load(kind: str) -> None:
    if kind == "cpu":  # NVIDIA's own is imported before Numba, and asks for the driver
        numba = require("numba", "ladder", _AT_LEAST)
        numba.njit(EMPTY[0])()  # the first one that is compiled imports the compiler


def _make(place: Place, arguments: int) -> Program:
    if place.kind == "cuda":
        return _launched(place, arguments)
    numba = require("numba", "ladder", _AT_LEAST)
    if numba.config.DISABLE_JIT:
        raise Skip("NUMBA_DISABLE_JIT is set: Numba compiles nothing")
    with preparing("compiling an empty function with Numba"):
        program = called_program(numba.njit(EMPTY[arguments]), arguments)
        program.burst(1)  # compiles it for its arguments' types
    return Program(program.burst, program.counts, facts={"numba": numba.__version__})


def _launched(place: Place, arguments: int) -> Program:
    package = require("numba_cuda", cuda_extra(), _CUDA_AT_LEAST)
    numba = require("numba", cuda_extra(), _AT_LEAST)
    if numba.config.ENABLE_CUDASIM:
        raise Skip("NUMBA_ENABLE_CUDASIM is set: Numba launches no kernels but imitates them")
    cuda = require("numba.cuda", cuda_extra())  # numba_cuda's, by a finder that it installs
    version = str(package.__version__)
    _check_device(cuda, version)
    with preparing("launching the null kernel with Numba"):
        cuda.select_device(place.index)  # its primary context
        stream = cuda.stream()
        chain = launch_chain(
            f"launch({argument_names(arguments)})",
            {"launch": _configured(cuda, EMPTY[arguments], stream)},
            launch_arguments(arguments, lambda: cuda.device_array(1, "float32")),
            before=stream.synchronize,
        )
        chain.burst(1)  # compiles it for its arguments' types
        stream.synchronize()
    facts = {"numba": numba.__version__, "numba_cuda": version}
    return Program(chain.burst, LAUNCHED, facts=facts, close=stream.synchronize)


def _check_device(cuda: Any, version: str) -> None:
    """Errors: `Skip` where Numba has no device or no compiler, with what it says."""
    if cuda.is_available():
        return
    why = cuda.cuda_error() or "its compiler libNVVM cannot be used"
    raise unusable("numba_cuda", version, why)


def _configured(cuda: Any, function: Any, stream: Any) -> Any:
    """The kernel with its grid, block and stream, ready to be called with arguments."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that one block leaves most of a GPU idle
        return cuda.jit(function)[1, 1, stream]


RUNG = Rung(
    name="numba",
    summary=(
        "Python calls an empty function that Numba compiled, or on a GPU an empty kernel whose "
        "grid, block and stream were configured before. Numba's dispatcher finds the compiled code "
        "by the types of the arguments and unpacks them: for a function in compiled code, for a "
        "kernel in Python, where every array becomes pointer, shape and strides."
    ),
    source="https://numba.readthedocs.io/en/stable/developer/dispatching.html",
    operation={"cpu": "call", "cuda": "kernel"},
    below={"cpu": "extension", "cuda": "driver"},
    make=_make,
    package="numba",
    load=_load,
    arguments=ARGUMENTS,
    processes=PACKAGE_PROCESSES,
)
