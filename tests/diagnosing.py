"""Scenes for the doctor, and packages that are not there."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
from pathlib import Path

import pytest
from fake_results import environment

from ftax_micro.facts import Environment
from ftax_micro.findings import Finding
from ftax_micro.orchestration.doctor import cuda as diagnosis_cuda
from ftax_micro.orchestration.doctor.scene import Scene


def scene(root: Path = Path("/nowhere"), found: Environment | None = None, **environ: str) -> Scene:
    """A machine whose files lie under `root`, with these environment variables."""
    return Scene(found or environment(), environ, root)


def only(findings: Iterable[Finding]) -> Finding:
    """The one finding there is."""
    (finding,) = findings
    return finding


@pytest.fixture
def no_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this environment happens to have installed must not decide a test."""
    monkeypatch.setattr(diagnosis_cuda, "wheel_runtimes", lambda _version: iter(()))


def install(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]) -> None:
    """Makes these the only packages that are installed."""

    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr("importlib.metadata.version", version)
