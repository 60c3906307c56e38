"""Where the CUDA runtime library is, for launches through ``cudaLaunchKernel``.

The dynamic loader does not look into site-packages, where NVIDIA's wheels put it; so those are
found here and handed to the extension by path.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ftax_micro.errors import Skip

DRIVER_VARIABLE = "FTAX_MICRO_CUDA_DRIVER"
RUNTIME_VARIABLE = "FTAX_MICRO_CUDA_RUNTIME"
# The runtimes with cudaLibraryLoadData (CUDA 12.8), by which they take our kernels, newest first.
RUNTIMES = {"libcudart.so.13": 13, "libcudart.so.12": 12}
# Where NVIDIA's wheels put them, under site-packages.
_WHEEL_FOLDERS = ("nvidia/cu13/lib", "nvidia/cuda_runtime/lib")


def wheel_runtimes(driver_version: int | None) -> Iterator[Path]:
    """Runtimes of installed wheels that a driver (1000 · major + 10 · minor) serves, newest first.

    A runtime of a newer major version than the driver refuses to work; None: any.
    """
    for name, major in RUNTIMES.items():
        if driver_version is None or major <= driver_version // 1000:
            for entry in filter(None, sys.path):
                paths = (Path(entry, folder, name) for folder in _WHEEL_FOLDERS)
                yield from (path for path in paths if path.is_file())


def runtime_path(driver_version: int | None, loaded: str = "") -> str:
    """The path to hand to the extension; empty where it should ask the variable or the loader.

    `loaded` is the file of one that this process has loaded already, empty if none: it is preferred
    to those of installed wheels, since its launches are the ones that the process makes.

    Errors: `Skip` where a driver was named and no runtime: a runtime opens libcuda.so.1 by itself,
    and two drivers in one process are two worlds.
    """
    if os.environ.get(RUNTIME_VARIABLE):
        return ""
    if os.environ.get(DRIVER_VARIABLE):
        raise Skip(
            f"the CUDA runtime would not use the driver that {DRIVER_VARIABLE} names; "
            f"{RUNTIME_VARIABLE} names a runtime that does"
        )
    return loaded or str(next(wheel_runtimes(driver_version), ""))
