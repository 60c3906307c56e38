"""The same C functions through ctypes of the standard library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ftax_micro.devices._extension import core
from ftax_micro.errors import FtaxError
from ftax_micro.rungs.contract import ARGUMENTS, CALL_PROCESSES, Place, Program, Rung
from ftax_micro.rungs.launching import called_program, launched_program, open_session


def _make(place: Place, arguments: int) -> Program:
    if place.kind == "cuda":
        return launched_program(open_session(place), arguments, _launching)
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * arguments)
    return called_program(prototype(core().host.empty_function_address(arguments)), arguments)


def _launching(launcher: Any) -> Callable[..., None]:
    """A launch as a user of ctypes writes it: arguments boxed, pointed to, and the status checked.

    The driver is the library that the launcher's session uses.
    """
    launch_kernel = ctypes.CDLL(core().cuda.driver_facts("")[1]).cuLaunchKernel
    pointer = ctypes.c_void_p
    launch_kernel.argtypes = [pointer, *[ctypes.c_uint] * 7, pointer, pointer, pointer]
    kernel, stream = launcher.kernel, launcher.stream
    boxed, address = ctypes.c_uint64, ctypes.addressof

    def launch(*values: int) -> None:
        held = [boxed(value) for value in values]
        pointers = (pointer * len(held))(*map(address, held))
        status = launch_kernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, pointers, None)
        if status:
            raise FtaxError(f"cuLaunchKernel, called through ctypes, returned {status}")

    return launch


RUNG = Rung(
    name="ctypes",
    summary=(
        "Python calls the same empty C function through ctypes with declared argument types, or on "
        "a GPU cuLaunchKernel with its arguments packed into an array of pointers for each launch. "
        "ctypes converts every argument by its type object, lays the call out anew with libffi, "
        "and gives the interpreter's lock back for its duration."
    ),
    source="https://docs.python.org/3/library/ctypes.html",
    operation={"cpu": "call", "cuda": "kernel"},
    below={"cpu": "extension", "cuda": "driver"},
    make=_make,
    arguments=ARGUMENTS,
    processes=CALL_PROCESSES,
)
