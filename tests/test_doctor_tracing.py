"""What the doctor says of the traced floor: the package, and whether the driver lets it in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from diagnosing import install, only, scene
from fake_cupti import FOLDER

from ftax_micro.devices import _extension
from ftax_micro.orchestration.doctor import tracing as diagnosis_tracing
from ftax_micro.orchestration.doctor.tracer_trial import tracer_refusal

Found = Callable[[str], None]


@pytest.fixture
def by_the_fakes(
    monkeypatch: pytest.MonkeyPatch, fake_cuda_path: Callable[[str], Path]
) -> Callable[[str], None]:
    """Machines with a driver and a CUPTI that goes wrong as told."""
    if not _extension.core().has_cuda:
        pytest.skip("built without the CUDA device")
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda_path("13.0")))
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    monkeypatch.syspath_prepend(str(FOLDER))
    install(monkeypatch, {"cupti-python": "13.4.0"})
    return lambda faults: monkeypatch.setenv("FAKE_CUPTI", faults)


@pytest.mark.parametrize(
    ("installed", "module", "status"), [(None, None, "missing"), ("13.0", None, "broken")]
)
def test_a_package_that_is_not_there_or_not_whole(
    monkeypatch: pytest.MonkeyPatch, installed: str | None, module: object, status: str
) -> None:
    install(monkeypatch, {"cupti-python": installed} if installed else {})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: module)
    assert only(diagnosis_tracing.check_tracing(scene())).status == status


def test_without_a_driver_it_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", "/nonexistent")
    monkeypatch.setattr(diagnosis_tracing, "tracer_refusal", None)  # calling it would fail
    install(monkeypatch, {"cupti-python": "13.4.0"})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    finding = only(diagnosis_tracing.check_tracing(scene()))
    assert (finding.status, finding.detail) == (
        "ok",
        "cupti-python 13.4.0; not tried without a driver",
    )


def test_with_one_it_is_tried_and_works(by_the_fakes: Found) -> None:
    by_the_fakes("")
    finding = only(diagnosis_tracing.check_tracing(scene()))
    assert (finding.status, finding.advice) == ("ok", None)
    assert finding.detail == "cupti-python 13.4.0 can trace this process"


@pytest.mark.parametrize(
    ("faults", "detail", "advice"),
    [
        (
            "refuse=ERROR_INSUFFICIENT_PRIVILEGES",
            "CUPTI cannot trace here: ERROR_INSUFFICIENT_PRIVILEGES (35)",
            "NVreg_RestrictProfilingToAdminUsers=0",
        ),
        (
            "refuse=ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
            "CUPTI cannot trace here: ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)",
            "another tracer is attached",
        ),
        ("import=1", "cupti-python cannot be imported: ImportError: libcupti", "are skipped"),
    ],
)
def test_what_it_meets_is_told(by_the_fakes: Found, faults: str, detail: str, advice: str) -> None:
    by_the_fakes(faults)
    finding = only(diagnosis_tracing.check_tracing(scene()))
    assert finding.status == "broken"
    assert detail in finding.detail
    assert advice in str(finding.advice)


def test_a_tracer_that_ends_its_process_is_told(by_the_fakes: Found) -> None:
    by_the_fakes("die=9")
    assert tracer_refusal("cupti") == "the process that tried it was killed by signal 9"


def test_a_tracer_that_does_not_come_back_is_given_up(by_the_fakes: Found) -> None:
    by_the_fakes("stall=1")
    assert tracer_refusal("cupti", limit_s=0.5) == "it did not start within 0.5 s"


def test_an_unknown_tracer_is_a_reason() -> None:
    assert "unknown tracer 'nsight'" in str(tracer_refusal("nsight"))
