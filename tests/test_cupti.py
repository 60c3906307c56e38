"""The plug-in for CUPTI over its own interface; with a device under it: test_traced_floor."""

from __future__ import annotations

import ctypes
import enum
import sys
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ftax_micro.devices.tracing import TracedCall, TracedOperation
from ftax_micro.errors import Skip, UnknownNameError
from ftax_micro.profilers import TRACERS
from ftax_micro.profilers.cupti import CUPTI, CuptiTracer, TracingError
from ftax_micro.records import KernelShape

KINDS = SimpleNamespace(DRIVER=4, RUNTIME=5, CONCURRENT_KERNEL=10, MEMCPY=1, MEMSET=2)


class CopyKind(enum.IntEnum):
    HTOD = 1
    DTOH = 2


class cuptiError(Exception):  # noqa: N801 - the real one's name
    pass


class Cupti(ModuleType):
    """Notes what is asked of it; hands over what it is given at a flush."""

    ActivityKind = KINDS
    ActivityMemcpyKind = CopyKind
    CallbackDomain = SimpleNamespace(DRIVER_API=1, RUNTIME_API=2)

    def __init__(self) -> None:
        super().__init__("cupti.cupti")
        self.asked: list[str] = []
        self.waiting: list[Any] = []
        self.dropped = 0
        self.refuses: dict[str, Exception] = {}
        self.completed: Callable[[Sequence[Any]], None] | None = None

    def _note(self, what: str, *more: object) -> None:
        self.asked.append(" ".join(map(str, (what, *more))))
        if what in self.refuses:
            raise self.refuses[what]

    def subscribe(self, callback: Callable[..., None], userdata: object) -> int:
        callback(None, 1, 2, 3)
        self._note("subscribe")
        return 77

    def unsubscribe(self, subscriber: int) -> None:
        self._note("unsubscribe", subscriber)

    def activity_register_callbacks(self, requested: Any, completed: Any) -> None:
        size, most = requested()
        assert size >= 1 << 20
        assert most == 0
        self._note("register")
        self.completed = completed

    def activity_enable(self, kind: int) -> None:
        self._note("enable", kind)

    def activity_disable(self, kind: int) -> None:
        self._note("disable", kind)

    def activity_flush_all(self, flag: int) -> None:
        self._note("flush", flag)
        records, self.waiting = self.waiting, []
        assert self.completed is not None
        self.completed(records)

    def get_callback_name(self, domain: int, number: int) -> str:
        self._note("name", domain, number)
        return {1: "cuLaunchKernel", 2: "cudaLaunchKernel"}[domain]

    def get_timestamp(self) -> int:
        self._note("timestamp")
        return 1234

    def activity_get_num_dropped_records(self, context: int, stream: int, into: int) -> None:
        assert (context, stream) == (0, 0)
        ctypes.c_size_t.from_address(into).value = self.dropped


@pytest.fixture
def cupti(monkeypatch: pytest.MonkeyPatch) -> Cupti:
    found = Cupti()
    package = ModuleType("cupti")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "cupti", package)
    monkeypatch.setitem(sys.modules, "cupti.cupti", found)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    return found


def call(correlation: int, start: int, end: int, kind: int = 4) -> SimpleNamespace:
    return SimpleNamespace(kind=kind, correlation_id=correlation, start=start, end=end, cbid=307)


SHAPE = KernelShape(grid=(8, 2, 1), block=(256, 1, 1), registers=32, shared_bytes=1536)


def kernel(correlation: int, start: int, end: int) -> SimpleNamespace:
    sizes = {f"{what}_{axis}": 1 for what in ("grid", "block") for axis in "xyz"}
    sizes |= {"grid_x": 8, "grid_y": 2, "block_x": 256, "registers_per_thread": 32}
    sizes |= {"static_shared_memory": 1024, "dynamic_shared_memory": 512}
    sizes |= {"graph_node_id": 0, "stream_id": 7}
    return SimpleNamespace(
        kind=10, correlation_id=correlation, start=start, end=end, name="ftax_null", **sizes
    )


def transfer(kind: int, correlation: int, copy_kind: int = 0) -> SimpleNamespace:
    return SimpleNamespace(
        kind=kind,
        correlation_id=correlation,
        start=5,
        end=9,
        copy_kind=copy_kind,
        graph_node_id=3,
        stream_id=7,
    )


def test_it_is_opened_by_name() -> None:
    assert TRACERS.open("cupti") is CUPTI
    with pytest.raises(UnknownNameError, match="did you mean cupti"):
        TRACERS.open("cupty")


def test_it_attaches_before_it_asks_for_records(cupti: Cupti) -> None:
    tracer = CUPTI.start()
    kinds = (4, 5, 10, 1, 2)
    assert cupti.asked == ["subscribe", "register", *(f"enable {kind}" for kind in kinds)]
    assert str(tracer.facts["tracer"]).startswith("cupti-python ")
    assert tracer.facts["tracer_records"] == "driver runtime concurrent_kernel memcpy memset"
    tracer.stop()
    assert cupti.asked[7:] == [*(f"disable {kind}" for kind in kinds), "unsubscribe 77"]


def test_records_are_taken_once(cupti: Cupti) -> None:
    tracer = CUPTI.start()
    cupti.waiting = [call(1, 10, 20), kernel(1, 30, 40), call(2, 50, 60, kind=5)]
    trace = tracer.take()
    assert "flush 1" in cupti.asked
    assert trace.calls == [
        TracedCall(1, 10, 20, "cuLaunchKernel"),
        TracedCall(2, 50, 60, "cudaLaunchKernel"),
    ]
    assert trace.operations == [TracedOperation(1, "ftax_null", 30, 40, stream=7, shape=SHAPE)]
    assert trace.dropped == 0
    again = tracer.take()
    assert (again.calls, again.operations) == ([], [])


def test_copies_and_sets_are_operations_and_the_names_of_calls_are_asked_for_once(
    cupti: Cupti,
) -> None:
    tracer = CUPTI.start()
    cupti.waiting = [call(1, 1, 2), transfer(1, 1, CopyKind.DTOH), transfer(2, 2), call(2, 3, 4)]
    trace = tracer.take()
    assert trace.operations == [
        TracedOperation(1, "copy DTOH", 5, 9, kind="copy", stream=7, graph_node=3),
        TracedOperation(2, "set", 5, 9, kind="set", stream=7, graph_node=3),
    ]
    assert [asked for asked in cupti.asked if asked.startswith("name")] == ["name 1 307"]


def test_its_clock_can_be_read(cupti: Cupti) -> None:
    tracer = CUPTI.start()
    assert tracer.now_ns() == 1234
    cupti.refuses["timestamp"] = cuptiError("NOT_INITIALIZED (15)")
    with pytest.raises(TracingError, match="CUPTI failed"):
        tracer.now_ns()


def test_what_was_dropped_or_has_no_times_is_counted(cupti: Cupti) -> None:
    tracer = CUPTI.start()
    cupti.dropped = 3
    cupti.waiting = [kernel(1, 0, 0), call(2, 0, 5), kernel(3, 10, 20)]
    trace = tracer.take()
    assert trace.dropped == 5
    assert [each.correlation for each in trace.operations] == [3]
    cupti.dropped = 0
    assert tracer.take().dropped == 0


def test_nothing_is_raised_into_its_threads_but_all_is_told(cupti: Cupti) -> None:
    tracer = CUPTI.start()
    cupti.waiting = [SimpleNamespace(kind=10)]
    with pytest.raises(TracingError, match=r"records cannot be read: AttributeError.*start"):
        tracer.take()


@pytest.mark.parametrize("step", ["subscribe", "register", "enable"])
@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("INSUFFICIENT_PRIVILEGES", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "another tracer is attached"),
        ("NOT_INITIALIZED", "the driver is older than this CUPTI"),
    ],
)
def test_a_refusal_is_a_skip_that_says_what_to_do(
    cupti: Cupti, step: str, name: str, advice: str
) -> None:
    cupti.refuses[step] = cuptiError(f"ERROR_{name} (99)")
    with pytest.raises(Skip) as caught:
        CUPTI.start()
    assert str(caught.value).startswith(f"CUPTI cannot trace here: ERROR_{name} (99); ")
    assert advice in str(caught.value)


def test_without_a_driver_it_says_what_its_package_says(cupti: Cupti) -> None:
    cupti.refuses["subscribe"] = RuntimeError("CUDA driver is not found (libcuda.so.1)")
    with pytest.raises(Skip, match=r"here: RuntimeError: CUDA driver is not found"):
        CUPTI.start()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert CUPTI.missing() == "cupti-python is not installed: pip install 'ftax-micro[trace]'"
    with pytest.raises(Skip, match=r"pip install 'ftax-micro\[trace\]'"):
        CUPTI.start()


def test_a_package_that_breaks_on_import_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> ModuleType:
        raise ImportError("libcupti.so.13: no such file")

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("importlib.import_module", broken)
    assert CUPTI.missing() is None
    with pytest.raises(Skip, match="cannot be imported: ImportError: libcupti"):
        CUPTI.start()


@pytest.mark.parametrize("step", ["flush", "disable"])
def test_a_failure_at_work_is_an_error(cupti: Cupti, step: str) -> None:
    tracer: CuptiTracer = CUPTI.start()
    cupti.refuses[step] = cuptiError("ERROR_UNKNOWN (999)")
    with pytest.raises(TracingError, match=r"CUPTI failed: ERROR_UNKNOWN \(999\)"):
        (tracer.take if step == "flush" else tracer.stop)()
