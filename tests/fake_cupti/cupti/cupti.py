"""The few functions of NVIDIA's `cupti.cupti` that are used, over the fake driver's records."""

from __future__ import annotations

import ctypes
import enum
import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

_FAULTS = dict(
    part.split("=", 1) for part in os.environ.get("FAKE_CUPTI", "").split(",") if "=" in part
)
if "import" in _FAULTS:
    raise ImportError("libcupti.so.13: cannot open shared object file")

_RECORD_BYTES = 256
_driver = ctypes.CDLL(os.environ["FTAX_MICRO_CUDA_DRIVER"])


class ActivityKind(enum.IntEnum):
    MEMCPY = 1
    MEMSET = 2
    DRIVER = 4
    RUNTIME = 5
    CONCURRENT_KERNEL = 10


class CallbackDomain(enum.IntEnum):
    DRIVER_API = 1
    RUNTIME_API = 2


class Result(enum.IntEnum):
    ERROR_INVALID_PARAMETER = 1
    ERROR_INVALID_OPERATION = 7
    ERROR_NOT_INITIALIZED = 15
    ERROR_INSUFFICIENT_PRIVILEGES = 35
    ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39


class cuptiError(Exception):  # noqa: N801 - the real one's name
    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"{Result(status).name} ({status})")


class _Raw(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int64),
        ("correlation", ctypes.c_int64),
        ("start", ctypes.c_int64),
        ("end", ctypes.c_int64),
        ("name", ctypes.c_char * 32),
    )


class _Record:
    """As the real ones, it dies with its buffer."""

    cbid = graph_node_id = dynamic_shared_memory = static_shared_memory = 0
    stream_id = 7
    grid_x = grid_y = grid_z = block_x = block_y = block_z = registers_per_thread = 1

    def __init__(self, raw: _Raw) -> None:
        self.kind, self.correlation_id = int(raw.kind), int(raw.correlation)
        self.start, self.end, self.name = int(raw.start), int(raw.end), raw.name.decode()


class _State:
    subscribed = False
    room: Callable[[], tuple[int, int]]
    completed: Callable[[list[_Record]], None] | None = None
    enabled: set[int] = set()  # noqa: RUF012 - one process, one state
    flushes = 0
    # Chance of one seed: every N-th could be the same launch of each draw, one that is not timed.
    chance = random.Random(5)


def _number(name: str) -> int:
    return int(_FAULTS.get(name, 0))


def subscribe(callback: object, userdata: object) -> int:
    if not callable(callback) or userdata is not None:
        raise TypeError("subscribe(callback, None)")
    if "die" in _FAULTS:
        os.kill(os.getpid(), _number("die"))
    if "stall" in _FAULTS:
        time.sleep(3600)
    if "refuse" in _FAULTS:
        raise cuptiError(Result[_FAULTS["refuse"]])
    if _driver.fake_cuda_calls(b"cuInit"):
        raise RuntimeError("the fake wants to be there before the driver is initialised")
    _State.subscribed = True
    return 1


def unsubscribe(subscriber: int) -> None:
    _require(_State.subscribed and subscriber == 1)
    _State.subscribed = False


def activity_register_callbacks(
    requested: Callable[[], tuple[int, int]], completed: Callable[[list[_Record]], None]
) -> None:
    _require(_State.subscribed)
    _State.room, _State.completed = requested, completed


def activity_enable(kind: int) -> None:
    _require(_State.completed is not None)
    _State.enabled.add(ActivityKind(kind))
    _driver.fake_cuda_trace(1)


def activity_disable(kind: int) -> None:
    _State.enabled.remove(ActivityKind(kind))
    if not _State.enabled:
        _driver.fake_cuda_trace(0)


def activity_flush_all(flag: int) -> None:
    _require(flag in (0, 1) and _State.completed is not None)
    _State.flushes += 1
    if _State.flushes == _number("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if _State.flushes == _number("hang"):
        time.sleep(3600)
    if "late" in _FAULTS:
        raise cuptiError(Result[_FAULTS["late"]])
    size, most = _State.room()
    _require(most == 0 and size >= 1 << 20)
    raw = (_Raw * (size // _RECORD_BYTES))()
    while count := _driver.fake_cuda_trace_take(raw, len(raw)):
        assert _State.completed is not None
        _State.completed(_kept([raw[index] for index in range(count)]))


def get_callback_name(domain: int, number: int) -> str:
    return f"{CallbackDomain(domain).name} {number}"


def get_timestamp() -> int:
    return time.monotonic_ns()


def activity_get_num_dropped_records(context: int, stream_id: int, dropped: int) -> None:
    _require(context == 0 and stream_id == 0)
    ctypes.c_size_t.from_address(dropped).value = _number("drop")


def _kept(raws: Sequence[_Raw]) -> list[Any]:
    records = [_Record(raw) for raw in raws if raw.kind in _State.enabled]
    which, _, every = _FAULTS.get("lose", "none:0").partition(":")
    kept = []
    for record in records:
        kernel = record.kind == ActivityKind.CONCURRENT_KERNEL
        if kernel:
            record.start += _number("shift")
            record.end += _number("shift")
        counted = {"kernels": kernel, "calls": "Launch" in record.name, "none": kernel}[which]
        if counted and which != "none" and _one_in(int(every)):
            continue
        if kernel and _number("untimed") and _one_in(_number("untimed")):
            record.start = record.end = 0
        kept.append(record)
    return kept


def _one_in(number: int) -> bool:
    return _State.chance.randrange(number) == 0


def _require(condition: bool) -> None:
    if not condition:
        raise cuptiError(Result.ERROR_INVALID_OPERATION)
