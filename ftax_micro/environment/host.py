"""The CPU side of the environment, from Linux's ``/proc`` and ``/sys`` under an injectable root."""

from __future__ import annotations

import re
import time
from pathlib import Path

from ftax_micro.environment import virtual
from ftax_micro.fact_reader import FactReader, Unreadable, parse_cpu_list, read_text
from ftax_micro.facts import BusyProcess, HostFacts, NumaNode

# Below this many CPUs' worth of time another process is background, not a competitor.
BUSY_SHARE = 0.25

# /proc counts CPU time in ticks of USER_HZ, 100 a second on every Linux this runs on (proc(5)).
_TICK_S = 0.01

_CPUS = "sys/devices/system/cpu"

# Arm's MIDR codes, (implementer, part); names as the makers print them (Arm, Ampere and NVIDIA
# technical reference manuals). Others are recorded by code.
_ARM_MAKERS = {0x41: "ARM", 0x43: "Cavium", 0x48: "HiSilicon", 0x4E: "NVIDIA", 0xC0: "Ampere"}
_ARM_PARTS = {
    (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD0B): "Cortex-A76",
    (0x41, 0xD0C): "Neoverse-N1",
    (0x41, 0xD40): "Neoverse-V1",
    (0x41, 0xD42): "Cortex-A78AE",
    (0x41, 0xD49): "Neoverse-N2",
    (0x41, 0xD4F): "Neoverse-V2",
    (0x41, 0xD84): "Neoverse-V3",
    (0x41, 0xD8E): "Neoverse-N3",
    (0x4E, 0x004): "Carmel",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1a",
}


class ProcessTimes:
    """CPU time used by every visible process at one moment: pid -> (name, seconds)."""

    def __init__(self, root: Path) -> None:
        self.at_s = time.perf_counter()
        stats = (_read_stat(entry) for entry in (root / "proc").glob("[0-9]*"))
        self.by_pid = {pid: (name, used_s) for pid, name, used_s in filter(None, stats)}

    def names(self) -> set[str]:
        """Names of the processes, cut at 15 characters by the kernel."""
        return {name for name, _ in self.by_pid.values()}


def _read_stat(entry: Path) -> tuple[int, str, float] | None:
    try:
        stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        # The name stands in parentheses and may itself hold spaces and parentheses.
        head, _, tail = stat.rpartition(")")
        fields = tail.split()  # from the third field of proc(5) on: utime and stime are 14 and 15
        used_s = (int(fields[11]) + int(fields[12])) * _TICK_S
        return int(entry.name), head.partition("(")[2], used_s
    except (OSError, ValueError, IndexError):
        return None  # it ended meanwhile


def busy_processes(before: ProcessTimes, after: ProcessTimes, own_pid: int) -> list[BusyProcess]:
    """Processes but `own_pid` that used at least `BUSY_SHARE` CPUs in between, busiest first."""
    elapsed_s = after.at_s - before.at_s
    if elapsed_s < 3 * _TICK_S:
        raise Unreadable("the two readings were too close together")
    if not after.by_pid:
        raise Unreadable("no process is visible in /proc")
    found = []
    for pid, (name, used_s) in after.by_pid.items():
        share = (used_s - before.by_pid.get(pid, (name, used_s))[1]) / elapsed_s
        if pid != own_pid and share >= BUSY_SHARE:
            found.append(BusyProcess(pid=pid, name=name, share=round(share, 2)))
    return sorted(found, key=lambda process: -process.share)


class _LinuxHost:
    """Reading functions over one root; each raises where its fact cannot be read."""

    def __init__(self, root: Path, machine: str) -> None:
        self.root, self.machine = root, machine
        try:
            text = (root / "proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = ""
        pairs = re.findall(r"^([^:\n]*?)[ \t]*:[ \t]*(.*)$", text, re.MULTILINE)
        self.cpu_info: dict[str, str] = {}
        self.info_cpus = sum(name == "processor" for name, _ in pairs)
        for name, value in pairs:  # the first CPU speaks for all
            self.cpu_info.setdefault(name, value)

    def text(self, path: str) -> str:
        return read_text(self.root / path)

    def info(self, name: str) -> str:
        if not self.cpu_info:
            raise Unreadable(f"{self.root / 'proc/cpuinfo'}: not readable")
        if name not in self.cpu_info:
            raise Unreadable(f"/proc/cpuinfo has no '{name}'")
        return self.cpu_info[name]

    def online(self) -> list[int]:
        try:
            return parse_cpu_list(self.text(f"{_CPUS}/online"))
        except OSError:
            if self.info_cpus == 0:
                raise
            return list(range(self.info_cpus))

    def affinity(self) -> list[int]:
        status = self.text("proc/thread-self/status") if self._has_thread_self() else ""
        found = re.search(r"^Cpus_allowed_list:\s*(\S+)$", status, re.MULTILINE)
        if found is None:
            status = self.text("proc/self/status")
            found = re.search(r"^Cpus_allowed_list:\s*(\S+)$", status, re.MULTILINE)
        if found is None:
            raise Unreadable("the kernel does not tell the CPUs a thread may use")
        allowed = set(parse_cpu_list(found[1]))
        return sorted(allowed & set(self.online()))

    def _has_thread_self(self) -> bool:
        return (self.root / "proc/thread-self/status").exists()

    def model(self) -> str:
        if "model name" in self.cpu_info:
            return self.cpu_info["model name"]
        code = (int(self.info("CPU implementer"), 16), int(self.info("CPU part"), 16))
        name = _ARM_PARTS.get(code)
        codes = f"implementer {code[0]:#04x}, part {code[1]:#05x}"
        return f"{name} ({codes})" if name else codes

    def vendor(self) -> str:
        if "vendor_id" in self.cpu_info:
            return self.cpu_info["vendor_id"]
        code = int(self.info("CPU implementer"), 16)
        return _ARM_MAKERS.get(code, f"implementer {code:#04x}")

    def core_groups(self) -> list[list[int]]:
        """Hardware threads by core."""
        files = (f"{_CPUS}/cpu{n}/topology/thread_siblings_list" for n in self.online())
        return sorted([*parse_cpu_list(text)] for text in {self.text(file) for file in files})

    def smt_active(self) -> bool:
        try:
            return self.text(f"{_CPUS}/smt/active") == "1"
        except OSError:
            return any(len(group) > 1 for group in self.core_groups())

    def numa_nodes(self) -> list[NumaNode]:
        nodes = sorted((self.root / "sys/devices/system/node").glob("node[0-9]*"))
        if not nodes:
            raise Unreadable("the kernel shows no NUMA nodes")
        found = [
            NumaNode(
                index=int(node.name[4:]),
                cpus=parse_cpu_list((node / "cpulist").read_text(encoding="ascii")),
            )
            for node in nodes
        ]
        return sorted(found, key=lambda node: node.index)

    def isolated(self) -> list[int]:
        return parse_cpu_list((self.root / _CPUS / "isolated").read_text(encoding="ascii"))

    def scaling(self, name: str) -> list[str]:
        """The distinct values of one frequency-scaling file over the CPUs this process may use."""
        cpus = self.affinity()
        if not any((self.root / f"{_CPUS}/cpu{n}/cpufreq").exists() for n in cpus):
            raise Unreadable("no frequency scaling is visible (no cpufreq in /sys)")
        return sorted({self.text(f"{_CPUS}/cpu{n}/cpufreq/{name}") for n in cpus})

    def scaling_hz(self, name: str) -> list[float]:
        return sorted(float(text) * 1e3 for text in self.scaling(name))  # the files are in kHz

    def frequency_now(self) -> float:
        first = self.affinity()[0]  # one CPU only: on some kernels each read waits for that CPU
        try:
            return float(self.text(f"{_CPUS}/cpu{first}/cpufreq/scaling_cur_freq")) * 1e3
        except OSError:
            return float(self.info("cpu MHz")) * 1e6

    def turbo(self) -> bool:
        for file, on in (("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1")):
            if (self.root / _CPUS / file).exists():
                return self.text(f"{_CPUS}/{file}") == on
        raise Unreadable("no switch for turbo is visible in /sys")

    def idle_states(self) -> list[str]:
        states = self.root / f"{_CPUS}/cpu{self.affinity()[0]}/cpuidle"
        found = sorted(states.glob("state[0-9]*"))
        if not found:
            raise Unreadable("no idle states are visible (no cpuidle in /sys)")
        enabled = [
            s for s in found if not (s / "disable").exists() or read_text(s / "disable") == "0"
        ]
        return [read_text(state / "name") for state in enabled]

    def mitigations(self) -> dict[str, str]:
        folder = self.root / _CPUS / "vulnerabilities"
        states = {file.name: read_text(file) for file in sorted(folder.iterdir())}
        return {name: state for name, state in states.items() if state != "Not affected"}

    def memory_bytes(self) -> int:
        found = re.search(r"^MemTotal:\s*(\d+) kB$", self.text("proc/meminfo"), re.MULTILINE)
        if found is None:
            raise Unreadable("/proc/meminfo has no MemTotal")
        return int(found[1]) * 1024


def linux_host_facts(root: Path, machine: str, own_pid: int, earlier: ProcessTimes) -> HostFacts:
    """Facts of a Linux host; other processes' shares are over the time since `earlier`."""
    host, read = _LinuxHost(root, machine), FactReader()
    virtualised = read("virtualised", lambda: virtual.is_virtualised(root, host.cpu_info))
    clock = "sys/devices/system/clocksource/clocksource0"
    groups = read("smt_siblings", host.core_groups)
    if groups is None:
        read.unknown["physical_cores"] = read.unknown["smt_siblings"]
    return HostFacts(
        machine_model=read("machine_model", lambda: virtual.machine_model(root)),
        cpu_model=read("cpu_model", host.model),
        cpu_vendor=read("cpu_vendor", host.vendor),
        logical_cpus=read("logical_cpus", lambda: len(host.online())),
        physical_cores=None if groups is None else len(groups),
        affinity=read("affinity", host.affinity),
        smt_active=read("smt_active", host.smt_active),
        smt_siblings=None if groups is None else [g for g in groups if len(g) > 1],
        numa_nodes=read("numa_nodes", host.numa_nodes),
        isolated_cpus=read("isolated_cpus", host.isolated),
        governors=read("governors", lambda: host.scaling("scaling_governor")),
        energy_preferences=read(
            "energy_preferences", lambda: host.scaling("energy_performance_preference")
        ),
        frequency_driver=read("frequency_driver", lambda: host.scaling("scaling_driver")[0]),
        frequency_min_hz=read("frequency_min_hz", lambda: host.scaling_hz("scaling_min_freq")[0]),
        frequency_max_hz=read("frequency_max_hz", lambda: host.scaling_hz("scaling_max_freq")[-1]),
        frequency_now_hz=read("frequency_now_hz", host.frequency_now),
        turbo=read("turbo", host.turbo),
        idle_driver=read("idle_driver", lambda: host.text(f"{_CPUS}/cpuidle/current_driver")),
        idle_states=read("idle_states", host.idle_states),
        mitigations=read("mitigations", host.mitigations),
        clock_source=read("clock_source", lambda: host.text(f"{clock}/current_clocksource")),
        clock_sources_available=read(
            "clock_sources_available",
            lambda: host.text(f"{clock}/available_clocksource").split(),
        ),
        virtualised=virtualised,
        hypervisor=read("hypervisor", lambda: virtual.hypervisor(root, virtualised)),
        container=read("container", lambda: virtual.container(root)),
        private_pid_namespace=read(
            "private_pid_namespace", lambda: virtual.private_pid_namespace(root)
        ),
        wsl=read("wsl", lambda: "microsoft" in host.text("proc/sys/kernel/osrelease").lower()),
        cpu_quota=read("cpu_quota", lambda: virtual.cpu_quota(root)),
        memory_bytes=read("memory_bytes", host.memory_bytes),
        load_average=read(
            "load_average", lambda: [float(n) for n in host.text("proc/loadavg").split()[:3]]
        ),
        busy_processes=read(
            "busy_processes", lambda: busy_processes(earlier, ProcessTimes(root), own_pid)
        ),
        unknown=read.unknown,
    )
