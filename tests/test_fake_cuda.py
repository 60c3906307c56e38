"""The fake driver charges what it says and its kernels do what the real ones do.

Only ctypes stands between these tests and the fake, so that they hold whatever the extension does.
Costs are asserted as lower bounds, which are exact by construction, or on the device's own
timeline, which the fake works out and no scheduler can disturb.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from ctypes import c_size_t, c_ubyte, c_uint, c_uint32, c_uint64, c_void_p

import pytest
from fake_cuda import FakeCuda, keys
from fake_cuda.client import (
    KERNELS,
    NOT_READY,
    Session,
    address,
    elapsed_ns,
)

YIELD, BLOCKING = 2, 4


@pytest.fixture
def session(fake_cuda: FakeCuda) -> Iterator[Session]:
    session = Session(fake_cuda)
    yield session
    session.close()


def test_every_cost_differs_and_is_long_enough_to_hide_a_wake_up() -> None:
    small = {"poll_ns", "gap_dependent_ns", "globaltimer_ns", "submit_kib_ns"}
    costs = {k: v for k, v in keys().items() if k.endswith("_ns") and k not in small}
    per_node = {k: v for k, v in costs.items() if k.endswith("_node_ns") and k[0] == "g"}
    assert len(set(costs.values())) == len(costs)
    assert all(v >= 20_000 for k, v in costs.items() if k not in per_node)


def test_settings_are_read_back_and_unknown_ones_refused(fake_cuda: FakeCuda) -> None:
    fake_cuda.configure(submit_ns=51_000, gap_ns=30_000)
    assert fake_cuda.cost("submit_ns") == 51_000
    assert fake_cuda.cost("spacing_ns") == 30_000 + keys()["body_ns"]
    assert fake_cuda.cost("poll_ns") == fake_cuda.cost("h2d_ns") + fake_cuda.cost("d2h_ns")
    for wrong in ({"submit": 1}, {"submit_ns": "fast"}, {"fail": "cuInit:1"}):
        with pytest.raises(ValueError, match="not a setting"):
            fake_cuda.configure(**wrong)
    with pytest.raises(KeyError):
        fake_cuda.cost("submit")


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


CALLS: dict[str, Callable[[Session], None]] = {
    "submit_ns": lambda s: s.launch(s.null, s.stream),
    "submit_ex_ns": launch_ex,
    "submit_dependent_ns": lambda s: launch_ex(s, 6),
    "submit_cooperative_ns": lambda s: s.ok(
        "cuLaunchCooperativeKernel", s.null, 1, 1, 1, 1, 1, 1, 0, s.stream, None
    ),
    "stream_sync_idle_ns": lambda s: s.sync(),
    "ctx_sync_idle_ns": lambda s: s.ok("cuCtxSynchronize"),
    "query_ns": lambda s: s.ok("cuStreamQuery", s.stream),
    "memset_submit_ns": lambda s: s.ok("cuMemsetD8Async", s.at(0), 0, c_size_t(4), s.stream),
    "jit_ns": lambda s: s.ok("cuModuleUnload", s.module()),
}


@pytest.mark.parametrize("cost", CALLS)
def test_a_call_takes_at_least_its_cost(session: Session, cost: str) -> None:
    assert elapsed_ns(lambda: CALLS[cost](session)) >= session.fake.cost(cost)
    session.sync()


def test_argument_bytes_cost_what_is_configured(session: Session) -> None:
    session.fake.configure(submit_kib_ns=100_000)
    kernel = session.function(session.floor, "ftax_null_4096")
    big = (c_ubyte * 4096)()
    session.launch(kernel, session.stream, big)
    assert elapsed_ns(lambda: session.launch(kernel, session.stream, big)) >= 440_000


def test_compiling_loading_and_first_launch_are_charged_apart(session: Session) -> None:
    fake, ptx = session.fake, (KERNELS / "floor.ptx").read_bytes() + b"\0"
    linker, cubin, size = c_void_p(), c_void_p(), c_size_t()
    session.ok("cuLinkCreate_v2", 0, None, None, ctypes.byref(linker))
    text = (linker, 1, ptx, c_size_t(len(ptx)), b"floor", 0, None, None)
    assert elapsed_ns(lambda: session.ok("cuLinkAddData_v2", *text)) >= fake.cost("jit_ns")
    session.ok("cuLinkComplete", linker, ctypes.byref(cubin), ctypes.byref(size))
    fake.configure(jit_ns=60_000_000_000, first_launch_ns=1_000_000_000)  # a minute would show
    begin = time.perf_counter_ns()
    module = session.handle("cuModuleLoadData", cubin)
    elapsed = time.perf_counter_ns() - begin
    assert fake.cost("module_load_ns") <= elapsed < fake.cost("jit_ns")
    session.ok("cuLinkDestroy", linker)
    kernel = session.function(module, "ftax_null")
    first = fake.cost("submit_ns") + fake.cost("first_launch_ns")
    assert elapsed_ns(lambda: session.launch(kernel, session.stream)) >= first
    assert elapsed_ns(lambda: session.launch(kernel, session.stream)) < first
    session.ok("cuModuleUnload", module)


def seen_by_host(s: Session) -> int:
    """Nanoseconds from the call that launches ftax_store until the host sees the stored word."""
    s.set(0, 0)
    begin = time.perf_counter_ns()
    s.launch(s.store, s.stream, s.at(0), c_uint32(9))
    while s.word[0] != 9:
        pass
    return time.perf_counter_ns() - begin


def test_store_is_seen_after_submit_start_and_one_leg(session: Session) -> None:
    fake = session.fake
    fake.configure(active_window_ns=10_000_000_000)
    assert seen_by_host(session) >= fake.cost("to_start_active_ns") + fake.cost("d2h_ns")
    session.sync()
    fake.configure(active_window_ns=0)
    time.sleep(0.001)
    assert seen_by_host(session) >= fake.cost("to_start_idle_ns") + fake.cost("d2h_ns")
    session.sync()


@pytest.mark.parametrize(
    ("flags", "cost"),
    [(0, "sync_spin_ns"), (YIELD, "sync_yield_ns"), (BLOCKING, "sync_blocking_ns")],
)
def test_released_hold_ends_a_leg_and_a_sync_later(
    fake_cuda: FakeCuda, flags: int, cost: str
) -> None:
    session = Session(fake_cuda, flags=flags)
    effective = c_uint()
    session.ok("cuCtxGetFlags", ctypes.byref(effective))
    session.set(0, 0)
    session.hold()
    begin = time.perf_counter_ns()
    session.set(0, 1)
    session.sync()
    elapsed = time.perf_counter_ns() - begin
    session.close()
    assert effective.value == flags
    assert elapsed >= fake_cuda.cost("h2d_ns") + fake_cuda.cost(cost)


def test_hold_tells_how_it_ended(session: Session) -> None:
    with session.held():
        pass
    assert session.word[1] == 1
    session.set(0, 0)
    begin = time.perf_counter_ns()
    session.hold(deadline_ns=3_000_000)
    session.sync()
    assert time.perf_counter_ns() - begin >= 3_000_000
    assert session.word[1] == 2


def test_polled_reads_are_a_poll_period_apart(session: Session) -> None:
    session.fake.configure(poll_ns=400_000_000)
    session.set(0, 0)
    begin = time.perf_counter_ns()
    session.hold(deadline_ns=100_000_000)
    session.sync()
    # The first read, at the start, is before the deadline; the second is a period later.
    assert time.perf_counter_ns() - begin >= 400_000_000
    assert session.word[1] == 2


def test_waiting_by_event(session: Session) -> None:
    fake = session.fake
    blocking = session.handle("cuEventCreate", c_uint(1 | 2))
    session.set(0, 0)
    session.hold()
    session.ok("cuEventRecord", blocking, session.stream)
    assert session.call("cuEventQuery", blocking) == NOT_READY
    begin = time.perf_counter_ns()
    session.set(0, 1)
    while session.call("cuEventQuery", blocking) == NOT_READY:
        pass
    assert time.perf_counter_ns() - begin >= fake.cost("h2d_ns") + fake.cost("sync_query_ns")
    begin = time.perf_counter_ns()
    session.ok("cuEventRecord", blocking, session.stream)
    session.ok("cuEventSynchronize", blocking)
    parts = ("event_record_ns", "start_active_ns", "sync_blocking_ns")
    assert time.perf_counter_ns() - begin >= sum(fake.cost(part) for part in parts)
    assert elapsed_ns(lambda: session.ok("cuEventSynchronize", blocking)) >= fake.cost(
        "event_sync_idle_ns"
    )
    session.ok("cuEventDestroy_v2", blocking)


def test_round_trip_reads_cost_both_legs(session: Session) -> None:
    session.fake.configure(clock_mhz=1000, globaltimer_ns=32)
    count = 5
    results = (c_uint64 * (count + 2))()
    on_device = session.handle("cuMemAlloc_v2", c_size_t(ctypes.sizeof(results)))
    assert on_device.value is not None
    cells = on_device.value
    kernel = session.function(session.floor, "ftax_round_trip")
    arguments = (c_uint32(count), c_uint64(cells), c_uint64(cells + 8 * count))
    session.launch(kernel, session.stream, session.at(0), *arguments)
    session.ok("cuMemcpyDtoHAsync_v2", results, on_device, c_size_t(56), session.stream)
    session.ok("cuMemFree_v2", on_device)
    one = session.fake.cost("round_trip_ns")
    assert list(results[: count + 1]) == [one] * count + [count * one]
    assert abs(results[count + 1] - count * one) < 32
    assert results[count + 1] % 32 == 0


def test_another_thread_may_release_and_wait(session: Session) -> None:
    session.set(0, 0)
    session.hold()

    def release() -> None:
        time.sleep(0.002)
        session.set(0, 1)

    thread = threading.Thread(target=release)
    thread.start()
    assert elapsed_ns(session.sync) >= session.fake.cost("h2d_ns")
    thread.join()
