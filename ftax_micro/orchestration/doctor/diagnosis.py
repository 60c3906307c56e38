"""What can run here and, for what cannot, why: one small check for each part.

Nothing is measured but the clock, no CUDA context is made, and no optional package is imported into
this process: a diagnosis must not need what it diagnoses. A check that itself goes wrong is a
finding.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Sequence

from ftax_micro.environment import capture_environment
from ftax_micro.errors import ExtensionError, Skip
from ftax_micro.fact_reader import reason_of
from ftax_micro.findings import Finding, FindingStatus
from ftax_micro.orchestration.doctor import cuda as diagnosis_cuda
from ftax_micro.orchestration.doctor import ladder as diagnosis_ladder
from ftax_micro.orchestration.doctor import models as diagnosis_models
from ftax_micro.orchestration.doctor import tracing as diagnosis_tracing
from ftax_micro.orchestration.doctor.scene import Scene
from ftax_micro.trust import trust_warnings
from ftax_micro.units import format_seconds

EXTENSION = "extension"
CPU_DEVICE = "cpu device"
# Without these nothing can be measured.
ESSENTIAL = (EXTENSION, CPU_DEVICE)

Check = Callable[[Scene], Iterable[Finding]]


def diagnose(scene: Scene | None = None, checks: Sequence[tuple[str, Check]] = ()) -> list[Finding]:
    """The findings of all checks, in the order of `CHECKS`.

    Never raises for a part that is missing or broken. `scene` and `checks` stand for this machine
    and `CHECKS` in tests.
    """
    found = scene or Scene(capture_environment(command=list(sys.argv), build_id=None))
    findings: list[Finding] = []
    for part, check in checks or CHECKS:
        findings += _run(part, check, found)
    return findings


def _run(part: str, check: Check, scene: Scene) -> list[Finding]:
    advice = None
    try:
        return list(check(scene))
    except ExtensionError:
        detail, advice = "the extension, which it needs, cannot be loaded", "repair that first"
    except Exception as error:  # whatever a broken installation raises
        detail = f"the check itself failed: {reason_of(error)}"
    return [Finding(part=part, status="broken", detail=detail, advice=advice)]


def can_measure(findings: Iterable[Finding]) -> bool:
    """Whether at least the cpu can be measured."""
    return not any(f.part in ESSENTIAL and f.status in {"broken", "missing"} for f in findings)


def check_python(scene: Scene) -> Iterable[Finding]:
    """The interpreter and the platform."""
    process = scene.environment.process
    where = f"{scene.environment.os or platform.system()}, {scene.environment.machine}"
    detail = f"{process.python_implementation} {process.python_version} on {where}"
    yield Finding(part="python", status="ok", detail=detail)


def check_extension(_scene: Scene) -> Iterable[Finding]:
    """The compiled extension: loads, and belongs to this Python code."""
    from ftax_micro.devices._extension import core

    try:
        extension = core()
    except ExtensionError as error:
        detail, _, advice = str(error).rpartition("; ")
        yield Finding(part=EXTENSION, status="broken", detail=detail, advice=advice)
        return
    build = f"version {extension.version}, build {extension.source_digest[:12]}"
    yield Finding(part=EXTENSION, status="ok", detail=build)


def check_cpu_device(_scene: Scene) -> Iterable[Finding]:
    """The cpu device: its cores, whether threads stay where they are put, its clock."""
    from ftax_micro.devices.cpu import CpuDevice

    device = CpuDevice()
    clock, cores = device.clock, device.topology.cores
    allowed = f"{len(cores)} cores allowed" if cores else "cores unknown"
    tick, cost = format_seconds(clock.tick_s), format_seconds(clock.read_cost_s)
    detail = f"{allowed}, clock tick {tick}, read in {cost}"
    try:
        host, worker = device.topology.pair()
    except Skip as error:
        advice = "allow this process two physical cores (taskset, the job's request)"
        detail = f"{detail}; hand-off rows are skipped: {error}"
        yield Finding(part=CPU_DEVICE, status="warning", detail=detail, advice=advice)
        return
    if host < 0:
        advice = "expect more scatter: threads move between cores here"
        detail = f"{detail}, threads cannot be pinned"
        yield Finding(part=CPU_DEVICE, status="warning", detail=detail, advice=advice)
        return
    detail = f"{detail}, hand-offs between cores {host} and {worker}"
    yield Finding(part=CPU_DEVICE, status="ok", detail=detail)


def check_environment(scene: Scene) -> Iterable[Finding]:
    """What in this environment would falsify or shift numbers; graver things first."""
    uuids = None if scene.environment.gpus else ()
    warnings = trust_warnings(scene.environment, gpu_uuids=uuids)
    for warning in warnings:
        detail, _, advice = warning.sentence.removesuffix(".").rpartition("; ")
        status: FindingStatus = "ok" if warning.severity == "info" else "warning"
        if warning.severity == "refuse":
            detail = f"launch_floor refuses to measure: {detail}"
        part = f"environment: {warning.code}"
        yield Finding(part=part, status=status, detail=detail, advice=advice)
    if not warnings:
        yield Finding(part="environment", status="ok", detail="nothing that would shift numbers")


# Every check, in the order of the report.
CHECKS: tuple[tuple[str, Check], ...] = (
    ("python", check_python),
    (EXTENSION, check_extension),
    (CPU_DEVICE, check_cpu_device),
    ("cuda build", diagnosis_cuda.check_build),
    ("cuda driver", diagnosis_cuda.check_driver),
    ("cuda runtime", diagnosis_cuda.check_runtime),
    ("tracing", diagnosis_tracing.check_tracing),
    ("nvml", diagnosis_cuda.check_nvml),
    ("models", diagnosis_models.check_models),
    ("compiler", diagnosis_models.check_compiler),
    ("ladder", diagnosis_ladder.check_ladder),
    ("environment", check_environment),
)
