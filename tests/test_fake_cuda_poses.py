"""The fake driver poses as several drivers and machines, and lives in several processes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from ctypes import c_int, c_uint, c_void_p
from pathlib import Path

import pytest
from fake_cuda import FakeCuda
from fake_cuda.build import SINCE, VERSIONS
from fake_cuda.client import (
    Client,
    DriverError,
    Session,
)

INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, STUB = 1, 2, 3, 34
UNAVAILABLE, NO_DEVICE, INVALID_DEVICE = 46, 100, 101
INVALID_CONTEXT, INVALID_PTX, UNSUPPORTED_PTX = 201, 218, 222
INVALID_HANDLE, NOT_FOUND, NOT_SUPPORTED = 400, 500, 801
ILLEGAL_ADDRESS, ACTIVE, DESTROYED, LAUNCH_FAILED = 700, 708, 709, 719


@pytest.fixture
def session(fake_cuda: FakeCuda) -> Iterator[Session]:
    session = Session(fake_cuda)
    yield session
    session.close()


@pytest.mark.parametrize("fake_cuda", VERSIONS, indirect=True)
def test_symbols_are_hidden_from_older_drivers(fake_cuda: FakeCuda) -> None:
    version = c_int()
    assert fake_cuda.driver.cuDriverGetVersion(ctypes.byref(version)) == 0
    assert version.value in VERSIONS.values()
    for function, since in SINCE.items():
        assert hasattr(fake_cuda.driver, function) == (since <= version.value), function


def test_stub_library_answers_every_call_alike(fake_cuda_path: Callable[[str], Path]) -> None:
    stub = FakeCuda(fake_cuda_path("stub")).driver
    assert [stub.cuInit(0), stub.cuDriverGetVersion(None), stub.cuCtxSynchronize()] == [STUB] * 3


@pytest.mark.parametrize(
    ("visible", "result", "count"),
    [("", NO_DEVICE, 0), ("-1", NO_DEVICE, 0), ("1", 0, 1), ("1,0,7,0", 0, 2)],
)
def test_visible_devices(
    fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, visible: str, result: int, count: int
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    fake_cuda.configure(initialized=0, devices=2)
    assert fake_cuda.driver.cuInit(0) == result
    found = c_int()
    if result == 0:
        assert fake_cuda.driver.cuDeviceGetCount(ctypes.byref(found)) == 0
        name = ctypes.create_string_buffer(32)
        assert fake_cuda.driver.cuDeviceGetName(name, 32, 0) == 0
        assert name.value == b"Fake GPU 1"
        assert fake_cuda.driver.cuDeviceGet(ctypes.byref(found), count) == INVALID_DEVICE
        assert fake_cuda.driver.cuDeviceGetCount(ctypes.byref(found)) == 0
    assert found.value == count
    fake_cuda.configure(initialized=0)


@pytest.mark.parametrize(("mode", "busy", "result"), [(2, 0, UNAVAILABLE), (3, 1, UNAVAILABLE)])
def test_compute_modes(fake_cuda: FakeCuda, mode: int, busy: int, result: int) -> None:
    fake_cuda.configure(compute_mode=mode, busy=busy)
    with pytest.raises(DriverError, match=f"cuDevicePrimaryCtxRetain returned {result}"):
        Client(fake_cuda)
    fake_cuda.configure(compute_mode=3, busy=0)
    Client(fake_cuda).close()


@pytest.mark.parametrize("fake_cuda", ["12.0", "12.4"], indirect=True)
def test_flags_of_a_live_context_change_from_12_1_on(fake_cuda: FakeCuda) -> None:
    client = Client(fake_cuda)
    live = fake_cuda.cost("driver_version") >= 12010
    result = client.call("cuDevicePrimaryCtxSetFlags_v2", 0, c_uint(4))
    flags, active = c_uint(), c_int()
    client.ok("cuDevicePrimaryCtxGetState", 0, ctypes.byref(flags), ctypes.byref(active))
    client.close()
    assert (result, flags.value, active.value) == ((0, 4, 1) if live else (ACTIVE, 0, 1))


@pytest.mark.parametrize(
    ("fake_cuda", "cc", "result"),
    [("11.4", 90, UNSUPPORTED_PTX), ("13.0", 80, INVALID_PTX), ("13.0", 90, 0)],
    indirect=["fake_cuda"],
)
def test_newer_ptx_needs_driver_and_device(fake_cuda: FakeCuda, cc: int, result: int) -> None:
    fake_cuda.configure(cc=cc)
    client = Client(fake_cuda)
    if result == 0:
        module = client.module("dependent")
        assert client.function(module, "ftax_dependent").value
        client.ok("cuModuleUnload", module)
    else:
        with pytest.raises(DriverError, match=f"returned {result}"):
            client.module("dependent")
    client.close()


def test_entries_are_looked_up_in_the_text(session: Session) -> None:
    out = c_void_p()
    get = (ctypes.byref(out), session.floor)
    assert session.call("cuModuleGetFunction", *get, b"ftax_dependent") == NOT_FOUND
    bad = (ctypes.byref(out), b"nonsense", 0, None, None)
    assert session.call("cuModuleLoadDataEx", *bad) == INVALID_PTX


SCRIPT = """
import os, sys, threading
sys.path.insert(0, {tests!r})
from fake_cuda import FakeCuda
from fake_cuda.client import Session
fake = FakeCuda({path!r})
session = Session(fake)
"""


def run_script(path: Path, tail: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = SCRIPT.format(tests=str(Path(__file__).parent), path=str(path)) + tail
    command = [sys.executable, "-c", code]
    full = {**os.environ, **environment}
    return subprocess.run(command, env=full, capture_output=True, text=True, timeout=60)


def test_a_process_leaves_while_a_kernel_hangs(fake_cuda: FakeCuda) -> None:
    tail = """
fake.hang()
session.launch(session.null, session.stream)
threading.Thread(target=session.sync, daemon=True).start()
os._exit(7)
"""
    assert run_script(fake_cuda.path, tail).returncode == 7


def test_leaks_and_misuse_are_reported_at_exit(fake_cuda: FakeCuda) -> None:
    done = run_script(fake_cuda.path, "session.call('cuMemFree_v2', 1)")
    assert done.returncode == 0
    assert "fake_cuda: leak: stream" in done.stderr
    assert "fake_cuda: misuse: cuMemFree_v2" in done.stderr
    assert run_script(fake_cuda.path, "session.close()").stderr == ""


def test_settings_come_from_the_environment(fake_cuda: FakeCuda) -> None:
    settings = "submit_ns=77000,fail=cuStreamQuery:1:719,nonsense=1"
    tail = """
assert fake.cost("submit_ns") == 77000
assert session.call("cuStreamQuery", session.stream) == 719
session.close()
"""
    done = run_script(fake_cuda.path, tail, FAKE_CUDA=settings)
    assert done.returncode == 0, done.stderr
    assert "not a setting of the fake driver: nonsense=1" in done.stderr


def test_a_forked_child_has_no_driver(fake_cuda: FakeCuda) -> None:
    tail = f"""
child = os.fork()
if child == 0:
    os._exit(17 if session.call("cuStreamSynchronize", session.stream) == {NOT_INITIALIZED} else 1)
status = os.waitpid(child, 0)[1]
session.close()
sys.exit(os.WEXITSTATUS(status))
"""
    assert run_script(fake_cuda.path, tail, PYTHONWARNINGS="ignore").returncode == 17
