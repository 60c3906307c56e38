"""Streams of the fake driver: spacing, queues, copies, and order between streams."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from ctypes import c_size_t, c_ubyte, c_uint, c_uint32, c_uint64, c_void_p

import pytest
from fake_cuda import FakeCuda
from fake_cuda.client import (
    Session,
    address,
    elapsed_ns,
)


@pytest.fixture
def session(fake_cuda: FakeCuda) -> Iterator[Session]:
    session = Session(fake_cuda)
    yield session
    session.close()


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig; `attribute` is its only launch attribute: id, padding, value."""

    _fields_ = (
        ("sizes", c_uint * 7),
        ("stream", c_void_p),
        ("attributes", c_void_p),
        ("count", c_uint),
    )


def launch_ex(s: Session, attribute: int | None = None) -> None:
    cell = (c_uint32 * 18)(attribute or 0, 0, 1)
    sizes = (c_uint * 7)(1, 1, 1, 1, 1, 1, 0)
    config = LaunchConfig(sizes, s.stream, address(cell), int(attribute is not None))
    s.ok("cuLaunchKernelEx", ctypes.byref(config), s.null, None, None)


@pytest.mark.parametrize("count", [1, 7, 40])
def test_queued_kernels_are_a_spacing_apart(session: Session, count: int) -> None:
    def work() -> None:
        for _ in range(count):
            session.launch(session.null, session.stream)

    assert session.device_ns(work) == count * session.fake.cost("spacing_ns")


def test_dependent_launches_are_closer(session: Session) -> None:
    fake = session.fake

    def work() -> None:
        launch_ex(session, 6)
        launch_ex(session, 6)

    pair = session.device_ns(work)
    assert pair == 2 * (fake.cost("gap_dependent_ns") + fake.cost("body_ns"))


@pytest.mark.parametrize(
    ("kernel", "argument", "body_ns"),
    [("ftax_spin", 30_000, 20_000), ("ftax_spin_ns", 20_500, 21_000), ("ftax_spin_ns", 0, 0)],
)
def test_spinning_kernels_take_their_time(
    session: Session, kernel: str, argument: int, body_ns: int
) -> None:
    spin = session.function(session.floor, kernel)
    session.launch(spin, session.stream, c_uint64(0))
    ns = session.device_ns(lambda: session.launch(spin, session.stream, c_uint64(argument)))
    assert ns == session.fake.cost("spacing_ns") + body_ns


def test_copies_and_sets_move_bytes(session: Session) -> None:
    fake, stream, four = session.fake, session.stream, c_size_t(4)
    on_device = session.handle("cuMemAlloc_v2", c_size_t(8))
    back = session.words(2)
    session.set(0, 0x01020304)
    session.ok("cuMemcpyHtoDAsync_v2", on_device, session.at(0), four, stream)
    session.ok("cuMemcpyDtoHAsync_v2", c_void_p(address(back)), on_device, four, stream)
    session.sync()
    assert back[0] == 0x01020304
    session.ok("cuMemsetD32Async", on_device, c_uint(77), c_size_t(2), stream)
    pageable = (c_uint32 * 2)()
    session.ok("cuMemcpyDtoHAsync_v2", pageable, on_device, c_size_t(8), stream)
    assert list(pageable) == [77, 77]
    least = fake.cost("h2d_submit_ns") + fake.cost("pageable_h2d_ns") + fake.cost("h2d_copy_ns")
    pageable[0] = 5
    assert elapsed_ns(lambda: session.ok("cuMemcpyHtoD_v2", on_device, pageable, four)) >= least
    session.ok("cuMemcpyDtoH_v2", c_void_p(address(back)), on_device, four)
    assert back[0] == 5
    session.free(back)
    session.ok("cuMemFree_v2", on_device)


def test_device_time_of_copies_and_sets(session: Session) -> None:
    fake, stream, gap = session.fake, session.stream, session.fake.cost("gap_ns")
    on_device = session.handle("cuMemAlloc_v2", c_size_t(4))
    word = c_void_p(address(session.word) + 4)
    for name, arguments, cost in (
        ("cuMemcpyHtoDAsync_v2", (on_device, word, c_size_t(4)), "h2d_copy_ns"),
        ("cuMemcpyDtoHAsync_v2", (word, on_device, c_size_t(4)), "d2h_copy_ns"),
        ("cuMemsetD8Async", (on_device, 1, c_size_t(4)), "memset_ns"),
    ):
        ns = session.device_ns(lambda n=name, a=arguments: session.ok(n, *a, stream))  # type: ignore[misc]
        assert ns == gap + fake.cost(cost)
    session.ok("cuMemFree_v2", on_device)


def test_a_launch_onto_a_full_queue_blocks(session: Session) -> None:
    session.fake.configure(knee=8)
    spin = session.function(session.floor, "ftax_spin_ns")
    session.launch(spin, session.stream, c_uint64(0))
    session.sync()
    begin = time.perf_counter_ns()
    session.launch(spin, session.stream, c_uint64(500_000_000))
    for _ in range(8):
        session.launch(session.null, session.stream)
    assert time.perf_counter_ns() - begin < 500_000_000
    session.launch(session.null, session.stream)
    assert time.perf_counter_ns() - begin >= 500_000_000


def test_argument_bytes_fill_the_queue_too(session: Session) -> None:
    session.fake.configure(knee_bytes=3000)
    spin = session.function(session.floor, "ftax_spin_ns")
    kernel = session.function(session.floor, "ftax_null_1024")
    big = (c_ubyte * 1024)()
    session.launch(kernel, session.stream, big)
    session.launch(spin, session.stream, c_uint64(0))
    session.sync()
    begin = time.perf_counter_ns()
    session.launch(spin, session.stream, c_uint64(500_000_000))
    session.launch(kernel, session.stream, big)
    session.launch(kernel, session.stream, big)
    assert time.perf_counter_ns() - begin < 500_000_000
    session.launch(kernel, session.stream, big)
    assert time.perf_counter_ns() - begin >= 500_000_000


def test_streams_run_side_by_side_and_wait_for_events(session: Session) -> None:
    other = session.handle("cuStreamCreate", c_uint(1))
    event, after = (session.handle("cuEventCreate", c_uint(0)) for _ in range(2))
    with session.held():
        session.ok("cuEventRecord", event, session.stream)
        session.launch(session.null, other)
        session.ok("cuStreamSynchronize", other)  # not behind the hold
        session.ok("cuStreamWaitEvent", other, event, c_uint(0))
        session.launch(session.null, other)
        session.ok("cuEventRecord", after, other)
    session.ok("cuStreamSynchronize", other)
    assert session.event_ns(event, after) == session.fake.cost("spacing_ns")
    for handle in (event, after):
        session.ok("cuEventDestroy_v2", handle)
    session.ok("cuStreamDestroy_v2", other)
