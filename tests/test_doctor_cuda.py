"""What the doctor says of the driver, its devices, the runtime and NVML."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from diagnosing import only, scene

from ftax_micro.devices import _extension
from ftax_micro.devices.cuda import runtime_library
from ftax_micro.fact_reader import Unreadable
from ftax_micro.orchestration.doctor import cuda as diagnosis_cuda

pytestmark = pytest.mark.usefixtures("no_wheels")

Cuda = Callable[..., None]


def facts(**changes: Any) -> SimpleNamespace:
    """A device as the extension describes it."""
    values = {
        "name": "NVIDIA H200",
        "compute_capability_major": 9,
        "compute_capability_minor": 0,
        "compute_mode": "default",
    }
    return SimpleNamespace(**{**values, **changes})


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    """Installs an extension with the cuda device, with these devices or a reason for none."""

    def install(
        *devices: SimpleNamespace,
        reason: str | None = None,
        missing: dict[str, str] | None = None,
        version: int = 12000,
    ) -> None:
        import ftax_micro.devices.cuda as package

        driver = SimpleNamespace(
            device_facts=lambda index, _: devices[index],
            driver_facts=lambda _: (version, "libcuda.so.1"),
            missing_functions=lambda _: missing or {},
        )
        extension = SimpleNamespace(has_cuda=True, cuda=driver)
        monkeypatch.setattr(_extension, "core", lambda: extension)
        monkeypatch.setattr(package, "unavailable_reason", lambda: reason)
        monkeypatch.setattr(package, "device_count", lambda: len(devices))

    return install


# CUDA


def test_a_build_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_extension, "core", lambda: SimpleNamespace(has_cuda=False))
    assert only(diagnosis_cuda.check_build(scene())).status == "missing"
    driver = only(diagnosis_cuda.check_driver(scene()))
    assert (driver.status, driver.advice) == ("missing", "see `cuda build`")


@pytest.mark.parametrize(
    ("node", "variable", "status", "words"),
    [
        (None, None, "missing", "install their driver"),
        ("dev/nvidiactl", None, "broken", "nvidia-smi"),
        ("dev/dxg", None, "broken", "nvidia-smi"),
        (None, "/opt/libcuda.so", "broken", "FTAX_MICRO_CUDA_DRIVER names /opt/libcuda.so"),
    ],
)
def test_a_driver_that_cannot_be_used(
    cuda: Cuda, tmp_path: Path, node: str | None, variable: str | None, status: str, words: str
) -> None:
    cuda(reason="cannot open the CUDA driver libcuda.so.1")
    if node:
        (tmp_path / node).parent.mkdir()
        (tmp_path / node).touch()
    environ = {"FTAX_MICRO_CUDA_DRIVER": variable} if variable else {}
    finding = only(diagnosis_cuda.check_driver(scene(tmp_path, None, **environ)))
    assert finding.status == status
    assert finding.detail == "cannot open the CUDA driver libcuda.so.1"
    assert words in (finding.advice or "")


def test_a_driver_and_its_devices(cuda: Cuda, tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/maps").write_text(
        "7f00-7f01 r-xp 00000000 00:00 0 \n"
        "7f02-7f03 r-xp 00000000 08:01 12 /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05\n"
    )
    cuda(facts(), facts(compute_mode="prohibited"), facts(compute_mode="exclusive_process"))
    findings = list(diagnosis_cuda.check_driver(scene(tmp_path)))
    assert [(f.part, f.status) for f in findings] == [
        ("cuda driver", "ok"),
        ("cuda:0", "ok"),
        ("cuda:1", "broken"),
        ("cuda:2", "warning"),
    ]
    assert findings[0].detail == (
        "CUDA 12.0 from /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05, 3 device(s)"
    )
    assert "NVIDIA H200, compute capability 9.0, compute mode default" in findings[1].detail
    assert "nvidia-smi -c 0" in (findings[2].advice or "")


def test_without_a_process_map_the_library_is_named_as_it_was_opened(
    cuda: Cuda, tmp_path: Path
) -> None:
    cuda(facts())
    findings = list(diagnosis_cuda.check_driver(scene(tmp_path)))
    assert "from libcuda.so.1, 1 device(s)" in findings[0].detail


def test_what_an_old_driver_lacks_is_named(cuda: Cuda) -> None:
    cuda(facts(), missing={"cuFuncLoad": "12.4", "cuCtxSetFlags": "12.1"})
    found = {f.part: f for f in diagnosis_cuda.check_driver(scene())}
    assert found["cuda functions"].status == "missing"
    assert "cuCtxSetFlags (12.1), cuFuncLoad (12.4)" in found["cuda functions"].detail


class StandInRuntime:
    """A runtime library of a version, in place of `ctypes.CDLL`."""

    def __init__(self, version: int, status: int = 0) -> None:
        self._version, self._status = version, status

    def cudaRuntimeGetVersion(self, pointer: Any) -> int:  # noqa: N802 - NVIDIA's name
        pointer._obj.value = self._version
        return self._status


@pytest.mark.parametrize(
    ("library", "status", "words"),
    [
        (StandInRuntime(13000), "ok", "CUDA 13.0 from libcudart.so.13"),
        (StandInRuntime(12040), "warning", "CUDA 12.4"),
        (StandInRuntime(0, status=35), "missing", "does not tell its version"),
        (object(), "missing", "cudaRuntimeGetVersion"),
    ],
)
def test_the_runtime_library(
    monkeypatch: pytest.MonkeyPatch, library: object, status: str, words: str
) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: library)
    finding = only(diagnosis_cuda.check_runtime(scene()))
    assert finding.status == status
    assert words in finding.detail
    assert finding.status == "ok" or finding.advice


@pytest.mark.parametrize(
    ("version", "opened"),
    [
        (13000, ["libcudart.so.13", "libcudart.so.12"]),
        (12040, ["libcudart.so.12"]),
        (11040, []),
    ],
)
def test_no_runtime_newer_than_the_driver_is_tried(
    cuda: Cuda, monkeypatch: pytest.MonkeyPatch, version: int, opened: list[str]
) -> None:
    tried: list[str] = []

    def note(name: str) -> None:
        tried.append(name)
        _not_found(name)

    cuda(facts(), version=version)
    monkeypatch.setattr("ctypes.CDLL", note)
    finding = only(diagnosis_cuda.check_runtime(scene()))
    assert tried == opened
    assert finding.status == "missing"
    assert finding.detail
    assert ("a newer driver" in (finding.advice or "")) == (not opened)


def _not_found(name: str) -> None:
    raise OSError(f"{name}: cannot open shared object file")


def test_a_runtime_that_is_named_and_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", _not_found)
    finding = only(diagnosis_cuda.check_runtime(scene(FTAX_MICRO_CUDA_RUNTIME="/opt/x.so")))
    assert finding.status == "broken"
    assert finding.advice == "FTAX_MICRO_CUDA_RUNTIME names /opt/x.so: correct or unset it"


def test_a_runtime_of_a_wheel_is_tried_before_the_loaders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "nvidia/cu13/lib"
    folder.mkdir(parents=True)
    (folder / "libcudart.so.13").touch()
    monkeypatch.setattr("ctypes.CDLL", _not_found)
    monkeypatch.setattr("sys.path", ["", str(tmp_path)])
    monkeypatch.setattr(diagnosis_cuda, "wheel_runtimes", runtime_library.wheel_runtimes)
    finding = only(diagnosis_cuda.check_runtime(scene()))
    assert finding.status == "missing"
    assert finding.detail.startswith(str(folder / "libcudart.so.13"))


def test_nvml_says_why_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise Unreadable("NVML: Driver Not Loaded")

    monkeypatch.setattr("ftax_micro.gpu.nvml.Nvml", fail)
    finding = only(diagnosis_cuda.check_nvml(scene()))
    assert (finding.status, finding.detail) == ("missing", "NVML: Driver Not Loaded")


# With the fake driver

# Importing what models need takes seconds, and is test_doctor_models'.
DOCTOR = """
import sys
from ftax_micro import doctor
from ftax_micro.orchestration.doctor import models as diagnosis_models
diagnosis_models._try = lambda names, *_: dict.fromkeys(names, ("", None))
sys.exit(doctor.main())
"""


@pytest.fixture
def by_the_fake(fake_cuda_path: Callable[[str], Path]) -> Callable[[str], dict[str, Any]]:
    """The findings of a process that was given the fake driver of a version."""
    if not _extension.core().has_cuda:
        pytest.skip("the extension was built without the cuda device")

    def call(version: str) -> dict[str, Any]:
        path = str(fake_cuda_path(version))
        done = subprocess.run(
            [sys.executable, "-c", DOCTOR, "--format", "json"],
            env={**os.environ, diagnosis_cuda.DRIVER_VARIABLE: path},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return {each["part"]: each for each in json.loads(done.stdout)["findings"]}

    return call


def test_a_whole_driver_is_found(by_the_fake: Callable[[str], dict[str, Any]]) -> None:
    findings = by_the_fake("13.0")
    assert findings["cuda driver"]["status"] == "ok"
    assert "CUDA 13.0 from /" in findings["cuda driver"]["detail"]
    assert "Fake GPU 0" in findings["cuda:0"]["detail"]
    assert "cuda functions" not in findings


def test_an_old_driver_is_told_what_it_lacks(by_the_fake: Callable[[str], dict[str, Any]]) -> None:
    findings = by_the_fake("11.4")
    assert "CUDA 11.4" in findings["cuda driver"]["detail"]
    assert "cuLaunchKernelEx (11.6)" in findings["cuda functions"]["detail"]


def test_the_toolkits_stub_is_recognised(by_the_fake: Callable[[str], dict[str, Any]]) -> None:
    driver = by_the_fake("stub")["cuda driver"]
    assert driver["status"] == "broken"
    assert "stub" in driver["detail"]
