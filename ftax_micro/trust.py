"""What in an environment falsifies launch latencies: `trust_warnings`, pure in the record.

Each check is a generator over facts. A fact that could not be read fires nothing, but those that
matter most are then named by ``unchecked``: silence is not a clean bill.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec

from ftax_micro.facts import Environment, GpuFacts, HostFacts, ProcessFacts
from ftax_micro.trust_texts import TEXTS, Severity

# Causes that slow a GPU down against its setting; the others (idle, a chosen clock) are no fault.
THROTTLING = frozenset(
    {
        "sw_power_cap",
        "hw_slowdown",
        "sw_thermal",
        "hw_thermal",
        "hw_power_brake",
        "board_limit",
        "reliability",
    }
)

# The clock source whose reading costs nanoseconds and stays out of the kernel, by architecture.
_GOOD_CLOCKS = {
    "x86_64": "tsc",
    "amd64": "tsc",
    "aarch64": "arch_sys_counter",
    "arm64": "arch_sys_counter",
}

# Governors that hold a low clock through short bursts, and those that do not change it by load.
_SLOW_GOVERNORS = ("powersave", "conservative")
_STEADY_GOVERNORS = ("performance", "userspace")

# Above this load per CPU (1-minute average) the thread under test often waits for a core.
_LOAD_PER_CPU = 0.5

# Cores a measurement wants to itself: the timing thread, its worker or waiter, and the driver's.
_CORES_WANTED = 3

_INJECTION_VARIABLES = (
    "CUDA_INJECTION64_PATH",
    "NVTX_INJECTION64_PATH",
    "NSYS_PROFILING_SESSION_ID",
    "NV_NSIGHT_INJECTION_PORT_BASE",
    "NV_COMPUTE_PROFILER_PERFWORKS_DIR",
    "NVPROF_ID",
    "COMPUTE_PROFILE",
    "HSA_TOOLS_LIB",
    "ROCP_TOOL_LIB",
)
_SANITIZER_LIBRARIES = (
    "libsanitizer-",
    "libasan",
    "libtsan",
    "libubsan",
    "liblsan",
    "libclang_rt.",
    "vgpreload_",
)


class TrustWarning(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing a reader of the numbers must know.

    `severity`: ``refuse`` makes the numbers meaningless (measure only when told to go on), ``warn``
    may shift them, ``info`` belongs beside them. `sentence` says what is wrong, why it matters for
    launch latency, and what to do.
    """

    code: str
    severity: Severity
    sentence: str


def trust_warnings(
    environment: Environment, *, gpu_uuids: Collection[str] | None = None
) -> list[TrustWarning]:
    """What to warn of before measuring in `environment`, the gravest first.

    `gpu_uuids` are the UUIDs (NVML's text) of the GPUs that will be measured: None means every one
    recorded; empty means the CPU alone, and then what only concerns CUDA is left out.
    """
    cuda = gpu_uuids is None or len(gpu_uuids) > 0
    found = [
        *_process_warnings(environment.process, cuda),
        *_watchers(environment.process, cuda),
        *_host_warnings(environment.host, environment.machine),
        *_crowding(environment.host),
    ]
    for gpu in environment.gpus or []:
        if gpu_uuids is None or gpu.uuid in gpu_uuids:
            found += _gpu_warnings(gpu, environment.host)
    found += _unchecked(environment, cuda)
    order = {"refuse": 0, "warn": 1, "info": 2}
    return sorted(found, key=lambda warning: order[warning.severity])


def _warning(code: str, names: Iterable[str] = (), **values: object) -> TrustWarning:
    severity, text = TEXTS[code]
    sentence = text.format(names=", ".join(names), **values)
    return TrustWarning(code=code, severity=severity, sentence=sentence)


def _is_set(process: ProcessFacts, name: str) -> bool:
    return process.variables.get(name, "").strip() not in ("", "0")


def _process_warnings(process: ProcessFacts, cuda: bool) -> Iterator[TrustWarning]:
    if cuda and _is_set(process, "CUDA_LAUNCH_BLOCKING"):
        yield _warning("launch_blocking")
    if process.debugger is not None:
        yield _warning("debugger", [process.debugger])
    if process.preloaded:
        yield _warning("preload", process.preloaded)
    if process.variables.get("LD_AUDIT"):
        yield _warning("audit")
    if process.python_hooks:
        yield _warning("python_hooks", process.python_hooks)
    if process.python_debug_build:
        yield _warning("python_debug")
    if process.launch is not None and process.launch.together > 1:
        yield _warning("ranks_together", count=process.launch.together)


def _watchers(process: ProcessFacts, cuda: bool) -> Iterator[TrustWarning]:
    libraries = [path.rpartition("/")[2] for path in process.watchers or []]
    sanitizers = [name for name in libraries if name.startswith(_SANITIZER_LIBRARIES)]
    # torch links CUPTI and loads it unused, so its presence alone is no tracer.
    cupti = [name for name in libraries if name.startswith("libcupti")]
    tracers = [name for name in libraries if name not in (*sanitizers, *cupti)]
    if cuda:
        tracers += [name for name in _INJECTION_VARIABLES if _is_set(process, name)]
        if _is_set(process, "NV_SANITIZER_INJECTION_PORT_BASE"):
            sanitizers.append("NV_SANITIZER_INJECTION_PORT_BASE")
    for code, names in (("sanitizer", sanitizers), ("tracer", tracers), ("cupti_loaded", cupti)):
        if names:
            yield _warning(code, names)


def _host_warnings(host: HostFacts, machine: str | None) -> Iterator[TrustWarning]:
    good = _GOOD_CLOCKS.get((machine or "").lower())
    if host.clock_source is not None and good is not None and host.clock_source != good:
        yield _warning("clock_source", clock=host.clock_source, good=good)
    slow = [name for name in host.governors or [] if name in _SLOW_GOVERNORS]
    dynamic = [n for n in host.governors or [] if n not in (*slow, *_STEADY_GOVERNORS)]
    if slow:
        yield _warning("governor", slow)
    elif dynamic:
        yield _warning("governor_dynamic", dynamic)
    if host.wsl:
        yield _warning("wsl")
    if host.virtualised:
        yield _warning("virtualised", [host.hypervisor or "unnamed"])
    if host.mitigations:
        yield _warning("mitigations", host.mitigations)


def _crowding(host: HostFacts) -> Iterator[TrustWarning]:
    usable = None if host.affinity is None else len(host.affinity)
    if usable == 1:
        yield _warning("one_core")
    if host.cpu_quota is not None and usable is not None and host.cpu_quota < usable:
        yield _warning("cpu_quota", quota=host.cpu_quota, cpus=usable)
    cpus = host.logical_cpus or usable
    if cpus is None:
        return
    if host.load_average and host.load_average[0] > _LOAD_PER_CPU * cpus:
        yield _warning("load", load=host.load_average[0], cpus=cpus)
    busy = host.busy_processes or []
    if busy and cpus - sum(process.share for process in busy) < _CORES_WANTED:
        names = [f"{process.name} {process.share:.0%}" for process in busy[:3]]
        yield _warning("busy_processes", names, wanted=_CORES_WANTED, cpus=cpus)


def _gpu_warnings(gpu: GpuFacts, host: HostFacts) -> Iterator[TrustWarning]:
    label = f"GPU {gpu.index}" + (f" ({gpu.name})" if gpu.name else "")
    if gpu.processes:
        names = [f"{p.name or 'a process out of sight'} (pid {p.pid})" for p in gpu.processes]
        if host.private_pid_namespace:  # NVML counts pids from outside the container
            names[-1] += ", one of which may be this process"
        yield _warning("gpu_processes", names, gpu=label)
    slowing = [reason for reason in gpu.throttle_reasons or [] if reason in THROTTLING]
    if slowing:
        yield _warning("throttling", slowing, gpu=label)
    if gpu.virtualisation in ("vgpu", "host_vgpu", "host_vsga"):
        yield _warning("vgpu", [gpu.virtualisation], gpu=label)
    conditions = {
        "wddm": gpu.driver_model == "wddm",
        "persistence": gpu.persistence_mode is False,
        "mig": gpu.mig,
        "mps": gpu.mps,
        "confidential_compute": gpu.confidential_compute,
    }
    for code, holds in conditions.items():
        if holds:
            yield _warning(code, gpu=label)


def _unchecked(environment: Environment, cuda: bool) -> Iterator[TrustWarning]:
    looked_at = [
        (environment.process.unknown, ("preloaded", "watchers", "debugger")),
        (environment.host.unknown, ("affinity", "clock_source", "load_average")),
        (environment.unknown, ("gpus",) if cuda else ()),
    ]
    missing = [
        f"{field}: {unknown[field]}"
        for unknown, fields in looked_at
        for field in fields
        if field in unknown
    ]
    if missing:
        yield _warning("unchecked", ["; ".join(missing)])
