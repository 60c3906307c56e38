"""The doctor: every part a line with a status and what to do, whatever is broken."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from diagnosing import only, scene
from fake_results import environment, gpu

import ftax_micro
from ftax_micro import cli, doctor
from ftax_micro.devices import _extension
from ftax_micro.errors import ExtensionError, Skip
from ftax_micro.facts import ProcessFacts
from ftax_micro.findings import Finding
from ftax_micro.orchestration.doctor import diagnosis
from ftax_micro.orchestration.doctor import models as diagnosis_models
from ftax_micro.orchestration.doctor.scene import Scene

pytestmark = pytest.mark.usefixtures("no_wheels")


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


@pytest.fixture(autouse=True)
def no_import_of_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes seconds; test_doctor_models has it."""
    monkeypatch.setattr(
        diagnosis_models, "_try", lambda names, *_: dict.fromkeys(names, ("", None))
    )


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
