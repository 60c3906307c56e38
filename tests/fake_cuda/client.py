"""A small driver client over ctypes: tests of the fake driver must not need the extension."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_float, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from fake_cuda import FakeCuda

KERNELS = Path(__file__).resolve().parents[2] / "csrc" / "kernels"

NOT_READY = 600


class DriverError(Exception):
    """A driver call failed: its name and CUresult."""

    def __init__(self, function: str, result: int) -> None:
        super().__init__(f"{function} returned {result}")
        self.function = function
        self.result = result


class Client:
    """One retained and current primary context, and calls that raise DriverError."""

    def __init__(self, fake: FakeCuda, device: int = 0, flags: int = 0) -> None:
        self.fake = fake
        self.device = device
        self.ok("cuInit", 0)
        if flags:
            self.ok("cuDevicePrimaryCtxSetFlags_v2", device, c_uint(flags))
        self.context = self.handle("cuDevicePrimaryCtxRetain", device)
        self.ok("cuCtxSetCurrent", self.context)

    def call(self, function: str, *arguments: Any) -> int:
        """The CUresult of one call."""
        return int(getattr(self.fake.driver, function)(*arguments))

    def ok(self, function: str, *arguments: Any) -> None:
        """One call that must succeed."""
        result = self.call(function, *arguments)
        if result:
            raise DriverError(function, result)

    def handle(self, function: str, *arguments: Any) -> c_void_p:
        """What a call whose first parameter is an output stores there."""
        out = c_void_p()
        self.ok(function, ctypes.byref(out), *arguments)
        return out

    def module(self, name: str = "floor") -> c_void_p:
        """Loads one of the shipped PTX files."""
        return self.handle("cuModuleLoadData", (KERNELS / f"{name}.ptx").read_bytes())

    def function(self, module: c_void_p, name: str) -> c_void_p:
        return self.handle("cuModuleGetFunction", module, name.encode())

    def launch(self, function: c_void_p, stream: c_void_p, *arguments: Any) -> None:
        """cuLaunchKernel with one block of one thread."""
        self.ok("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, pack(arguments), None)

    def words(self, count: int) -> ctypes.Array[c_uint32]:
        """Mapped host memory of 32-bit words, all zero; freed with `free`."""
        address = self.handle("cuMemHostAlloc", c_size_t(4 * count), c_uint(2)).value
        assert address is not None
        words = (c_uint32 * count).from_address(address)
        ctypes.memset(address, 0, 4 * count)
        return words

    def free(self, words: ctypes.Array[c_uint32]) -> None:
        self.ok("cuMemFreeHost", c_void_p(address(words)))

    def event_ns(self, first: c_void_p, second: c_void_p) -> int:
        """Nanoseconds between two events, on the device's timeline."""
        milliseconds = c_float()
        self.ok("cuEventElapsedTime", ctypes.byref(milliseconds), first, second)
        return round(milliseconds.value * 1e6)

    def close(self) -> None:
        self.ok("cuCtxSetCurrent", None)
        self.ok("cuDevicePrimaryCtxRelease_v2", self.device)


class Session(Client):
    """A client with a stream and the floor kernels, loaded and launched once."""

    def __init__(self, fake: FakeCuda, device: int = 0, flags: int = 0) -> None:
        super().__init__(fake, device, flags)
        self.stream = self.handle("cuStreamCreate", c_uint(1))
        self.floor = self.module()
        self.null = self.function(self.floor, "ftax_null")
        self.store = self.function(self.floor, "ftax_store")
        self.holder = self.function(self.floor, "ftax_hold")
        self.word = self.words(2)
        self.launch(self.null, self.stream)
        self.launch(self.store, self.stream, self.at(0), c_uint32(0))
        self.hold(value=0)
        self.sync()

    def at(self, index: int) -> c_uint64:
        """The device address of a word."""
        return c_uint64(address(self.word) + 4 * index)

    def set(self, index: int, value: int) -> None:
        """The host's store to a word."""
        self.word[index] = value

    def hold(self, value: int = 1, deadline_ns: int = 5_000_000_000) -> None:
        """Occupies the stream until word 0 is `value`; the outcome goes to word 1."""
        self.launch(
            self.holder, self.stream, self.at(0), c_uint32(value), c_uint64(deadline_ns), self.at(1)
        )

    def sync(self) -> None:
        self.ok("cuStreamSynchronize", self.stream)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Operations handed to the stream inside are all queued before the first of them starts."""
        self.set(0, 0)
        self.hold()
        yield
        time.sleep(0.001)  # whatever was handed over last could have started long ago
        self.set(0, 1)
        self.sync()

    def device_ns(self, work: Callable[[], object]) -> int:
        """Device time from the end of one operation to the end of what `work` queues."""
        events = [self.handle("cuEventCreate", c_uint(0)) for _ in range(2)]
        with self.held():
            self.ok("cuEventRecord", events[0], self.stream)
            work()
            self.ok("cuEventRecord", events[1], self.stream)
        ns = self.event_ns(*events)
        for event in events:
            self.ok("cuEventDestroy_v2", event)
        return ns

    def close(self) -> None:
        self.ok("cuStreamSynchronize", self.stream)
        self.free(self.word)
        self.ok("cuModuleUnload", self.floor)
        self.ok("cuStreamDestroy_v2", self.stream)
        super().close()


def address(words: ctypes.Array[Any]) -> int:
    """Where a ctypes array lies."""
    return ctypes.addressof(words)


def pack(arguments: Sequence[Any]) -> Any:
    """Kernel arguments as the array of pointers that launches take, None if there are none."""
    if not arguments:
        return None
    pointers = [ctypes.cast(ctypes.pointer(argument), c_void_p) for argument in arguments]
    # The casts keep what they point to alive, and the array keeps the casts.
    return (c_void_p * len(arguments))(*pointers)


def elapsed_ns(work: Callable[[], object]) -> int:
    """Time of one call, on the clock the fake uses too."""
    begin = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - begin
