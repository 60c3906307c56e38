"""The doctor on packages of the dispatch ladder."""

from __future__ import annotations

import pytest
from diagnosing import install, only, scene

from ftax_micro.orchestration.doctor.ladder import check_ladder

ALL = {
    "numba": "0.68",
    "numba-cuda": "0.30",
    "cuda-core": "1.2",
    "cupy-cuda13x": "14.2",
    "triton": "3.9",
    "matplotlib": "3.11",
    "plotly": "7.1",
}


def test_what_is_there_is_told_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ALL)
    finding = only(check_ladder(scene()))
    assert (finding.status, finding.advice) == ("ok", None)
    assert finding.detail.startswith("numba 0.68, numba-cuda 0.30, cuda-core 1.2")


def test_what_is_not_names_its_extras_once(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {"numba": "0.68", "triton": "3.9"})
    finding = only(check_ladder(scene()))
    assert finding.status == "missing"
    assert finding.detail == (
        "numba 0.68, triton 3.9; not installed: numba.cuda, cuda.core, cupy, matplotlib, plotly"
    )
    assert str(finding.advice).endswith("`pip install 'ftax-micro[cuda13,report]'`")


def test_with_nothing_there_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {})
    assert only(check_ladder(scene())).detail.startswith("none of the optional ones; not installed")
