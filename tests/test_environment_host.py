from __future__ import annotations

from pathlib import Path

import fake_trees
import pytest

from ftax_micro.environment.host import ProcessTimes, busy_processes, linux_host_facts
from ftax_micro.fact_reader import Unreadable
from ftax_micro.facts import BusyProcess, HostFacts, NumaNode

OWN_PID = 4711


def host_of(root: Path, machine: str = "x86_64") -> HostFacts:
    return linux_host_facts(root, machine, OWN_PID, ProcessTimes(root))


def test_x86_server(tmp_path: Path) -> None:
    host = host_of(fake_trees.write(tmp_path, fake_trees.x86_server()))
    assert host == HostFacts(
        machine_model="Example Corp Server 1",
        cpu_model="AMD EPYC 9999",
        cpu_vendor="AuthenticAMD",
        logical_cpus=4,
        physical_cores=2,
        affinity=[0, 1, 2, 3],
        smt_active=True,
        smt_siblings=[[0, 2], [1, 3]],
        numa_nodes=[NumaNode(index=0, cpus=[0, 2]), NumaNode(index=1, cpus=[1, 3])],
        isolated_cpus=[],
        governors=["performance"],
        energy_preferences=["performance"],
        frequency_driver="amd-pstate-epp",
        frequency_min_hz=1_500_000e3,
        frequency_max_hz=3_700_003e3,
        frequency_now_hz=3_600_000e3,
        turbo=True,
        idle_driver="acpi_idle",
        idle_states=["POLL", "C1"],
        mitigations={"spectre_v2": "Mitigation: Retpolines"},
        clock_source="tsc",
        clock_sources_available=["tsc", "hpet", "acpi_pm"],
        virtualised=False,
        private_pid_namespace=False,
        wsl=False,
        memory_bytes=16384 * 1024,
        load_average=[0.1, 0.2, 0.3],
        unknown={"busy_processes": "the two readings were too close together"},
    )


def test_aarch64_names_the_core_and_claims_nothing_about_a_hypervisor(tmp_path: Path) -> None:
    host = host_of(fake_trees.write(tmp_path, fake_trees.grace()), "aarch64")
    assert host.cpu_model == "Neoverse-V2 (implementer 0x41, part 0xd4f)"
    assert host.cpu_vendor == "ARM"
    assert host.machine_model == "NVIDIA Grace Board"
    assert host.clock_source == "arch_sys_counter"
    assert (host.smt_active, host.smt_siblings, host.physical_cores) == (False, [], 2)
    assert host.virtualised is None
    assert "flag" in host.unknown["virtualised"]
    assert host.cpu_quota is None
    assert "cpu_quota" not in host.unknown


def test_an_unnamed_arm_core_is_recorded_by_code(tmp_path: Path) -> None:
    tree = fake_trees.grace()
    tree["proc/cpuinfo"] = "CPU implementer\t: 0x99\nCPU part\t: 0x123\n"
    host = host_of(fake_trees.write(tmp_path, tree), "aarch64")
    assert host.cpu_model == "implementer 0x99, part 0x123"
    assert host.cpu_vendor == "implementer 0x99"


def test_container_without_sys_says_why_for_each_fact(tmp_path: Path) -> None:
    host = host_of(fake_trees.write(tmp_path, fake_trees.container_without_sys()))
    assert host.logical_cpus == 2  # counted in /proc/cpuinfo
    assert host.affinity == [0, 1]
    assert host.container == "kubernetes"
    assert host.virtualised is True
    for field in (
        "machine_model",
        "physical_cores",
        "smt_siblings",
        "numa_nodes",
        "governors",
        "frequency_now_hz",
        "turbo",
        "mitigations",
        "clock_source",
        "hypervisor",
        "cpu_quota",
    ):
        assert getattr(host, field) is None, field
        assert host.unknown[field], field


def test_one_core(tmp_path: Path) -> None:
    host = host_of(fake_trees.write(tmp_path, fake_trees.one_core_with_quota()))
    assert host.affinity == [1]
    assert host.cpu_quota == 0.5
    assert host.hypervisor == "KVM"
    assert host.container == "docker"


def test_wsl(tmp_path: Path) -> None:
    host = host_of(fake_trees.write(tmp_path, fake_trees.wsl()))
    assert host.wsl is True
    assert host.hypervisor == "Hyper-V"


def test_the_calling_thread_s_affinity_wins(tmp_path: Path) -> None:
    tree = fake_trees.x86_server()
    tree["proc/thread-self/status"] = "Cpus_allowed_list:\t2-3\n"
    host = host_of(fake_trees.write(tmp_path, tree))
    assert host.affinity == [2, 3]
    assert host.frequency_min_hz == 1_500_002e3
    assert host.frequency_now_hz == 3_600_002e3


def test_an_empty_machine_raises_nothing_and_explains_everything(tmp_path: Path) -> None:
    host = host_of(tmp_path)
    for field in HostFacts.__struct_fields__:
        if field != "unknown":
            assert getattr(host, field) is None, field
            assert host.unknown[field], field


def _times(root: Path, at_s: float, **ticks: int) -> ProcessTimes:
    for name, used in ticks.items():
        pid = int(name.rpartition("_")[2])
        file = root / f"proc/{pid}/stat"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(fake_trees.stat_line(pid, f"odd ) ({name}", used // 2, used - used // 2))
    times = ProcessTimes(root)
    times.at_s = at_s
    return times


def test_busy_processes_by_share_busiest_first_without_ourselves(tmp_path: Path) -> None:
    before = _times(tmp_path, 10.0, calm_1=100, busy_2=100, busier_3=50, own_4711=0)
    after = _times(tmp_path, 10.1, calm_1=101, busy_2=105, busier_3=70, own_4711=10, new_5=900)
    assert busy_processes(before, after, OWN_PID) == [
        BusyProcess(pid=3, name="odd ) (busier_3", share=2.0),
        BusyProcess(pid=2, name="odd ) (busy_2", share=0.5),
    ]
    assert "odd ) (new_5" in after.names()


def test_too_short_a_window_is_no_answer(tmp_path: Path) -> None:
    times = _times(tmp_path, 10.0, some_1=1)
    with pytest.raises(Unreadable, match="close"):
        busy_processes(times, times, OWN_PID)


def test_a_process_that_ended_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "proc/12").mkdir(parents=True)
    (tmp_path / "proc/13").mkdir()
    (tmp_path / "proc/13/stat").write_text("13 (cut")
    assert ProcessTimes(tmp_path).by_pid == {}
