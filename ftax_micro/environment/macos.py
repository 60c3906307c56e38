"""The CPU side of the environment on macOS, from one call of ``sysctl``."""

from __future__ import annotations

import os

from ftax_micro.fact_reader import FactReader, Unreadable
from ftax_micro.facts import HostFacts

_NAMES = (
    "hw.model",
    "machdep.cpu.brand_string",
    "machdep.cpu.vendor",
    "hw.logicalcpu",
    "hw.physicalcpu",
    "hw.memsize",
    "hw.cpufrequency_max",
    "kern.hv_vmm_present",
)


def read_sysctl() -> str:
    """``name: value`` lines of the names known here; unknown ones are left out by the system."""
    import subprocess  # only here: it costs every other system's start-up a few milliseconds

    command = ["/usr/sbin/sysctl", *_NAMES]
    return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout


def macos_host_facts(sysctl: str) -> HostFacts:
    """Facts from `sysctl`'s lines; what macOS does not tell is listed with that reason."""
    read = FactReader()
    pairs = (line.split(": ", 1) for line in sysctl.splitlines() if ": " in line)
    values = {name: value.strip() for name, value in pairs}

    def of(name: str) -> str:
        if not values.get(name):
            raise Unreadable(f"sysctl has no {name}")
        return values[name]

    facts = HostFacts(
        machine_model=read("machine_model", lambda: of("hw.model")),
        cpu_model=read("cpu_model", lambda: of("machdep.cpu.brand_string")),
        cpu_vendor=read("cpu_vendor", lambda: values.get("machdep.cpu.vendor") or "Apple"),
        logical_cpus=read("logical_cpus", lambda: int(of("hw.logicalcpu"))),
        physical_cores=read("physical_cores", lambda: int(of("hw.physicalcpu"))),
        smt_active=read("smt_active", lambda: int(of("hw.logicalcpu")) > int(of("hw.physicalcpu"))),
        memory_bytes=read("memory_bytes", lambda: int(of("hw.memsize"))),
        frequency_max_hz=read("frequency_max_hz", lambda: float(of("hw.cpufrequency_max"))),
        virtualised=read("virtualised", lambda: of("kern.hv_vmm_present") == "1"),
        wsl=False,
        load_average=read("load_average", lambda: list(os.getloadavg())),
        unknown=read.unknown,
    )
    does_not_apply = {"unknown", "cpu_quota", "container"}
    for field in facts.__struct_fields__:
        if getattr(facts, field) is None and field not in does_not_apply:
            read.unknown.setdefault(field, "macOS does not tell")
    return facts
