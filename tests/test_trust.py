from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import fake_trees
import msgspec
import pytest
from fake_nvml import SECOND_UUID, UUID, FakeNvml

from ftax_micro.environment import capture_environment
from ftax_micro.facts import (
    BusyProcess,
    Environment,
    GpuFacts,
    GpuProcess,
    HostFacts,
    LaunchFacts,
    ProcessFacts,
)
from ftax_micro.trust import TrustWarning, trust_warnings
from ftax_micro.trust_texts import TEXTS


def clean(
    *,
    process: dict[str, Any] | None = None,
    host: dict[str, Any] | None = None,
    gpu: dict[str, Any] | None = None,
    **top: Any,
) -> Environment:
    """An environment nothing can be said against, with changes."""
    base = Environment(
        captured_at="2026-11-21T04:00:00+00:00",
        command=["ftax-micro"],
        build_id="0123",
        machine="x86_64",
        process=ProcessFacts(
            python_version="3.12.1",
            python_implementation="CPython",
            python_debug_build=False,
            python_free_threaded=False,
            preloaded=[],
            watchers=[],
            variables={"CUDA_VISIBLE_DEVICES": "0", "CUDA_LAUNCH_BLOCKING": "0"},
        ),
        host=HostFacts(
            logical_cpus=8,
            affinity=list(range(8)),
            governors=["performance"],
            clock_source="tsc",
            virtualised=False,
            wsl=False,
            private_pid_namespace=False,
            mitigations={},
            cpu_quota=8.0,
            load_average=[0.2, 5.0, 5.0],
            busy_processes=[BusyProcess(pid=1, name="cron", share=0.3)],
        ),
        gpus=[
            GpuFacts(
                index=0,
                uuid=UUID,
                name="NVIDIA H200",
                throttle_reasons=["gpu_idle", "applications_clocks"],
                persistence_mode=True,
                mig=False,
                mps=False,
                confidential_compute=False,
                virtualisation="passthrough",
                processes=[],
            )
        ],
    )
    assert base.gpus is not None
    replace = msgspec.structs.replace
    return replace(
        base,
        process=replace(base.process, **(process or {})),
        host=replace(base.host, **(host or {})),
        **({"gpus": [replace(base.gpus[0], **(gpu or {}))]} | top),
    )


def codes(warnings: list[TrustWarning]) -> list[tuple[str, str]]:
    return [(warning.severity, warning.code) for warning in warnings]


def variables(**values: str) -> dict[str, dict[str, str]]:
    return {"variables": values}


OTHERS = [GpuProcess(pid=77, kinds=["compute"], name="train"), GpuProcess(pid=78, kinds=["mps"])]

MADE: list[tuple[str, str, Environment]] = [
    ("refuse", "launch_blocking", clean(process=variables(CUDA_LAUNCH_BLOCKING="1"))),
    ("refuse", "tracer", clean(process=variables(CUDA_INJECTION64_PATH="/x/lib.so"))),
    ("refuse", "tracer", clean(process=variables(NVTX_INJECTION64_PATH="/x/lib.so"))),
    ("refuse", "tracer", clean(process=variables(NSYS_PROFILING_SESSION_ID="12"))),
    ("refuse", "tracer", clean(process={"watchers": ["/opt/libToolsInjection64.so"]})),
    ("refuse", "tracer", clean(process={"watchers": ["/opt/libcuinj64.so.13"]})),
    ("refuse", "sanitizer", clean(process=variables(NV_SANITIZER_INJECTION_PORT_BASE="49152"))),
    ("refuse", "sanitizer", clean(process={"watchers": ["/opt/libsanitizer-collection.so"]})),
    ("refuse", "sanitizer", clean(process={"watchers": ["/usr/lib/libtsan.so.2"]})),
    ("refuse", "debugger", clean(process={"debugger": "strace (pid 77)"})),
    ("warn", "cupti_loaded", clean(process={"watchers": ["/opt/libcupti.so.13"]})),
    ("warn", "preload", clean(process={"preloaded": ["/x/libjemalloc.so.2"]})),
    ("warn", "audit", clean(process=variables(LD_AUDIT="/x/liba.so"))),
    ("warn", "python_hooks", clean(process={"python_hooks": ["trace: coverage.Tracer"]})),
    ("warn", "python_debug", clean(process={"python_debug_build": True})),
    (
        "warn",
        "ranks_together",
        clean(process={"launch": LaunchFacts(launcher="Slurm", rank=3, together=4)}),
    ),
    ("warn", "clock_source", clean(host={"clock_source": "hpet"})),
    ("warn", "clock_source", clean(machine="aarch64")),
    ("warn", "governor", clean(host={"governors": ["performance", "powersave"]})),
    ("info", "governor_dynamic", clean(host={"governors": ["schedutil"]})),
    ("warn", "one_core", clean(host={"affinity": [3], "cpu_quota": None})),
    ("warn", "cpu_quota", clean(host={"cpu_quota": 7.5})),
    ("warn", "load", clean(host={"load_average": [4.1, 0.0, 0.0]})),
    (
        "warn",
        "busy_processes",
        clean(host={"busy_processes": [BusyProcess(pid=9, name="make", share=5.5)]}),
    ),
    ("warn", "wsl", clean(host={"wsl": True})),
    ("info", "virtualised", clean(host={"virtualised": True, "hypervisor": "KVM"})),
    ("info", "mitigations", clean(host={"mitigations": {"spectre_v2": "Mitigation: IBRS"}})),
    ("warn", "gpu_processes", clean(gpu={"processes": OTHERS})),
    ("warn", "throttling", clean(gpu={"throttle_reasons": ["gpu_idle", "hw_thermal"]})),
    ("warn", "wddm", clean(gpu={"driver_model": "wddm"})),
    ("warn", "persistence", clean(gpu={"persistence_mode": False})),
    ("warn", "mig", clean(gpu={"mig": True})),
    ("warn", "mps", clean(gpu={"mps": True})),
    ("warn", "confidential_compute", clean(gpu={"confidential_compute": True})),
    ("warn", "vgpu", clean(gpu={"virtualisation": "vgpu"})),
    ("info", "unchecked", clean(gpus=None, unknown={"gpus": "NVML: Driver Not Loaded"})),
    ("info", "unchecked", clean(process={"watchers": None, "unknown": {"watchers": "no /proc"}})),
]


def test_nothing_is_said_of_a_clean_machine() -> None:
    assert trust_warnings(clean()) == []
    assert trust_warnings(clean(machine="aarch64", host={"clock_source": "arch_sys_counter"})) == []


@pytest.mark.parametrize(("severity", "code", "environment"), MADE)
def test_each_warning_fires_alone(severity: str, code: str, environment: Environment) -> None:
    (warning,) = trust_warnings(environment)
    assert (warning.severity, warning.code) == (severity, code)
    assert not re.search(r"[{}]", warning.sentence)


def test_every_warning_there_is_has_a_made_environment() -> None:
    assert {code for _, code, _ in MADE} == set(TEXTS)


@pytest.mark.parametrize("code", sorted(TEXTS))
def test_a_sentence_says_what_then_why_then_what_to_do(code: str) -> None:
    sentence = TEXTS[code][1]
    assert sentence.endswith(".")
    assert "; " in sentence


def test_names_are_in_the_sentence() -> None:
    (warning,) = trust_warnings(clean(gpu={"processes": OTHERS}))
    assert "GPU 0 (NVIDIA H200)" in warning.sentence
    assert "train (pid 77), a process out of sight (pid 78)" in warning.sentence
    assert "may be this process" not in warning.sentence
    hidden = clean(gpu={"processes": OTHERS}, host={"private_pid_namespace": True})
    assert "one of which may be this process" in trust_warnings(hidden)[0].sentence


def test_the_gravest_come_first() -> None:
    environment = clean(
        process=variables(CUDA_LAUNCH_BLOCKING="1"),
        host={"virtualised": True, "clock_source": "hpet"},
    )
    severities = [severity for severity, _ in codes(trust_warnings(environment))]
    assert severities == ["refuse", "warn", "info"]


def test_what_is_not_known_fires_nothing() -> None:
    nothing = clean(
        host={field: None for field in HostFacts.__struct_fields__ if field != "unknown"},
        gpus=[GpuFacts(index=0)],
        machine=None,
    )
    assert trust_warnings(nothing) == []


def test_only_the_gpus_that_are_measured_count() -> None:
    other = GpuFacts(index=1, uuid=SECOND_UUID, mig=True)
    both = clean(gpus=[*(clean(gpu={"mps": True}).gpus or []), other])
    assert codes(trust_warnings(both)) == [("warn", "mps"), ("warn", "mig")]
    assert codes(trust_warnings(both, gpu_uuids=[SECOND_UUID])) == [("warn", "mig")]
    assert trust_warnings(both, gpu_uuids=[]) == []


def test_a_run_on_the_cpu_does_not_mind_cuda_s_switches() -> None:
    environment = clean(
        process=variables(CUDA_LAUNCH_BLOCKING="1", CUDA_INJECTION64_PATH="/x/lib.so"),
        gpus=None,
        unknown={"gpus": "NVML: Driver Not Loaded"},
    )
    assert trust_warnings(environment, gpu_uuids=[]) == []


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (fake_trees.x86_server(), {"mitigations"}),
        (
            fake_trees.one_core_with_quota(),
            {"one_core", "cpu_quota", "clock_source", "virtualised"},
        ),
        (fake_trees.wsl(), {"wsl", "clock_source", "virtualised"}),
        (fake_trees.container_without_sys(), {"virtualised", "unchecked"}),
    ],
    ids=["server", "one core", "wsl", "container"],
)
def test_recorded_machines(tmp_path: Path, tree: dict[str, str], expected: set[str]) -> None:
    environment = capture_environment(
        command=[],
        build_id=None,
        root=fake_trees.write(tmp_path, tree),
        environ={},
        system="Linux",
        machine="x86_64",
        nvml=FakeNvml(),
    )
    # What watches the test run itself (coverage, a debugger's build) is no part of the tree.
    found = {code for _, code in codes(trust_warnings(environment))} - {
        "python_hooks",
        "python_debug",
    }
    assert found == expected
