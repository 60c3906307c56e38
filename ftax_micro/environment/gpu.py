"""The GPUs of the environment, as NVML tells them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ftax_micro.fact_reader import FactReader, Unreadable, parse_cpu_list, read_text
from ftax_micro.facts import GpuFacts, GpuProcess
from ftax_micro.gpu.nvml import Nvml, sm_clock_hz, temperature_c, text_of, throttle_reasons

# NVML's enumerations, nvml.h.
_CLOCK_SM, _CLOCK_MEMORY = 1, 2
_AFFINITY_NODE = 0
_COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
_DRIVER_MODELS = {0: "wddm", 1: "tcc", 2: "mcdm"}
_VIRTUALISATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host_vgpu", 4: "host_vsga"}
_CPU_WORDS = 64  # of 64 CPUs each: more than any machine has
_NO_MEMORY_FIGURE = 2**64 - 1


def _mega(value: Any) -> float:
    return float(value) * 1e6


def _milli(value: Any) -> float:
    return float(value) / 1e3


def _first(value: Any) -> bool:
    return bool(value[0])  # current state; the second is the one after the next reboot


def _whole(value: Any) -> int:
    return int(value)


def _named(names: dict[int, str]) -> Callable[[Any], str]:
    return lambda value: names.get(int(value), f"unnamed value {int(value)}")


def _cuda_version(value: Any) -> str:
    return f"{int(value) // 1000}.{int(value) % 1000 // 10}"


class _Query(NamedTuple):
    """One field: functions to try in turn, how to read the answer, arguments after the handle."""

    names: tuple[str, ...]
    convert: Callable[[Any], Any]
    args: tuple[Any, ...] = ()


_QUERIES = {
    "uuid": _Query(("nvmlDeviceGetUUID",), text_of),
    "name": _Query(("nvmlDeviceGetName",), text_of),
    "pci_bus_id": _Query(("nvmlDeviceGetPciInfo",), lambda info: text_of(info.busId)),
    "compute_capability": _Query(
        ("nvmlDeviceGetCudaComputeCapability",), lambda pair: f"{pair[0]}.{pair[1]}"
    ),
    "memory_bytes": _Query(("nvmlDeviceGetMemoryInfo",), lambda info: int(info.total)),
    "sm_clock_max_hz": _Query(("nvmlDeviceGetMaxClockInfo",), _mega, (_CLOCK_SM,)),
    "memory_clock_hz": _Query(("nvmlDeviceGetClockInfo",), _mega, (_CLOCK_MEMORY,)),
    "memory_clock_max_hz": _Query(("nvmlDeviceGetMaxClockInfo",), _mega, (_CLOCK_MEMORY,)),
    "applications_sm_clock_hz": _Query(("nvmlDeviceGetApplicationsClock",), _mega, (_CLOCK_SM,)),
    "applications_memory_clock_hz": _Query(
        ("nvmlDeviceGetApplicationsClock",), _mega, (_CLOCK_MEMORY,)
    ),
    "performance_state": _Query(("nvmlDeviceGetPowerState",), lambda state: f"P{int(state)}"),
    "power_w": _Query(("nvmlDeviceGetPowerUsage",), _milli),
    "power_limit_w": _Query(
        ("nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"), _milli
    ),
    "ecc": _Query(("nvmlDeviceGetEccMode",), _first),
    "mig": _Query(("nvmlDeviceGetMigMode",), _first),
    "persistence_mode": _Query(("nvmlDeviceGetPersistenceMode",), bool),
    "compute_mode": _Query(("nvmlDeviceGetComputeMode",), _named(_COMPUTE_MODES)),
    "virtualisation": _Query(("nvmlDeviceGetVirtualizationMode",), _named(_VIRTUALISATION)),
    "pcie_generation": _Query(("nvmlDeviceGetCurrPcieLinkGeneration",), _whole),
    "pcie_generation_max": _Query(("nvmlDeviceGetMaxPcieLinkGeneration",), _whole),
    "pcie_width": _Query(("nvmlDeviceGetCurrPcieLinkWidth",), _whole),
    "pcie_width_max": _Query(("nvmlDeviceGetMaxPcieLinkWidth",), _whole),
}

_SYSTEM_QUERIES = {
    "driver_version": _Query(("nvmlSystemGetDriverVersion",), text_of),
    "cuda_driver_version": _Query(
        ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"), _cuda_version
    ),
    "confidential_compute": _Query(
        ("nvmlSystemGetConfComputeState",), lambda state: bool(state.ccFeature)
    ),
}

_PROCESS_QUERIES = {
    kind: (f"nvmlDeviceGet{word}RunningProcesses", f"nvmlDeviceGet{word}RunningProcesses_v2")
    for kind, word in (("compute", "Compute"), ("graphics", "Graphics"), ("mps", "MPSCompute"))
}


def read_gpus(
    *, root: Path, own_pid: int, process_names: set[str], module: Any = None
) -> list[GpuFacts]:
    """Facts of every GPU NVML lists. Raises `Unreadable` with the reason if NVML is not there.

    `root` stands for ``/``; `own_pid` is left out of the processes; `process_names` are those
    visible on the host (to see an MPS daemon); `module` stands for ``pynvml`` in tests.
    """
    with Nvml(module) as nvml:
        count = int(nvml.ask("nvmlDeviceGetCount"))
        return [_Gpu(nvml, i, root, own_pid, process_names).facts() for i in range(count)]


class _Gpu:
    """Reading functions over one GPU; each raises where its fact cannot be read."""

    def __init__(
        self, nvml: Nvml, index: int, root: Path, own_pid: int, process_names: set[str]
    ) -> None:
        self.nvml, self.index, self.root = nvml, index, root
        self.own_pid, self.process_names = own_pid, process_names
        self.handle: Any = None

    def facts(self) -> GpuFacts:
        read = FactReader()
        try:
            self.handle = self.nvml.handle(index=self.index)
        except Unreadable as error:  # a GPU fallen off the bus; the others still count
            return GpuFacts(index=self.index, unknown=dict.fromkeys(_all_fields(), str(error)))
        values = {
            field: read(field, lambda query=query: self._ask(query))  # type: ignore[misc]
            for field, query in _QUERIES.items()
        }
        for field, query in _SYSTEM_QUERIES.items():
            values[field] = read(
                field,
                lambda query=query: query.convert(self.nvml.ask(query.names)),  # type: ignore[misc]
            )
        bus_id = values["pci_bus_id"]
        return GpuFacts(
            index=self.index,
            sm_clock_hz=read("sm_clock_hz", lambda: sm_clock_hz(self.nvml, self.handle)),
            throttle_reasons=read(
                "throttle_reasons", lambda: throttle_reasons(self.nvml, self.handle)
            ),
            temperature_c=read("temperature_c", lambda: temperature_c(self.nvml, self.handle)),
            driver_model=read("driver_model", self._driver_model),
            mps=read("mps", self._mps),
            numa_node=read("numa_node", lambda: self._numa_node(bus_id)),
            nearest_cpus=read("nearest_cpus", lambda: self._nearest_cpus(bus_id)),
            processes=read("processes", self._processes),
            unknown=read.unknown,
            **values,
        )

    def _ask(self, query: _Query) -> Any:
        return query.convert(self.nvml.ask(query.names, self.handle, *query.args))

    def _driver_model(self) -> str | None:
        names = ("nvmlDeviceGetCurrentDriverModel",)
        try:
            return str(self._ask(_Query(names, _named(_DRIVER_MODELS))))
        except Unreadable:
            return None  # Linux has no such thing

    def _mps(self) -> bool:
        # The kernel cuts names at 15 characters: nvidia-cuda-mps-control, -server.
        if any(name.startswith("nvidia-cuda-mps") for name in self.process_names):
            return True
        return bool(self.nvml.ask(_PROCESS_QUERIES["mps"], self.handle))

    def _sysfs(self, bus_id: str | None, file: str) -> str:
        if bus_id is None:
            raise Unreadable("the GPU's PCI address is not known")
        domain, _, rest = bus_id.partition(":")  # NVML writes the domain in 8 digits, Linux in 4
        return read_text(
            self.root / "sys/bus/pci/devices" / f"{int(domain, 16):04x}:{rest.lower()}" / file
        )

    def _numa_node(self, bus_id: str | None) -> int:
        # Not nvmlDeviceGetNumaNodeId: that is the node of the GPU's own memory on coherent systems.
        try:
            node = int(self._sysfs(bus_id, "numa_node"))
            if node >= 0:
                return node
        except (OSError, ValueError, Unreadable):
            pass
        words = self.nvml.ask("nvmlDeviceGetMemoryAffinity", self.handle, 16, _AFFINITY_NODE)
        nodes = _set_bits(words)
        if not nodes:
            raise Unreadable("the platform names no NUMA node for this GPU")
        return nodes[0]

    def _nearest_cpus(self, bus_id: str | None) -> list[int]:
        try:
            return parse_cpu_list(self._sysfs(bus_id, "local_cpulist"))
        except (OSError, ValueError, Unreadable):
            return _set_bits(self.nvml.ask("nvmlDeviceGetCpuAffinity", self.handle, _CPU_WORDS))

    def _processes(self) -> list[GpuProcess]:
        kinds: dict[int, list[str]] = {}
        memory: dict[int, int | None] = {}
        failed = []
        for kind, names in _PROCESS_QUERIES.items():
            try:
                running = self.nvml.ask(names, self.handle)
            except Unreadable as error:
                failed.append(str(error))
                continue
            for process in running:
                kinds.setdefault(int(process.pid), []).append(kind)
                used = process.usedGpuMemory
                memory[int(process.pid)] = None if used in (None, _NO_MEMORY_FIGURE) else int(used)
        if len(failed) == len(_PROCESS_QUERIES):
            raise Unreadable(failed[0])
        return [self._process(pid, kinds[pid], memory[pid]) for pid in sorted(kinds)
                if pid != self.own_pid]  # fmt: skip

    def _process(self, pid: int, kinds: list[str], memory_bytes: int | None) -> GpuProcess:
        read = FactReader()
        return GpuProcess(
            pid=pid,
            kinds=kinds,
            name=read("name", lambda: read_text(self.root / f"proc/{pid}/comm")),
            memory_bytes=memory_bytes,
            unknown=read.unknown,
        )


def _all_fields() -> list[str]:
    return [name for name in GpuFacts.__struct_fields__ if name not in ("index", "unknown")]


def _set_bits(words: Any) -> list[int]:
    return [64 * w + b for w, word in enumerate(words) for b in range(64) if int(word) >> b & 1]
