"""The fake runtime launches through the fake driver."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import c_size_t, c_uint, c_void_p
from pathlib import Path

import pytest
from fake_cuda import FakeCuda
from fake_cuda.build import Builder
from fake_cuda.client import (
    Session,
    elapsed_ns,
)

LAUNCH_FAILED = 719


@pytest.fixture
def session(fake_cuda: FakeCuda) -> Iterator[Session]:
    session = Session(fake_cuda)
    yield session
    session.close()


class Dim3(ctypes.Structure):
    """The runtime's dim3, passed by value."""

    _fields_ = (("x", c_uint), ("y", c_uint), ("z", c_uint))


def load_runtime(runtime: ctypes.CDLL) -> tuple[c_void_p, c_void_p]:
    library, kernel = c_void_p(), c_void_p()
    text = (Path(__file__).parents[1] / "csrc" / "kernels" / "floor.ptx").read_bytes()
    options = (None, None, c_uint(0), None, None, c_uint(0))
    assert runtime.cudaLibraryLoadData(ctypes.byref(library), text, *options) == 0
    assert runtime.cudaLibraryGetKernel(ctypes.byref(kernel), library, b"ftax_null") == 0
    return library, kernel


def test_runtime_launches_through_the_driver(session: Session, fake_cuda_runtime: Path) -> None:
    runtime = ctypes.CDLL(str(fake_cuda_runtime))
    library, kernel = load_runtime(runtime)
    one = Dim3(1, 1, 1)

    def launch(function: c_void_p) -> int:
        return int(runtime.cudaLaunchKernel(function, one, one, None, c_size_t(0), session.stream))

    assert elapsed_ns(lambda: launch(kernel)) >= session.fake.cost("submit_runtime_ns")
    ns = session.device_ns(lambda: launch(kernel))
    assert ns == session.fake.cost("spacing_ns")
    session.fake.fail("fake_cuda_runtime_launch", 1, LAUNCH_FAILED)
    assert launch(kernel) == LAUNCH_FAILED
    assert [runtime.cudaGetLastError(), runtime.cudaGetLastError()] == [LAUNCH_FAILED, 0]
    assert runtime.cudaLibraryUnload(library) == 0


@pytest.mark.parametrize("fake_cuda", ["11.4"], indirect=True)
def test_runtime_needs_a_driver_of_its_major(fake_cuda: FakeCuda, fake_cuda_runtime: Path) -> None:
    runtime = ctypes.CDLL(str(fake_cuda_runtime))
    assert runtime.cudaFree(None) == 35
    runtime.cudaGetErrorName.restype = ctypes.c_char_p
    assert runtime.cudaGetErrorName(35) == b"cudaErrorInsufficientDriver"


def test_an_old_runtime_lacks_libraries(fake_cuda_builder: Builder) -> None:
    old = ctypes.CDLL(str(fake_cuda_builder.runtime("12.4", library_calls=False)))
    assert hasattr(old, "cudaLaunchKernel")
    assert not hasattr(old, "cudaLibraryLoadData")
