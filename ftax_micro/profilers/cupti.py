"""NVIDIA's CUPTI through its own Python package, cupti-python.

Activity records only: each call of the driver and of the runtime, and each kernel, copy and set on
the device, on one clock. CUPTI asks for empty buffers and hands full ones back by calls into
Python, from its own threads or from the call that needs room, so buffers are large and are handed
back on demand, by `take`. Its records live in the buffer: they are read before the call back
returns.

Facts about the interface: NVIDIA's CUPTI documentation, "Activity API" and "Initialization", and
that of cupti-python 13.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ftax_micro.devices.tracing import Trace, TracedCall, TracedOperation
from ftax_micro.errors import FtaxError, Skip
from ftax_micro.records import FactValue, KernelShape

_PACKAGE = "cupti-python"
# Room for some ten thousand launches: one buffer outlasts every burst. NVIDIA advises 1 to 10 MB.
_BUFFER_BYTES = 8 << 20
# As many records as fit.
_NO_LIMIT = 0
# Also buffers that are not full.
_FLUSH_FORCED = 1
_KINDS = ("DRIVER", "RUNTIME", "CONCURRENT_KERNEL", "MEMCPY", "MEMSET")

# What CUPTI's refusals mean here, by the name of its status.
_ADVICE = {
    "INSUFFICIENT_PRIVILEGES": "the administrator has restricted profiling: run as root, or load "
    "the driver's module with NVreg_RestrictProfilingToAdminUsers=0",
    "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED": "another tracer is attached to this process",
    "NOT_INITIALIZED": "the driver is older than this CUPTI: install the cupti-python of its CUDA "
    "version",
    "NOT_COMPATIBLE": "the driver does not suit this CUPTI: install the cupti-python of its CUDA "
    "version",
}


class TracingError(FtaxError):
    """The tracer failed while it was at work."""


class _Cupti:
    """The plug-in: whether CUPTI can be had, and a running one."""

    name = "cupti"

    def missing(self) -> str | None:
        """Why there is no CUPTI here, in a sentence; None where its package is installed."""
        if importlib.util.find_spec("cupti") is None:
            return f"{_PACKAGE} is not installed: pip install 'ftax-micro[trace]'"
        return None

    def start(self) -> CuptiTracer:
        """Trace this process from now on; before its first call of the driver.

        Errors: `Skip` with the reason: not installed, its import breaks, the driver refuses.
        """
        reason = self.missing()
        if reason is not None:
            raise Skip(reason)
        try:
            cupti = importlib.import_module("cupti.cupti")
        except Exception as error:  # a compiled module: whatever its libraries do
            raise Skip(f"{_PACKAGE} cannot be imported: {_words(error)}") from error
        tracer = CuptiTracer(cupti)
        try:
            tracer.start()
        except Exception as error:
            raise Skip(f"CUPTI cannot trace here: {_refusal(error)}") from error
        return tracer


CUPTI = _Cupti()


class CuptiTracer:
    """A running CUPTI; see `devices.contract.Tracer`."""

    name = "cupti"

    def __init__(self, cupti: Any) -> None:
        self._cupti = cupti
        kinds = cupti.ActivityKind
        self._readers: dict[int, Callable[[Any], TracedOperation]] = {
            int(kinds.CONCURRENT_KERNEL): _kernel,
            int(kinds.MEMCPY): self._copy,
            int(kinds.MEMSET): _set,
        }
        self._runtime_kind = int(kinds.RUNTIME)
        self._call_names: dict[tuple[bool, int], str] = {}
        self._calls: list[TracedCall] = []
        self._operations: list[TracedOperation] = []
        self._untimed = 0
        self._failure: Exception | None = None
        self._subscriber: Any = None

    @property
    def facts(self) -> Mapping[str, FactValue]:
        """The tracer's name, version and the kinds of records it keeps."""
        return {"tracer": f"{_PACKAGE} {_version()}", "tracer_records": " ".join(_KINDS).lower()}

    def start(self) -> None:
        """Attach. Errors: those of cupti-python."""
        cupti = self._cupti
        # NVIDIA asks tools to subscribe first: it is how a second one learns of the other.
        self._subscriber = cupti.subscribe(_ignore, None)
        cupti.activity_register_callbacks(self._room, self._records)
        for kind in _KINDS:
            cupti.activity_enable(getattr(cupti.ActivityKind, kind))

    def now_ns(self) -> int:
        """The time on the clock of the records. Errors: `TracingError`."""
        try:
            return int(self._cupti.get_timestamp())
        except Exception as error:
            raise TracingError(f"CUPTI failed: {_refusal(error)}") from error

    def take(self) -> Trace:
        """Everything recorded since the last call. Errors: `TracingError`."""
        try:
            self._cupti.activity_flush_all(_FLUSH_FORCED)
            dropped = self._dropped()
        except Exception as error:
            raise TracingError(f"CUPTI failed: {_refusal(error)}") from error
        if self._failure is not None:
            raise TracingError(f"CUPTI's records cannot be read: {_words(self._failure)}")
        trace = Trace(self._calls, self._operations, dropped + self._untimed)
        self._calls, self._operations, self._untimed = [], [], 0
        return trace

    def stop(self) -> None:
        """Record no more. Errors: `TracingError`."""
        try:
            for kind in _KINDS:
                self._cupti.activity_disable(getattr(self._cupti.ActivityKind, kind))
            if self._subscriber is not None:
                subscriber, self._subscriber = self._subscriber, None
                self._cupti.unsubscribe(subscriber)
        except Exception as error:
            raise TracingError(f"CUPTI failed: {_refusal(error)}") from error

    def _dropped(self) -> int:
        """Records dropped since it was asked last."""
        number = ctypes.c_size_t(0)
        everywhere = 0
        self._cupti.activity_get_num_dropped_records(
            everywhere, everywhere, ctypes.addressof(number)
        )
        return int(number.value)

    def _room(self) -> tuple[int, int]:
        """Called by CUPTI for an empty buffer: its bytes, and the most records in it."""
        return _BUFFER_BYTES, _NO_LIMIT

    def _records(self, records: Sequence[Any]) -> None:
        """Called by CUPTI with what a buffer held. Nothing may be raised into its threads."""
        try:
            for record in records:
                self._record(record)
        except Exception as error:
            self._failure = error

    def _record(self, record: Any) -> None:
        if not record.start or not record.end:  # CUPTI's word for a time that it could not get
            self._untimed += 1
            return
        reader = self._readers.get(record.kind)
        if reader is not None:
            self._operations.append(reader(record))
            return
        name = self._call_name(record.kind == self._runtime_kind, record.cbid)
        self._calls.append(TracedCall(record.correlation_id, record.start, record.end, name))

    def _copy(self, record: Any) -> TracedOperation:
        direction = self._cupti.ActivityMemcpyKind(record.copy_kind).name
        return _transfer(record, "copy", f"copy {direction}")

    def _call_name(self, runtime: bool, number: int) -> str:
        known = self._call_names.get((runtime, number))
        if known is None:
            domains = self._cupti.CallbackDomain
            domain = domains.RUNTIME_API if runtime else domains.DRIVER_API
            known = str(self._cupti.get_callback_name(int(domain), number))
            self._call_names[runtime, number] = known
        return known


def _kernel(record: Any) -> TracedOperation:
    shape = KernelShape(
        grid=(record.grid_x, record.grid_y, record.grid_z),
        block=(record.block_x, record.block_y, record.block_z),
        registers=record.registers_per_thread,
        shared_bytes=record.static_shared_memory + record.dynamic_shared_memory,
    )
    return TracedOperation(
        record.correlation_id,
        record.name,
        record.start,
        record.end,
        graph_node=record.graph_node_id,
        shape=shape,
        stream=record.stream_id,
    )


def _set(record: Any) -> TracedOperation:
    return _transfer(record, "set", "set")


def _transfer(record: Any, kind: Literal["copy", "set"], name: str) -> TracedOperation:
    return TracedOperation(
        record.correlation_id,
        name,
        record.start,
        record.end,
        kind=kind,
        graph_node=record.graph_node_id,
        stream=record.stream_id,
    )


def _ignore(*_: Any) -> None:
    """For the subscription, whose events nobody asked for."""


def _refusal(error: Exception) -> str:
    text = _words(error)
    advice = next((words for name, words in _ADVICE.items() if name in text), None)
    return f"{text}; {advice}" if advice else text


def _words(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if type(error).__name__ == "cuptiError" else f"{type(error).__name__}: {text}"


def _version() -> str:
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"
