from __future__ import annotations

from ftax_micro.environment.macos import macos_host_facts

SYSCTL = """\
hw.model: Mac16,1
machdep.cpu.brand_string: Apple M4
hw.logicalcpu: 10
hw.physicalcpu: 10
hw.memsize: 17179869184
kern.hv_vmm_present: 0
"""


def test_apple_silicon() -> None:
    host = macos_host_facts(SYSCTL)
    assert (host.machine_model, host.cpu_model, host.cpu_vendor) == ("Mac16,1", "Apple M4", "Apple")
    assert (host.logical_cpus, host.physical_cores, host.smt_active) == (10, 10, False)
    assert host.memory_bytes == 16 * 2**30
    assert host.virtualised is False
    assert host.unknown["frequency_max_hz"] == "sysctl has no hw.cpufrequency_max"
    assert host.unknown["affinity"] == "macOS does not tell"


def test_without_sysctl() -> None:
    host = macos_host_facts("")
    assert host.cpu_model is None
    assert host.unknown["cpu_model"] == "sysctl has no machdep.cpu.brand_string"
