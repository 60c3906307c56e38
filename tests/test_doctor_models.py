"""The doctor on what models need: packages tried in another process, and a compiler."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from diagnosing import install, only, scene

from ftax_micro.findings import Finding
from ftax_micro.models import import_trial
from ftax_micro.orchestration.doctor.models import check_compiler, check_models

ALL = {"torch": "2.15.0", "torchvision": "0.29.2", "transformers": "5.23.0", "onnxruntime": "1.30"}


def diagnosed(script: str, limit_s: float = 20.0) -> dict[str, Finding]:
    """The findings by package where this stands for the trial."""
    found = check_models(scene(), command=(sys.executable, "-c", script), limit_s=limit_s)
    return {finding.part.removeprefix("models: "): finding for finding in found}


def says(package: str, detail: str = "", error: str | None = None) -> str:
    return (
        f"print({json.dumps({'package': package, 'detail': detail, 'error': error})!r}, flush=True)"
    )


def test_what_is_installed_and_imports_is_told_with_what_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, ALL)
    script = ";".join(says(name, f"{name} is well") for name in ALL)
    found = diagnosed(script)
    assert list(found) == list(ALL)
    assert {finding.status for finding in found.values()} == {"ok"}
    assert found["torchvision"].detail == "torchvision 0.29.2, torchvision is well"


def test_what_is_missing_names_the_extra_and_starts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, {})
    found = {f.part: f for f in check_models(scene(), command=("/no/such/program",))}
    assert {finding.status for finding in found.values()} == {"missing"}
    assert "ftax-micro[models]" in str(found["models: torch"].advice)


def test_two_distributions_of_one_module_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {"onnxruntime": "1.30", "onnxruntime-gpu": "1.31"})
    finding = diagnosed(says("onnxruntime"))["onnxruntime"]
    assert finding.status == "warning"
    assert "overwrites" in finding.detail


def test_one_that_breaks_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {"torch": "2.15.0", "torchvision": "0.28.0"})
    script = f"{says('torch', 'fine')};{says('torchvision', error='RuntimeError: no nms')}"
    found = diagnosed(script)
    assert found["torch"].status == "ok"
    assert found["torchvision"].status == "broken"
    assert "cannot be imported: RuntimeError: no nms" in found["torchvision"].detail
    assert "force-reinstall" in str(found["torchvision"].advice)


def test_one_that_ends_the_process_costs_only_itself_and_what_comes_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, ALL)
    script = f"{says('torch', 'fine')};import os;os.kill(os.getpid(), 11)"
    found = diagnosed(script)
    assert found["torch"].status == "ok"
    assert "killed by signal 11" in found["torchvision"].detail
    assert "not tried after that" in found["transformers"].detail
    assert {found[name].status for name in list(ALL)[1:]} == {"broken"}


def test_one_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {"torch": "2.15.0"})
    found = diagnosed("import time;time.sleep(60)", limit_s=0.2)
    assert "not done within 0.2 s" in found["torch"].detail


def test_a_trial_that_cannot_start_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {"torch": "2.15.0"})
    found = {f.part: f for f in check_models(scene(), command=("/no/such/program",))}
    assert "could not be tried" in found["models: torch"].detail


def test_the_trial_says_what_it_finds_line_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> str:
        raise RuntimeError("half\ninstalled")

    monkeypatch.setattr(import_trial, "TRIALS", {"good": lambda: "is there", "bad": broken})
    assert import_trial.main(["good", "bad"]) == 0
    good, bad = map(json.loads, capsys.readouterr().out.splitlines())
    assert good == {"package": "good", "detail": "is there", "error": None}
    assert bad["error"] == "RuntimeError: half installed"


def test_a_compiler_is_found_where_cxx_or_the_path_names_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert only(check_compiler(scene())).status == "missing"
    compiler = tmp_path / "g++"
    compiler.write_text("")
    compiler.chmod(0o755)
    assert str(compiler) in only(check_compiler(scene())).detail
    other = only(check_compiler(scene(CXX="/opt/none/clang++ -O2")))
    assert other.status == "missing"
    assert "CXX" in str(other.advice)
