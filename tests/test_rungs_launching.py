"""Rungs on CUDA libraries, over stand-ins that take notes of what they are asked."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cuda_libraries as stand_ins
import pytest
from cuda_libraries import Calls

from ftax_micro import _core
from ftax_micro.devices.cpu import measured_clock
from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.rungs import RUNGS
from ftax_micro.rungs.contract import ARGUMENTS, Place, Program, Rung
from ftax_micro.rungs.launching import LAUNCHED
from ftax_micro.rungs.null_kernels import cuda_extra, null_ptx
from ftax_micro.rungs.packages import BrokenPackageError

PLACE = Place("cuda:1", measured_clock())
LAUNCHING = ("cuda_core", "cupy_raw_kernel", "numba", "triton_cached", "triton_jit")

Patch = pytest.MonkeyPatch
needs_cuda = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")


def made(name: str, arguments: int = 0) -> Program:
    rung: Rung = RUNGS.open(name)
    return rung.make(PLACE, arguments)


def why_not(name: str, arguments: int = 0) -> str:
    with pytest.raises(Skip) as skipped:
        made(name, arguments)
    return str(skipped.value)


def install_all(monkeypatch: Patch, calls: Calls) -> None:
    """Every library that launches, in working order."""
    stand_ins.install(
        monkeypatch,
        stand_ins.module("cuda"),
        stand_ins.module("cuda.core", **stand_ins.cuda_core(calls)),
        stand_ins.cupy(calls),
        *stand_ins.numba(calls),
        stand_ins.triton(calls),
        stand_ins.torch(calls),
    )


def handed(name: str, launch: tuple[Any, ...]) -> tuple[Any, ...]:
    """The kernel's own arguments, of what a library was handed for one launch."""
    if name == "cupy_raw_kernel":
        assert launch[1:3] == ((1,), (1,))
        return tuple(launch[3])
    leading = {"cuda_core": 3, "triton_cached": 5, "triton_jit": 5}.get(name, 0)
    return launch[1 + leading :]


@pytest.mark.parametrize("name", LAUNCHING)
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_program_launches_as_often_as_it_says_and_waits_before(
    monkeypatch: Patch, name: str, arguments: int
) -> None:
    calls: Calls = []
    install_all(monkeypatch, calls)
    program = made(name, arguments)
    assert program.counts == LAUNCHED
    before = len(calls)
    assert program.burst(3) > 0
    noted = [call for call in calls[before:] if call[0] in ("sync", "launch")]
    assert [call[0] for call in noted] == ["sync", "launch", "launch", "launch"]
    own = handed(name, noted[1])
    integers = [value for value in own if isinstance(value, int)]
    assert len(own) == arguments
    assert len(integers) == {0: 0, 5: 2, 19: 7}[arguments]
    assert all(2**31 < value < 2**63 for value in integers)  # 8 bytes for everybody
    before = len(calls)
    program.close()
    assert ("sync",) in calls[before:]


def test_the_kernel_of_cuda_core_is_our_own(monkeypatch: Patch) -> None:
    calls: Calls = []
    install_all(monkeypatch, calls)
    program = made("cuda_core", 5)
    assert calls[:3] == [("device", 1), ("current",), ("stream",)]
    assert ("ptx", null_ptx(5)) in calls
    launch = next(call for call in calls if call[0] == "launch")
    assert launch[2:4] == ("grid 1 block 1", "kernel ftax_null")
    program.close()
    assert [call[0] for call in calls[-5:]] == ["sync", "free", "free", "free", "end stream"]


def test_a_cuda_core_from_before_its_classes_moved(monkeypatch: Patch) -> None:
    calls: Calls = []
    stand_ins.install(
        monkeypatch,
        stand_ins.module("cuda"),
        stand_ins.module("cuda.core", __version__="0.4.2"),
        stand_ins.module("cuda.core.experimental", **stand_ins.cuda_core(calls)),
    )
    assert made("cuda_core").facts == {"cuda_core": "0.4.2"}
    assert calls[-2][:1] == ("launch",)


def test_cupy_loads_our_kernel_from_a_file_that_is_gone_then(
    monkeypatch: Patch, tmp_path: Path
) -> None:
    calls: Calls = []
    install_all(monkeypatch, calls)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made("cupy_raw_kernel", 19)
    assert calls[:2] == [("enter device", 1), ("stream", True)]
    assert ("ptx", null_ptx(19)) in calls
    assert list(tmp_path.iterdir()) == []


def test_numbas_launch_is_configured_before(monkeypatch: Patch) -> None:
    calls: Calls = []
    install_all(monkeypatch, calls)
    program = made("numba", 5)
    program.burst(2)
    assert calls[:2] == [("device", 1), ("configure", "ftax_null_5", (1, 1))]
    assert sum(call[0] == "configure" for call in calls) == 1


def test_a_jit_call_looks_up_and_the_cached_launcher_does_not(monkeypatch: Patch) -> None:
    calls: Calls = []
    install_all(monkeypatch, calls)
    jit, cached = made("triton_jit", 5), made("triton_cached", 5)
    calls.clear()
    jit.burst(2)
    assert sum(call[0] == "look up" for call in calls) == 2
    launches = [call for call in calls if call[0] == "launch"]
    calls.clear()
    cached.burst(2)
    assert sum(call[0] == "look up" for call in calls) == 0
    assert [len(call) for call in calls if call[0] == "launch"] == [len(launches[0])] * 2


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"launcher": "_start"}, "a compiled kernel has no launcher where it was looked for"),
        ({"hands": lambda *own: own[::-1]}, "does not end with the kernel's arguments"),
        ({"hands": lambda *own: own[1:]}, "does not end with the kernel's arguments"),
    ],
)
def test_a_triton_that_launches_in_another_way_is_skipped(
    monkeypatch: Patch, changed: dict[str, Any], reason: str
) -> None:
    calls: Calls = []
    stand_ins.install(
        monkeypatch, stand_ins.triton(calls, "4.0.0", **changed), stand_ins.torch(calls)
    )
    assert why_not("triton_cached", 5).startswith("the launcher of Triton 4.0.0 is not known: ")
    assert reason in why_not("triton_cached", 5)
    made("triton_jit", 5)  # which needs none of that


# Missing, broken, too old, without a device or a compiler


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("cuda_core", "cuda.core", "cuda1[23]"),
        ("cupy_raw_kernel", "cupy", "cuda1[23]"),
        ("numba", "numba_cuda", "cuda1[23]"),
        ("triton_cached", "triton", "models"),
        ("triton_jit", "triton", "models"),
    ],
)
def test_a_package_that_is_missing(monkeypatch: Patch, name: str, package: str, extra: str) -> None:
    install_all(monkeypatch, [])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Skip, match=rf"^{package} is not installed: .*\[{extra}\]'$"):
        made(name)


@pytest.mark.parametrize(
    ("name", "package"),
    [("cupy_raw_kernel", "cupy"), ("numba", "numba_cuda"), ("triton_jit", "triton")],
)
def test_a_package_that_breaks_on_import(
    tmp_path: Path, monkeypatch: Patch, name: str, package: str
) -> None:
    install_all(monkeypatch, [])
    monkeypatch.delitem(sys.modules, package)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{package}.py").write_text("raise OSError('libsomething.so.13 is missing')\n")
    with pytest.raises(BrokenPackageError, match=f"^{package} cannot be imported: OSError: lib"):
        made(name)


@pytest.mark.parametrize(
    ("name", "package", "version"),
    [
        ("cuda_core", "cuda.core", "0.2.0"),
        ("cupy_raw_kernel", "cupy", "12.3.0"),
        ("numba", "numba_cuda", "0.4.0"),
        ("numba", "numba", "0.59.1"),
        ("triton_cached", "triton", "3.4.0"),
        ("triton_jit", "triton", "3.4.0"),
    ],
)
def test_a_package_that_is_too_old(
    monkeypatch: Patch, name: str, package: str, version: str
) -> None:
    install_all(monkeypatch, [])
    monkeypatch.setattr(sys.modules[package], "__version__", version)
    assert why_not(name).startswith(f"{package} {version} is too old: ")


def test_cuda_core_without_a_driver(monkeypatch: Patch) -> None:
    broken = stand_ins.failing(RuntimeError('"cuda" is an NVIDIA driver library\nand more'))
    core = stand_ins.cuda_core([], Device=broken)
    stand_ins.install(monkeypatch, stand_ins.module("cuda.core", **core))
    assert why_not("cuda_core") == (
        'cuda.core 1.2.2 can use no CUDA device here: RuntimeError: "cuda" is an NVIDIA driver '
        "library"
    )


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        (lambda: 0, "its runtime finds none"),
        (stand_ins.failing(RuntimeError("cudaErrorInsufficientDriver")), "RuntimeError: cudaErr"),
    ],
)
def test_cupy_without_a_device(monkeypatch: Patch, count: Callable[[], int], reason: str) -> None:
    runtime = types.SimpleNamespace(getDeviceCount=count)
    cuda = types.SimpleNamespace(runtime=runtime)
    stand_ins.install(monkeypatch, stand_ins.cupy([], cuda=cuda))
    assert why_not("cupy_raw_kernel").startswith(
        f"cupy 14.2.0 can use no CUDA device here: {reason}"
    )


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("\nCUDA driver library\ncannot be found.\n", "CUDA driver library cannot be found."),
        (None, "its compiler libNVVM cannot be used"),
    ],
)
def test_numba_without_a_device(monkeypatch: Patch, why: str | None, reason: str) -> None:
    stand_ins.install(monkeypatch, *stand_ins.numba([], available=False, why=why))
    assert why_not("numba") == f"numba_cuda 0.30.4 can use no CUDA device here: {reason}"


def test_a_device_that_numba_only_imitates_is_skipped(monkeypatch: Patch) -> None:
    stand_ins.install(monkeypatch, *stand_ins.numba([], simulated=True))
    assert why_not("numba").startswith("NUMBA_ENABLE_CUDASIM is set: ")


def test_triton_without_a_device(monkeypatch: Patch) -> None:
    stand_ins.install(monkeypatch, stand_ins.triton([]), stand_ins.torch([], available=False))
    assert "cannot use a CUDA device here" in why_not("triton_jit")


def test_triton_without_a_compiler(monkeypatch: Patch) -> None:
    install_all(monkeypatch, [])
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert why_not("triton_cached").startswith("Triton needs a C compiler for its launchers")


def test_a_kernel_that_triton_only_interprets_is_skipped(monkeypatch: Patch) -> None:
    install_all(monkeypatch, [])
    monkeypatch.setattr(sys.modules["triton"], "jit", lambda function: function)
    assert why_not("triton_jit").startswith("TRITON_INTERPRET is set: ")


@pytest.mark.parametrize("name", LAUNCHING)
def test_a_launch_that_fails_is_one_line(monkeypatch: Patch, name: str) -> None:
    install_all(monkeypatch, [])
    error = RuntimeError("no kernel image\nis available")
    monkeypatch.setattr(stand_ins, "noting", lambda *_: stand_ins.failing(error))
    broken: Calls = []
    stand_ins.install(
        monkeypatch,
        stand_ins.module("cuda.core", **stand_ins.cuda_core(broken)),
        stand_ins.cupy(broken),
        *stand_ins.numba(broken),
        stand_ins.triton(broken),
        stand_ins.torch(broken),
    )
    with pytest.raises((PreparationError, Skip), match=r"RuntimeError: no kernel image$"):
        made(name)


@needs_cuda
@pytest.mark.parametrize(("version", "extra"), [("12.4", "cuda12"), ("13.0", "cuda13")])
def test_the_extra_that_is_named_fits_the_driver(
    monkeypatch: Patch, fake_cuda_path: Callable[[str], Path], version: str, extra: str
) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda_path(version)))
    assert cuda_extra() == extra


def test_without_a_driver_the_newest_is_named(monkeypatch: Patch) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", "/nonexistent")
    assert cuda_extra() == "cuda13"
