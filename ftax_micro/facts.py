"""What a machine was when it was measured: frozen records, data only.

A field holds what was read. ``None`` with an entry in `unknown` (field name -> reason) means that
it could not be read; ``None`` without one means that it does not apply here (no hypervisor, no
quota). Nothing else stands for "not known". Frequencies are hertz, memory bytes, power watts.
"""

from __future__ import annotations

import msgspec


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all facts: immutable, strict when read, with the reasons for what is missing."""

    unknown: dict[str, str] = {}


class NumaNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A NUMA node and its online CPUs."""

    index: int
    cpus: list[int]


class BusyProcess(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another process that used the CPU while the environment was captured.

    `share` is in CPUs: 2.0 means two cores' worth.
    """

    pid: int
    name: str
    share: float


class HostFacts(Facts, frozen=True, kw_only=True):
    """The CPU side: what decides how fast a call returns, a store is seen, a thread wakes.

    `machine_model` is the board's or the instance's name. `frequency_now_hz` is of the first CPU
    this process may use; limits are the extremes over those CPUs, and `governors` and
    `energy_preferences` are the distinct values over them. `smt_siblings` are the groups of
    hardware threads that share a core, groups of one left out. `mitigations` maps a vulnerability
    to the kernel's words where this CPU is affected. `cpu_quota` is in CPUs. `load_average` is over
    1, 5 and 15 minutes. `private_pid_namespace`: other processes may be out of sight.
    """

    machine_model: str | None = None
    cpu_model: str | None = None
    cpu_vendor: str | None = None
    logical_cpus: int | None = None
    physical_cores: int | None = None
    affinity: list[int] | None = None
    smt_active: bool | None = None
    smt_siblings: list[list[int]] | None = None
    numa_nodes: list[NumaNode] | None = None
    isolated_cpus: list[int] | None = None
    governors: list[str] | None = None
    energy_preferences: list[str] | None = None
    frequency_driver: str | None = None
    frequency_min_hz: float | None = None
    frequency_max_hz: float | None = None
    frequency_now_hz: float | None = None
    turbo: bool | None = None
    idle_driver: str | None = None
    idle_states: list[str] | None = None
    mitigations: dict[str, str] | None = None
    clock_source: str | None = None
    clock_sources_available: list[str] | None = None
    virtualised: bool | None = None
    hypervisor: str | None = None
    container: str | None = None
    private_pid_namespace: bool | None = None
    wsl: bool | None = None
    cpu_quota: float | None = None
    memory_bytes: int | None = None
    load_average: list[float] | None = None
    busy_processes: list[BusyProcess] | None = None


class GpuProcess(Facts, frozen=True, kw_only=True):
    """Another process that holds a context on a GPU.

    `kinds` are of ``compute``, ``graphics`` and ``mps``. `name` is None where the process is in
    another namespace.
    """

    pid: int
    kinds: list[str]
    name: str | None = None
    memory_bytes: int | None = None


class GpuFacts(Facts, frozen=True, kw_only=True):
    """One GPU as NVML tells it.

    `index` is NVML's (PCI order), which `CUDA_VISIBLE_DEVICES` does not change: match by `uuid` or
    `pci_bus_id`. `cuda_driver_version` is the newest CUDA version the driver serves.
    `numa_node` and `nearest_cpus` are of the host, next to the GPU's PCIe port. `driver_model` is
    for Windows and WSL only. `processes` leaves this process out.
    """

    index: int
    uuid: str | None = None
    name: str | None = None
    pci_bus_id: str | None = None
    compute_capability: str | None = None
    driver_version: str | None = None
    cuda_driver_version: str | None = None
    driver_model: str | None = None
    memory_bytes: int | None = None
    sm_clock_hz: float | None = None
    sm_clock_max_hz: float | None = None
    memory_clock_hz: float | None = None
    memory_clock_max_hz: float | None = None
    applications_sm_clock_hz: float | None = None
    applications_memory_clock_hz: float | None = None
    performance_state: str | None = None
    throttle_reasons: list[str] | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    ecc: bool | None = None
    mig: bool | None = None
    mps: bool | None = None
    persistence_mode: bool | None = None
    compute_mode: str | None = None
    virtualisation: str | None = None
    confidential_compute: bool | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    numa_node: int | None = None
    nearest_cpus: list[int] | None = None
    processes: list[GpuProcess] | None = None


class LaunchFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the launcher (``srun``, ``mpirun``, ``torchrun`` …) says of this process.

    `rank` is its number among all, `local_rank` among those of its node, both from 0; `size` and
    `local_size` are how many there are, `node` is the number of its node. `job` is what the
    scheduler calls the job. `together` ranks of this node measured at the same time.
    """

    launcher: str
    rank: int
    size: int | None = None
    local_rank: int | None = None
    local_size: int | None = None
    node: int | None = None
    job: str | None = None
    together: int = 1


class ProcessFacts(Facts, frozen=True, kw_only=True):
    """This process: what it runs on and what watches it.

    `variables` are environment variables that change timing, of a fixed list, values verbatim.
    `preloaded` are libraries forced in by ``LD_PRELOAD`` or the system's preload file; `watchers`
    are mapped libraries of tracers, profilers and sanitizers; `debugger` is the ptrace parent;
    `python_hooks` are trace and profile functions and monitoring tools of the interpreter.
    `launch` is None where no launcher of parallel programs started it.
    """

    python_version: str
    python_implementation: str
    python_debug_build: bool
    python_free_threaded: bool
    packages: dict[str, str] = {}
    variables: dict[str, str] = {}
    preloaded: list[str] | None = None
    watchers: list[str] | None = None
    debugger: str | None = None
    python_hooks: list[str] = []
    scheduler: str | None = None
    nice: int | None = None
    launch: LaunchFacts | None = None


class Environment(Facts, frozen=True, kw_only=True):
    """Everything about a run that is not a measurement.

    `captured_at` is ISO 8601 in UTC, `command` what one types to repeat the run. `gpus` is None,
    with its reason, where NVML can't be asked, and empty where it wasn't. `build_id` names the
    build of the extension; None without one.
    """

    captured_at: str
    command: list[str]
    build_id: str | None
    hostname: str | None = None
    os: str | None = None
    kernel: str | None = None
    machine: str | None = None
    process: ProcessFacts
    host: HostFacts
    gpus: list[GpuFacts] | None = None
