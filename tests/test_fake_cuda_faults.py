"""The fake driver refuses wrong use, lists what leaks, and fails where it is told to."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from ctypes import c_int, c_size_t, c_uint32, c_uint64, c_void_p

import pytest
from fake_cuda import FakeCuda
from fake_cuda.client import (
    Client,
    DriverError,
    Session,
    elapsed_ns,
    pack,
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


@pytest.fixture
def careless(fake_cuda: FakeCuda) -> Iterator[Session]:
    """A session that need not be tidy."""
    yield Session(fake_cuda)
    fake_cuda.reset()


def launch_without_arguments(s: Session) -> int:
    return s.call("cuLaunchKernel", s.store, 1, 1, 1, 1, 1, 1, 0, s.stream, None, None)


def launch_at(s: Session, where: int) -> int:
    arguments = pack((c_uint64(where), c_uint32(1)))
    return s.call("cuLaunchKernel", s.store, 1, 1, 1, 1, 1, 1, 0, s.stream, arguments, None)


def launch_after_unload(s: Session) -> int:
    s.ok("cuModuleUnload", s.floor)
    return s.call("cuLaunchKernel", s.null, 1, 1, 1, 1, 1, 1, 0, s.stream, None, None)


def launch_after_free(s: Session) -> int:
    where = s.at(0).value
    s.free(s.word)
    return launch_at(s, where)


def free_twice(s: Session) -> int:
    memory = s.handle("cuMemAlloc_v2", c_size_t(64))
    s.ok("cuMemFree_v2", memory)
    return s.call("cuMemFree_v2", memory)


def use_destroyed_stream(s: Session) -> int:
    s.ok("cuStreamDestroy_v2", s.stream)
    return s.call("cuStreamSynchronize", s.stream)


def use_no_context(s: Session) -> int:
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(s.call("cuCtxSynchronize")))
    thread.start()
    thread.join()
    return results[0]


def use_another_context(s: Session) -> int:
    other = s.handle("cuDevicePrimaryCtxRetain", 1)
    s.ok("cuCtxPushCurrent_v2", other)
    return s.call("cuStreamSynchronize", s.stream)


def call_before_init(s: Session) -> int:
    s.fake.configure(initialized=0)
    return s.call("cuDeviceGet", ctypes.byref(c_int()), 0)


def release_too_often(s: Session) -> int:
    s.call("cuDevicePrimaryCtxRelease_v2", 0)
    s.fake.reset()
    return s.call("cuDevicePrimaryCtxRelease_v2", 0)


def too_large_a_block(s: Session) -> int:
    return s.call("cuLaunchKernel", s.null, 1, 1, 1, 2048, 1, 1, 0, s.stream, None, None)


MISUSE: dict[Callable[[Session], int], tuple[int, str]] = {
    launch_without_arguments: (INVALID_VALUE, "no arguments for ftax_store"),
    lambda s: launch_at(s, 64): (ILLEGAL_ADDRESS, "4 bytes at 0x40 are not allocated"),
    launch_after_unload: (INVALID_HANDLE, "not a live function (already destroyed"),
    launch_after_free: (ILLEGAL_ADDRESS, "are not allocated"),
    free_twice: (INVALID_VALUE, "not a live device allocation"),
    use_destroyed_stream: (INVALID_HANDLE, "not a live stream (already destroyed"),
    use_no_context: (INVALID_CONTEXT, "no context is current in this thread"),
    use_another_context: (INVALID_CONTEXT, "belongs to another context"),
    call_before_init: (NOT_INITIALIZED, "called before cuInit"),
    release_too_often: (INVALID_CONTEXT, "released more often than retained"),
    too_large_a_block: (INVALID_VALUE, "larger than the device's"),
}


@pytest.mark.parametrize("wrong", MISUSE, ids=lambda f: f.__name__)
def test_wrong_use_is_refused_and_noted(careless: Session, wrong: Callable[[Session], int]) -> None:
    careless.fake.configure(devices=2, initialized=0)
    assert careless.call("cuInit", 0) == 0
    result, text = MISUSE[wrong]
    assert wrong(careless) == result
    assert any(text in line for line in careless.fake.misuse())


def test_allocating_and_loading_while_a_stream_is_held_is_noted(careless: Session) -> None:
    kernel = careless.function(careless.floor, "ftax_null_8")
    with careless.held():
        careless.ok("cuMemFree_v2", 0)
        assert careless.fake.misuse() == []
        careless.handle("cuMemAlloc_v2", c_size_t(4))
        careless.module()
        careless.launch(kernel, careless.stream, c_uint64(0))  # loads the kernel
    held = [line.split(":")[0] for line in careless.fake.misuse() if "is held" in line]
    assert held == ["cuMemAlloc_v2", "cuModuleLoadData", "cuLaunchKernel"]


def test_leaks_are_listed_until_given_back(fake_cuda: FakeCuda) -> None:
    session = Session(fake_cuda)
    kinds = [line.rsplit(" ", 1)[0] for line in fake_cuda.leaks()]
    session.close()
    assert kinds[:2] == ["stream", "module"]
    assert len(kinds) == 4
    assert fake_cuda.leaks() == []


def test_nth_call_fails_and_the_next_does_not(session: Session) -> None:
    session.fake.fail("cuMemAlloc_v2", 2, OUT_OF_MEMORY)
    session.ok("cuMemFree_v2", session.handle("cuMemAlloc_v2", c_size_t(4)))
    with pytest.raises(DriverError, match=f"cuMemAlloc_v2 returned {OUT_OF_MEMORY}"):
        session.handle("cuMemAlloc_v2", c_size_t(4))
    session.ok("cuMemFree_v2", session.handle("cuMemAlloc_v2", c_size_t(4)))


def test_a_failing_release_still_releases(session: Session) -> None:
    memory = session.handle("cuMemAlloc_v2", c_size_t(4))
    session.fake.fail("cuMemFree_v2", 1, LAUNCH_FAILED)
    assert session.call("cuMemFree_v2", memory) == LAUNCH_FAILED


def test_a_sticky_error_lasts_until_the_context_goes(session: Session) -> None:
    session.set(0, 0)
    session.hold()
    session.fake.fail("*", 3, ILLEGAL_ADDRESS, sticky=True)
    calls = [session.call("cuStreamQuery", session.stream) for _ in range(5)]
    assert calls[2:] == [ILLEGAL_ADDRESS] * 3
    with pytest.raises(DriverError):
        session.close()
    for release in (("cuModuleUnload", session.floor), ("cuStreamDestroy_v2", session.stream)):
        assert session.call(*release) == ILLEGAL_ADDRESS
    assert session.call("cuMemFreeHost", c_void_p(session.at(0).value)) == ILLEGAL_ADDRESS
    Client.close(session)
    assert session.fake.leaks() == []
    Session.__init__(session, session.fake)


def test_calls_are_counted_and_slowed(session: Session) -> None:
    before = session.fake.calls("cuStreamQuery")
    session.fake.slow("cuStreamQuery", 2, 3_000_000)
    slow = [elapsed_ns(lambda: session.call("cuStreamQuery", session.stream)) for _ in range(2)]
    assert slow[1] >= 3_000_000
    assert session.fake.calls("cuStreamQuery") == before + 2
    assert session.fake.all_calls()["cuStreamQuery"] == before + 2
    assert session.fake.calls() == sum(session.fake.all_calls().values())


def test_a_hung_kernel_can_be_abandoned(careless: Session) -> None:
    careless.fake.hang("ftax_hold", 2)
    careless.hold(deadline_ns=1)
    careless.sync()
    careless.hold(deadline_ns=1)
    assert careless.call("cuStreamQuery", careless.stream) == 600
    results: list[int] = []
    waiting = threading.Thread(
        target=lambda: results.append(
            careless.call("cuCtxSetCurrent", careless.context)
            or careless.call("cuStreamSynchronize", careless.stream)
        )
    )
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    careless.fake.reset()
    waiting.join()
    assert results == [DESTROYED]
