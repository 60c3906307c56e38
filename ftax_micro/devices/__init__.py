"""Devices: what can be measured here, opened by name (``cpu``, ``cuda:0``, …)."""

from __future__ import annotations

import re
from importlib import import_module

from ftax_micro.devices.contract import Device
from ftax_micro.devices.tracing import Tracer
from ftax_micro.errors import DeviceUnavailableError, UnknownNameError

_NAMES = ("auto", "all", "cpu", "cuda", "cuda:N")


def cuda_unavailable_reason() -> str | None:
    """Why no CUDA device can be used here, in one sentence; None where one can."""
    from ftax_micro.devices.cuda import unavailable_reason

    return unavailable_reason()


def resolve_devices(request: str) -> list[str]:
    """Device names that `request` stands for, in the order they are measured.

    ``auto``: the first CUDA device, or else the cpu; ``all``: the cpu and every CUDA device;
    ``cuda``: ``cuda:0``. Errors: `UnknownNameError`; `DeviceUnavailableError` for a CUDA device
    asked for by name where there is none or not so many.
    """
    if request == "cpu":
        return ["cpu"]
    if request not in _NAMES and not re.fullmatch(r"cuda:\d+", request):
        raise UnknownNameError("device", request, _NAMES)
    reason = cuda_unavailable_reason()
    if request == "auto":
        return ["cpu"] if reason else ["cuda:0"]
    if request == "all":
        return ["cpu"] if reason else ["cpu", *_cuda_names()]
    if reason:
        raise DeviceUnavailableError(f"{request} is not available: {reason}")
    name = "cuda:0" if request == "cuda" else request
    known = _cuda_names()
    if name not in known:
        raise DeviceUnavailableError(
            f"{name} is not available: this machine has {', '.join(known)}"
        )
    return [name]


def open_device(name: str, tracer: Tracer | None = None) -> Device:
    """The device called `name` (``cpu`` or ``cuda:N``), opened; close it when done.

    `tracer` is the one that watches this process, for the rows that read its records. Errors:
    `DeviceUnavailableError` where it cannot be opened, with the reason.
    """
    if name == "cpu":
        from ftax_micro.devices.cpu import CpuDevice

        return CpuDevice()
    from ftax_micro.devices.cuda import CudaDevice

    return CudaDevice(int(name.partition(":")[2]), tracer)


def load_device(name: str) -> None:
    """Import what opening the device called `name` needs, without touching it."""
    import_module(f"ftax_micro.devices.{name.partition(':')[0]}")


def _cuda_names() -> list[str]:
    from ftax_micro.devices.cuda import device_count

    return [f"cuda:{index}" for index in range(device_count())]
