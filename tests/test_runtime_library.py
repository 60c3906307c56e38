"""Which CUDA runtime library is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from ftax_micro.devices.cuda.runtime_library import runtime_path, wheel_runtimes
from ftax_micro.errors import Skip


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[int, Path]:
    """Runtimes 12 and 13 as two wheels in one site-packages, and no variable set."""
    paths = {
        13: tmp_path / "nvidia/cu13/lib/libcudart.so.13",
        12: tmp_path / "nvidia/cuda_runtime/lib/libcudart.so.12",
    }
    for path in paths.values():
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.setattr("sys.path", ["", str(tmp_path)])
    for name in ("FTAX_MICRO_CUDA_DRIVER", "FTAX_MICRO_CUDA_RUNTIME"):
        monkeypatch.delenv(name, raising=False)
    return paths


def test_the_newest_that_the_driver_serves_is_taken(wheels: dict[int, Path]) -> None:
    assert list(wheel_runtimes(None)) == [wheels[13], wheels[12]]
    assert runtime_path(13000) == str(wheels[13])
    assert runtime_path(12040) == str(wheels[12])


@pytest.mark.usefixtures("wheels")
def test_an_old_driver_is_left_to_the_loader() -> None:
    assert runtime_path(11040) == ""


@pytest.mark.usefixtures("wheels")
def test_a_named_runtime_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_RUNTIME", "/opt/libcudart.so")
    assert runtime_path(13000) == ""


@pytest.mark.usefixtures("wheels")
def test_a_named_driver_without_a_runtime_is_not_mixed_with_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", "/opt/libcuda.so")
    with pytest.raises(Skip, match="FTAX_MICRO_CUDA_RUNTIME"):
        runtime_path(13000)
