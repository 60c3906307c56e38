"""The cuda device: launch anatomy of an NVIDIA GPU through its driver (design §3)."""

from __future__ import annotations

from typing import NoReturn

from ftax_micro.devices._extension import core
from ftax_micro.errors import DeviceUnavailableError


def unavailable_reason() -> str | None:
    """Why no CUDA device can be used here, in one sentence; None where one can."""
    if not core().has_cuda:
        return (
            "this build of ftax_micro has no CUDA device "
            "(no cuda.h was found when it was installed)"
        )
    return "this version of ftax_micro measures the cpu only"


def device_count() -> int:
    """How many CUDA devices can be used."""
    return 0


class CudaDevice:
    """A CUDA device by ordinal."""

    def __new__(cls, ordinal: int) -> NoReturn:
        raise DeviceUnavailableError(f"cuda:{ordinal} is not available: {unavailable_reason()}")
