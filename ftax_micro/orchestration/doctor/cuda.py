"""Checks of everything that measuring an NVIDIA GPU needs. None makes a CUDA context."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ftax_micro.devices.cuda.runtime_library import RUNTIME_VARIABLE, RUNTIMES, wheel_runtimes
from ftax_micro.fact_reader import Unreadable
from ftax_micro.findings import Finding, FindingStatus
from ftax_micro.orchestration.doctor.scene import Scene

DRIVER_VARIABLE = "FTAX_MICRO_CUDA_DRIVER"

# What the kernel shows of an NVIDIA driver: on Linux, in WSL, on Jetson boards.
_DEVICE_NODES = ("dev/nvidiactl", "dev/dxg", "dev/nvhost-ctrl", "dev/nvgpu")

# With cudaLibraryLoadData, by which runtimes take our kernels.
_OLDEST_RUNTIME = 12080


def check_build(_scene: Scene) -> Iterable[Finding]:
    """Whether the extension was built with the cuda device."""
    from ftax_micro.devices._extension import core

    if core().has_cuda:
        yield Finding(part="cuda build", status="ok", detail="the extension has the cuda device")
        return
    yield Finding(
        part="cuda build",
        status="missing",
        detail="no cuda.h was found when the extension was built",
        advice="`pip install .` again with access to a package index, or with CUDA_HOME set",
    )


def check_driver(scene: Scene) -> Iterable[Finding]:
    """The CUDA driver, where it was found, and each of its devices."""
    from ftax_micro.devices._extension import core
    from ftax_micro.devices.cuda import device_count, unavailable_reason

    if not core().has_cuda:
        detail, advice = "not looked for: this build has no cuda device", "see `cuda build`"
        yield Finding(part="cuda driver", status="missing", detail=detail, advice=advice)
        return
    reason = unavailable_reason()
    if reason is not None:
        yield _no_driver(scene, reason)
        return
    cuda = core().cuda
    version, opened = cuda.driver_facts("")
    path = mapped_path(scene.root, Path(opened).name) or opened
    count = device_count()
    detail = f"CUDA {_version_text(version)} from {path}, {count} device(s)"
    yield Finding(part="cuda driver", status="ok", detail=detail)
    if missing := dict(cuda.missing_functions("")):
        detail = ", ".join(f"{name} ({since})" for name, since in sorted(missing.items()))
        detail = f"the driver lacks what newer ones have: {detail}"
        advice = "rows that need them are skipped; a newer driver has them"
        yield Finding(part="cuda functions", status="missing", detail=detail, advice=advice)
    for index in range(count):
        yield _device(f"cuda:{index}", cuda.device_facts(index, ""))


def _no_driver(scene: Scene, reason: str) -> Finding:
    named = scene.environ.get(DRIVER_VARIABLE)
    nodes = [node for node in _DEVICE_NODES if (scene.root / node).exists()]
    status: FindingStatus = "broken" if named or nodes else "missing"
    if named:
        advice = f"{DRIVER_VARIABLE} names {named}: correct or unset it"
    elif nodes:
        advice = "the kernel has an NVIDIA driver: see what `nvidia-smi` says, and in a container "
        advice += "whether it was started with its GPUs (--gpus all)"
    else:
        advice = "only for NVIDIA GPUs: install their driver, or give the container its GPUs"
    return Finding(part="cuda driver", status=status, detail=reason, advice=advice)


def _device(name: str, facts: Any) -> Finding:
    capability = f"{facts.compute_capability_major}.{facts.compute_capability_minor}"
    mode = str(facts.compute_mode)
    detail = f"{facts.name}, compute capability {capability}, compute mode {mode}"
    if mode == "prohibited":
        advice = "`nvidia-smi -c 0` lets processes use it"
        return Finding(part=name, status="broken", detail=detail, advice=advice)
    if mode != "default":
        advice = "only one process at a time may use it: child processes for wait styles may not"
        return Finding(part=name, status="warning", detail=detail, advice=advice)
    return Finding(part=name, status="ok", detail=detail)


def check_runtime(scene: Scene) -> Iterable[Finding]:
    """The CUDA runtime library, for rows launched by ``cudaLaunchKernel``."""
    named = scene.environ.get(RUNTIME_VARIABLE)
    newest = _driver_version()
    # A runtime of a newer major version than the driver refuses to work.
    names = [name for name, major in RUNTIMES.items() if newest is None or major <= newest // 1000]
    wheels = [str(path) for path in wheel_runtimes(newest)]
    reasons = [] if names else ["the driver is older than any runtime that takes our kernels"]
    for name in [named] if named else [*wheels, *names]:
        finding = _runtime(scene, name)
        if isinstance(finding, Finding):
            yield finding
            return
        reasons.append(finding)
    if named:
        advice = f"{RUNTIME_VARIABLE} names {named}: correct or unset it"
        yield Finding(part="cuda runtime", status="broken", detail=reasons[-1], advice=advice)
        return
    advice = "only for launches by the runtime API: "
    advice += "`pip install 'ftax-micro[cuda13]'`" if names else "a newer driver would do"
    detail = "; ".join(reasons)
    yield Finding(part="cuda runtime", status="missing", detail=detail, advice=advice)


def _runtime(scene: Scene, name: str) -> Finding | str:
    """What the runtime called `name` is, or why there is none."""
    number = ctypes.c_int(0)
    try:
        if ctypes.CDLL(name).cudaRuntimeGetVersion(ctypes.byref(number)):
            return f"{name} does not tell its version"
    except (OSError, AttributeError) as error:
        return " ".join(str(error).split())
    where = mapped_path(scene.root, Path(name).name) or name
    detail = f"CUDA {_version_text(number.value)} from {where}"
    if number.value < _OLDEST_RUNTIME:
        advice = f"rows launched by the runtime need {_version_text(_OLDEST_RUNTIME)} or later"
        return Finding(part="cuda runtime", status="warning", detail=detail, advice=advice)
    return Finding(part="cuda runtime", status="ok", detail=detail)


def _driver_version() -> int | None:
    """1000 * major + 10 * minor of the CUDA version the driver serves; None without a driver."""
    from ftax_micro.devices._extension import core
    from ftax_micro.devices.cuda import unavailable_reason
    from ftax_micro.errors import ExtensionError

    try:
        if not core().has_cuda or unavailable_reason() is not None:
            return None
    except ExtensionError:
        return None
    return int(core().cuda.driver_facts("")[0])


def check_nvml(_scene: Scene) -> Iterable[Finding]:
    """NVML, which tells clocks, throttling and who else uses the GPU."""
    from ftax_micro.gpu.nvml import Nvml, text_of

    try:
        with Nvml() as nvml:
            driver = text_of(nvml.ask("nvmlSystemGetDriverVersion"))
            count = int(nvml.ask("nvmlDeviceGetCount"))
    except Unreadable as error:
        advice = "comes with the NVIDIA driver; without it clocks and throttling go unrecorded"
        yield Finding(part="nvml", status="missing", detail=str(error), advice=advice)
        return
    yield Finding(part="nvml", status="ok", detail=f"driver {driver}, {count} GPU(s)")


def mapped_path(root: Path, name: str) -> str | None:
    """The file that this process has mapped as library `name`; None where it has none."""
    try:
        text = (root / "proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    stem = name.partition(".so")[0] + ".so"
    paths = (line.partition("/") for line in text.splitlines())
    return next((f"/{rest}" for _, _, rest in paths if Path(rest).name.startswith(stem)), None)


def _version_text(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
