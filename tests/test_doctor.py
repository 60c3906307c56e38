"""The doctor: every part a line with a status and what to do, whatever is broken."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_results import environment, gpu

import ftax_micro
from ftax_micro import cli, doctor
from ftax_micro.devices import _extension
from ftax_micro.devices.cuda import runtime_library
from ftax_micro.errors import ExtensionError, Skip
from ftax_micro.fact_reader import Unreadable
from ftax_micro.facts import Environment, ProcessFacts
from ftax_micro.findings import Finding
from ftax_micro.orchestration import diagnosis, diagnosis_cuda
from ftax_micro.orchestration.scene import Scene

Cuda = Callable[..., None]


def scene(root: Path = Path("/nowhere"), found: Environment | None = None, **environ: str) -> Scene:
    return Scene(found or environment(), environ, root)


def only(findings: Iterable[Finding]) -> Finding:
    (finding,) = findings
    return finding


def facts(**changes: Any) -> SimpleNamespace:
    """A device as the extension describes it."""
    values = {
        "name": "NVIDIA H200",
        "compute_capability_major": 9,
        "compute_capability_minor": 0,
        "compute_mode": "default",
    }
    return SimpleNamespace(**{**values, **changes})


@pytest.fixture(autouse=True)
def no_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this environment happens to have installed must not decide a test."""
    monkeypatch.setattr(diagnosis_cuda, "wheel_runtimes", lambda _version: iter(()))


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


@pytest.fixture
def no_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    """An extension that was built from other sources."""

    def fail() -> None:
        raise ExtensionError("the extension was built from other sources; run `pip install .`")

    monkeypatch.setattr(_extension, "core", fail)
    monkeypatch.setattr("ftax_micro.devices.cpu.core", fail)


# The whole


def test_every_part_has_a_finding_and_every_trouble_an_advice() -> None:
    findings = diagnosis.diagnose(scene())
    parts = [finding.part for finding in findings]
    for part, _ in diagnosis.CHECKS:
        assert any(p == part or p.startswith(f"{part}: ") for p in parts), part
    for finding in findings:
        assert finding.detail
        assert "Traceback" not in finding.detail
        assert (
            finding.status == "ok" or finding.advice or "check itself failed" in finding.detail
        ), finding


def test_the_real_machine_can_be_diagnosed() -> None:
    findings = ftax_micro.diagnose()
    assert {f.status for f in findings} <= {"ok", "missing", "broken", "warning"}
    assert not [f for f in findings if "check itself failed" in f.detail]


def test_a_check_that_raises_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def burst(_: Scene) -> Iterable[Finding]:
        raise OSError(5, "Input/output error", "/dev/nvidia0")

    def good(_: Scene) -> Iterable[Finding]:
        yield Finding(part="b", status="ok", detail="fine")

    findings = diagnosis.diagnose(scene(), [("a", burst), ("b", good)])
    assert [(f.part, f.status) for f in findings] == [("a", "broken"), ("b", "ok")]
    assert "/dev/nvidia0: Input/output error" in findings[0].detail


@pytest.mark.usefixtures("no_extension")
def test_without_the_extension_what_needs_it_says_so_and_the_rest_is_still_checked() -> None:
    findings = {f.part: f for f in diagnosis.diagnose(scene())}
    assert findings["extension"].status == "broken"
    assert findings["extension"].detail == "the extension was built from other sources"
    assert findings["extension"].advice == "run `pip install .`"
    for part in ("cpu device", "cuda build", "cuda driver"):
        assert findings[part].status == "broken"
        assert findings[part].advice == "repair that first"
    assert findings["python"].status == "ok"
    assert not diagnosis.can_measure(findings.values())


# The cpu


class StandInCpu:
    """A cpu device whose clock and cores are given."""

    def __init__(self, pair: Callable[[], tuple[int, int]], cores: Sequence[int]) -> None:
        self.clock = SimpleNamespace(tick_s=1e-9, read_cost_s=25e-9)
        self.topology = SimpleNamespace(cores=cores, pair=pair)


def _one_core() -> tuple[int, int]:
    raise Skip("one core only: two threads would take turns on it")


@pytest.mark.parametrize(
    ("pair", "cores", "status", "words"),
    [
        (lambda: (0, 2), (0, 1, 2, 3), "ok", "4 cores allowed, clock tick 1 ns, read in 25 ns"),
        (lambda: (0, 2), (0, 2), "ok", "between cores 0 and 2"),
        (_one_core, (0,), "warning", "one core only"),
        (lambda: (-1, -1), (), "warning", "cannot be pinned"),
    ],
)
def test_the_cpu_device(
    monkeypatch: pytest.MonkeyPatch,
    pair: Callable[[], tuple[int, int]],
    cores: Sequence[int],
    status: str,
    words: str,
) -> None:
    monkeypatch.setattr("ftax_micro.devices.cpu.CpuDevice", lambda: StandInCpu(pair, cores))
    finding = only(diagnosis.check_cpu_device(scene()))
    assert finding.status == status
    assert words in finding.detail
    assert diagnosis.can_measure([finding])


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


@pytest.mark.parametrize(
    ("installed", "module", "status"),
    [(None, None, "missing"), ("13.0", None, "broken"), ("13.0", object(), "ok")],
)
def test_tracing(
    monkeypatch: pytest.MonkeyPatch, installed: str | None, module: object, status: str
) -> None:
    _install(monkeypatch, {"cupti-python": installed} if installed else {})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: module)
    assert only(diagnosis_cuda.check_tracing(scene())).status == status


def test_nvml_says_why_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise Unreadable("NVML: Driver Not Loaded")

    monkeypatch.setattr("ftax_micro.nvml.Nvml", fail)
    finding = only(diagnosis_cuda.check_nvml(scene()))
    assert (finding.status, finding.detail) == ("missing", "NVML: Driver Not Loaded")


# Packages and the environment


def _install(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr("importlib.metadata.version", version)


@pytest.mark.parametrize(
    ("name", "versions", "status", "detail"),
    [
        ("torch", {}, "missing", "not installed"),
        ("torch", {"torch": "2.9.0"}, "ok", "torch 2.9.0"),
        ("onnxruntime", {"onnxruntime-gpu": "1.23"}, "ok", "onnxruntime-gpu 1.23"),
        (
            "onnxruntime",
            {"onnxruntime-gpu": "1.23", "onnxruntime": "1.22"},
            "warning",
            "overwrites",
        ),
    ],
)
def test_packages(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    versions: dict[str, str],
    status: str,
    detail: str,
) -> None:
    _install(monkeypatch, versions)
    finding = only(diagnosis.check_package(scene(), name=name))
    assert finding.status == status
    assert detail in finding.detail


def test_the_environment_is_judged() -> None:
    process = ProcessFacts(
        python_version="3.11.7",
        python_implementation="CPython",
        python_debug_build=False,
        python_free_threaded=False,
        preloaded=[],
        watchers=[],
        variables={"CUDA_LAUNCH_BLOCKING": "1"},
    )
    found = environment(process=process, gpus=[gpu(persistence_mode=False)])
    findings = {f.part: f for f in diagnosis.check_environment(scene(found=found))}
    blocking = findings["environment: launch_blocking"]
    assert blocking.status == "warning"
    assert blocking.detail.startswith("launch_floor refuses to measure: ")
    assert blocking.advice == "unset it"
    assert findings["environment: persistence"].advice == ("switch it on (nvidia-smi -pm 1)")


def test_without_a_gpu_nothing_is_said_of_cuda() -> None:
    finding = only(diagnosis.check_environment(scene()))
    assert (finding.part, finding.status) == ("environment", "ok")


# With the fake driver


@pytest.fixture
def by_the_fake(fake_cuda_path: Callable[[str], Path]) -> Callable[[str], dict[str, Any]]:
    """The findings of a process that was given the fake driver of a version."""
    if not _extension.core().has_cuda:
        pytest.skip("the extension was built without the cuda device")

    def call(version: str) -> dict[str, Any]:
        path = str(fake_cuda_path(version))
        done = subprocess.run(
            [sys.executable, "-m", "ftax_micro.doctor", "--format", "json"],
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


# The command


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """What the command will find; a test may add to it."""
    found = [Finding(part="extension", status="ok", detail="version 0.1.0")]
    monkeypatch.setattr(diagnosis, "diagnose", lambda: found)
    return found


@pytest.mark.parametrize(
    ("part", "status", "code"),
    [
        ("cpu device", "broken", 1),
        ("cpu device", "warning", 0),
        ("cuda driver", "broken", 0),
        ("torch", "missing", 0),
    ],
)
@pytest.mark.parametrize("layout", ["table", "json", "markdown"])
def test_only_what_the_cpu_needs_decides_the_exit_code(
    capsys: pytest.CaptureFixture[str],
    findings: list[Finding],
    part: str,
    status: Any,
    code: int,
    layout: str,
) -> None:
    findings.append(Finding(part=part, status=status, detail="[red]found|", advice="do this"))
    assert cli.run(doctor.command, ["--format", layout]) == code
    out = capsys.readouterr().out
    assert all(word in out for word in (part, status, "[red]found", "do this"))


def test_json_is_a_list_of_records(
    capsys: pytest.CaptureFixture[str], findings: list[Finding]
) -> None:
    cli.run(doctor.command, ["--format", "json"])
    assert json.loads(capsys.readouterr().out) == {
        "kind": "diagnosis",
        "findings": [
            {"part": "extension", "status": "ok", "detail": "version 0.1.0", "advice": None}
        ],
    }


def test_an_unknown_format_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(doctor.command, ["--format", "csv"]) == 2
    assert "unknown format 'csv'" in capsys.readouterr().err


def test_help_has_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        doctor.command(["--help"])
    out = capsys.readouterr().out
    assert "examples:" in out
    assert "exit codes: 0 at least the cpu can be measured; 1 " in out
