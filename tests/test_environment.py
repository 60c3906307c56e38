from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

import fake_trees
import msgspec
import pytest
from fake_nvml import SECOND_UUID, UUID, FakeNvml, NVMLError

from ftax_micro.environment import capture_environment, find_gpu
from ftax_micro.facts import Environment, GpuFacts

COMMAND = ["ftax-micro", "launch_floor", "--quick"]


def test_a_recorded_machine(tmp_path: Path) -> None:
    environment = capture_environment(
        command=COMMAND,
        build_id="0123abcd",
        root=fake_trees.write(tmp_path, fake_trees.x86_server()),
        environ={"CUDA_VISIBLE_DEVICES": "1", "HOME": "/home/someone"},
        system="Linux",
        machine="x86_64",
        nvml=FakeNvml(),
    )
    assert environment.command == COMMAND
    assert environment.build_id == "0123abcd"
    assert environment.hostname == "node1"
    assert environment.os == "Example Linux 1"
    assert environment.kernel == "6.8.0-60-generic #63 SMP PREEMPT_DYNAMIC"
    assert environment.machine == "x86_64"
    assert environment.host.cpu_model == "AMD EPYC 9999"
    assert environment.process.variables == {"CUDA_VISIBLE_DEVICES": "1"}
    assert [gpu.uuid for gpu in environment.gpus or []] == [UUID]
    assert environment.unknown == {}
    captured_at = datetime.fromisoformat(environment.captured_at)
    assert captured_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "tree",
    [
        {},
        fake_trees.grace(),
        fake_trees.container_without_sys(),
        fake_trees.one_core_with_quota(),
        fake_trees.wsl(),
    ],
    ids=["nothing", "aarch64", "container", "one core", "wsl"],
)
def test_any_machine_is_captured_and_survives_json(tmp_path: Path, tree: dict[str, str]) -> None:
    environment = capture_environment(
        command=COMMAND,
        build_id=None,
        root=fake_trees.write(tmp_path, tree),
        environ={},
        system="Linux",
        machine="aarch64",
        nvml=FakeNvml(nvmlInit=NVMLError("Driver Not Loaded")),
    )
    assert environment.gpus is None
    assert environment.unknown["gpus"] == "NVML: Driver Not Loaded"
    text = msgspec.json.encode(environment)
    assert msgspec.json.decode(text, type=Environment) == environment
    assert b'""' not in text  # nothing empty stands for what is not known


def test_gpus_are_left_alone_when_not_wanted(tmp_path: Path) -> None:
    nvml = FakeNvml()
    environment = capture_environment(
        command=[], build_id=None, gpus=False, root=tmp_path, environ={}, nvml=nvml
    )
    assert environment.gpus == []
    assert nvml.calls == []


def test_this_machine() -> None:
    environment = capture_environment(command=sys.argv, build_id=None)
    assert environment.hostname
    host = environment.host
    assert host.logical_cpus or host.unknown["logical_cpus"]
    assert environment.process.packages["msgspec"] == msgspec.__version__
    assert environment.process.python_version == sys.version.split()[0]
    text = msgspec.json.encode(environment)
    assert msgspec.json.decode(text, type=Environment) == environment


def test_this_machine_s_affinity_is_the_kernel_s() -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system has no affinity")
    environment = capture_environment(command=[], build_id=None, gpus=False)
    assert environment.host.affinity == sorted(os.sched_getaffinity(0))


def test_cuda_s_gpu_is_matched_by_uuid_or_bus_never_by_place() -> None:
    first = GpuFacts(index=0, uuid=UUID, pci_bus_id="00000000:3B:00.0")
    second = GpuFacts(index=1, uuid=SECOND_UUID, pci_bus_id="00000001:00:00.0")
    silent = GpuFacts(index=2)
    gpus = [silent, first, second]
    assert find_gpu(gpus, uuid=bytes.fromhex(SECOND_UUID[4:].replace("-", ""))) is second
    assert find_gpu(gpus, uuid=UUID) is first
    assert find_gpu(gpus, pci_bus_id="0000:3b:00.0") is first
    assert find_gpu(gpus, pci_bus_id="0001:00:00.0") is second
    assert find_gpu(gpus, pci_bus_id="0002:00:00.0") is None
    assert find_gpu(gpus) is None
