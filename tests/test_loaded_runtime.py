"""A CUDA runtime that the process has loaded already is the one that is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_command import environment, run
from fake_cuda.build import Builder

from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda.runtime_library import DRIVER_VARIABLE, RUNTIME_VARIABLE, runtime_path

pytestmark = pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")

# Loads the libraries it is given, then says which runtime is found, and which one launches.
SCRIPT = """
import ctypes, sys
from ftax_micro import _core
for path in sys.argv[1:]:
    ctypes.CDLL(path)
version, _ = _core.cuda.driver_facts()
print(_core.cuda.loaded_runtime(version) or "none")
with _core.cuda.Session() as session:
    try:
        session.use_runtime()
        print(_core.cuda.runtime_facts(session).path)
        spec = _core.cuda.LaunchSpec(api=_core.cuda.LaunchApi.runtime)
        print(len(_core.cuda.submit(session, spec, 4, 2)))
    except _core.cuda.CudaUnsupported as error:
        print("unsupported:", error)
"""


def found(builder: Builder, *loaded: Path, driver: str = "13.0") -> list[str]:
    """What the script prints in a process where nothing names a runtime."""
    variables = environment(builder.driver(driver))
    del variables[RUNTIME_VARIABLE]
    # The loader must not find a real one.
    variables.pop("LD_LIBRARY_PATH", None)
    status, out, errors = run(["-c", SCRIPT, *map(str, loaded)], variables)
    assert (status, errors) == (0, [])
    return out.splitlines()


def test_a_loaded_runtime_is_found_by_its_name_and_launches(fake_cuda_builder: Builder) -> None:
    runtime = fake_cuda_builder.runtime("13.0", soname="libcudart.so.13")
    assert found(fake_cuda_builder, runtime) == [str(runtime), str(runtime), "2"]


def test_the_newest_that_is_loaded_wins(fake_cuda_builder: Builder) -> None:
    newer = fake_cuda_builder.runtime("13.0", soname="libcudart.so.13")
    older = fake_cuda_builder.runtime("13.0", soname="libcudart.so.12")
    assert found(fake_cuda_builder, older, newer)[0] == str(newer)
    assert found(fake_cuda_builder, older)[0] == str(older)


def test_a_runtime_newer_than_the_driver_is_passed_over(fake_cuda_builder: Builder) -> None:
    newer = fake_cuda_builder.runtime("12.4", soname="libcudart.so.13")
    assert found(fake_cuda_builder, newer, driver="12.4")[0] == "none"


def test_a_loaded_runtime_that_is_too_old_is_passed_over(fake_cuda_builder: Builder) -> None:
    old = fake_cuda_builder.runtime("13.0", library_calls=False, soname="libcudart.so.13")
    usable = fake_cuda_builder.runtime("13.0", soname="libcudart.so.12")
    assert found(fake_cuda_builder, old)[0] == "none"
    assert found(fake_cuda_builder, old, usable)[0] == str(usable)


def test_it_comes_before_the_runtimes_of_wheels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DRIVER_VARIABLE, raising=False)
    monkeypatch.delenv(RUNTIME_VARIABLE, raising=False)
    wheel = tmp_path / "nvidia/cu13/lib/libcudart.so.13"
    wheel.parent.mkdir(parents=True)
    wheel.touch()
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert runtime_path(13000, "/somewhere/libcudart.so.12") == "/somewhere/libcudart.so.12"
    assert runtime_path(13000) == str(wheel)
    monkeypatch.setenv(RUNTIME_VARIABLE, "/named")
    assert runtime_path(13000, "/somewhere/libcudart.so.12") == ""
