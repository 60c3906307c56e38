from __future__ import annotations

from pathlib import Path

import fake_trees
import msgspec
import pytest
from fake_nvml import SECOND_UUID, UUID, FakeNvml, NVMLError, process

from ftax_micro.environment.gpu import read_gpus
from ftax_micro.fact_reader import Unreadable
from ftax_micro.facts import GpuFacts, GpuProcess

PCI = "sys/bus/pci/devices/0000:3b:00.0"


def gpus_of(root: Path, nvml: FakeNvml, names: set[str] | None = None) -> list[GpuFacts]:
    return read_gpus(root=root, own_pid=4711, process_names=names or set(), module=nvml)


def test_every_field_of_a_gpu(tmp_path: Path) -> None:
    tree = {f"{PCI}/numa_node": "0\n", f"{PCI}/local_cpulist": "0-1,4\n"}
    nvml = FakeNvml()
    (gpu,) = gpus_of(fake_trees.write(tmp_path, tree), nvml)
    assert gpu == GpuFacts(
        index=0,
        uuid=UUID,
        name="NVIDIA H200",
        pci_bus_id="00000000:3B:00.0",
        compute_capability="9.0",
        driver_version="580.65.06",
        cuda_driver_version="13.0",
        memory_bytes=150_000_000_000,
        sm_clock_hz=1980e6,
        sm_clock_max_hz=1980e6,
        memory_clock_hz=2619e6,
        memory_clock_max_hz=2619e6,
        applications_sm_clock_hz=1980e6,
        applications_memory_clock_hz=2619e6,
        performance_state="P0",
        throttle_reasons=["gpu_idle"],
        temperature_c=31.0,
        power_w=75.5,
        power_limit_w=700.0,
        ecc=True,
        mig=False,
        mps=False,
        persistence_mode=True,
        compute_mode="exclusive_process",
        virtualisation="passthrough",
        confidential_compute=False,
        pcie_generation=5,
        pcie_generation_max=5,
        pcie_width=16,
        pcie_width_max=16,
        numa_node=0,
        nearest_cpus=[0, 1, 4],
        processes=[],
    )
    assert msgspec.json.decode(msgspec.json.encode(gpu), type=GpuFacts) == gpu
    assert nvml.sessions == 0


def test_not_supported_is_none_with_its_reason(tmp_path: Path) -> None:
    refused = {
        "nvmlDeviceGetEccMode": "ecc",
        "nvmlDeviceGetMigMode": "mig",
        "nvmlDeviceGetPowerUsage": "power_w",
        "nvmlDeviceGetCurrPcieLinkWidth": "pcie_width",
        "nvmlSystemGetConfComputeState": "confidential_compute",
        "nvmlDeviceGetMPSComputeRunningProcesses": "mps",
    }
    (gpu,) = gpus_of(tmp_path, FakeNvml(**dict.fromkeys(refused, NVMLError("Not Supported"))))
    assert gpu.unknown == dict.fromkeys(refused.values(), "NVML: Not Supported")
    assert all(getattr(gpu, field) is None for field in refused.values())
    assert gpu.driver_model is None  # does not apply on Linux: no reason needed


def test_older_names_stand_in(tmp_path: Path) -> None:
    nvml = FakeNvml(
        nvmlDeviceGetCurrentClocksThrottleReasons=0x44,
        nvmlDeviceGetTemperature=lambda handle, sensor: 60,
        nvmlDeviceGetCurrentClocksEventReasons=NVMLError("Function Not Found"),
        nvmlSystemGetCudaDriverVersion=11040,
    )
    del nvml.answers["nvmlDeviceGetTemperatureV"]
    del nvml.answers["nvmlSystemGetCudaDriverVersion_v2"]
    (gpu,) = gpus_of(tmp_path, nvml)
    assert gpu.throttle_reasons == ["sw_power_cap", "hw_thermal"]
    assert gpu.temperature_c == 60
    assert gpu.cuda_driver_version == "11.4"
    assert gpu.unknown == {}


def test_a_binding_that_lacks_a_function_says_so(tmp_path: Path) -> None:
    nvml = FakeNvml()
    del nvml.answers["nvmlDeviceGetVirtualizationMode"]
    (gpu,) = gpus_of(tmp_path, nvml)
    reason = "nvidia-ml-py has no nvmlDeviceGetVirtualizationMode"
    assert gpu.unknown == {"virtualisation": reason}


def test_where_sysfs_does_not_tell_nvml_does(tmp_path: Path) -> None:
    root = fake_trees.write(tmp_path, {f"{PCI}/numa_node": "-1\n"})
    (gpu,) = gpus_of(root, FakeNvml())
    assert gpu.numa_node == 1
    assert gpu.nearest_cpus == [1, 3, 64]
    (gpu,) = gpus_of(root, FakeNvml(nvmlDeviceGetMemoryAffinity=[0, 0]))
    assert gpu.numa_node is None
    assert "no NUMA node" in gpu.unknown["numa_node"]


def test_other_processes_once_each_without_ourselves(tmp_path: Path) -> None:
    nvml = FakeNvml(
        nvmlDeviceGetComputeRunningProcesses=[process(4711), process(20, None), process(10)],
        nvmlDeviceGetGraphicsRunningProcesses=[process(10), process(30, 2**64 - 1)],
    )
    (gpu,) = gpus_of(fake_trees.write(tmp_path, {"proc/10/comm": "python\n"}), nvml)
    assert gpu.processes is not None
    first, second, third = gpu.processes
    expected = GpuProcess(pid=10, kinds=["compute", "graphics"], name="python", memory_bytes=1024)
    assert first == expected
    assert (second.pid, second.kinds, second.name, second.memory_bytes) == (
        20,
        ["compute"],
        None,
        None,
    )
    assert "No such file" in second.unknown["name"]
    assert (third.pid, third.kinds, third.memory_bytes) == (30, ["graphics"], None)


@pytest.mark.parametrize(
    ("nvml", "names"),
    [
        (FakeNvml(nvmlDeviceGetMPSComputeRunningProcesses=[process(9)]), set()),
        (FakeNvml(), {"nvidia-cuda-mps"}),
    ],
)
def test_mps_by_its_clients_or_its_daemon(tmp_path: Path, nvml: FakeNvml, names: set[str]) -> None:
    (gpu,) = gpus_of(tmp_path, nvml, names)
    assert gpu.mps is True


def test_a_lost_gpu_does_not_hide_the_other(tmp_path: Path) -> None:
    def handle(index: int) -> object:
        return NVMLError("GPU is lost") if index == 0 else "gpu1"

    nvml = FakeNvml(nvmlDeviceGetCount=2, nvmlDeviceGetHandleByIndex=handle)
    lost, other = gpus_of(tmp_path, nvml)
    assert lost.uuid is None
    assert lost.unknown["uuid"] == "NVML: GPU is lost"
    assert (other.index, other.uuid, other.sm_clock_hz) == (1, SECOND_UUID, 1970e6)


def test_no_driver_is_one_reason(tmp_path: Path) -> None:
    nvml = FakeNvml(nvmlInit=NVMLError("NVML Shared Library Not Found"))
    with pytest.raises(Unreadable, match="NVML: NVML Shared Library Not Found"):
        gpus_of(tmp_path, nvml)


def test_everything_refused_raises_nothing(tmp_path: Path) -> None:
    nvml = FakeNvml()
    for name in nvml.answers:
        if name.startswith(("nvmlDeviceGet", "nvmlSystem")) and "Count" not in name:
            nvml.answers[name] = NVMLError("Unknown Error")
    nvml.answers["nvmlDeviceGetHandleByIndex"] = "gpu0"
    (gpu,) = gpus_of(tmp_path, nvml)
    for field in GpuFacts.__struct_fields__:
        if field not in ("index", "unknown", "driver_model"):
            assert getattr(gpu, field) is None, field
            assert gpu.unknown[field], field
