"""Traces of the PyTorch profiler (Kineto): `.json` and `.json.gz`, old and new.

Times in these files are microseconds, whole ones in older versions and with three decimals in later
ones, whatever `displayTimeUnit` says, which only tells a viewer what to show (`microseconds`).

Category and field names: pytorch/kineto, libkineto/src/ActivityType.cpp, output_json.cpp,
CuptiActivity.cpp, RocprofActivity_inl.h and their histories.

Reading is split where a compiled reader can take over: `_Reader.use` turns the JSON text of some
events into columns, and everything around it is about text or about columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, field

from ftax_micro.analysis.traces.building import ByName, TraceBuilder, or_none
from ftax_micro.analysis.traces.event_list import EventList
from ftax_micro.analysis.traces.events import (
    NONE,
    Ints,
    OperationKind,
    SpanKind,
    Trace,
    call_blocks,
    call_kind,
    kernel_kind,
    span_kind,
)
from ftax_micro.analysis.traces.microseconds import loses_decimals, nanoseconds
from ftax_micro.analysis.traces.text import read_text
from ftax_micro.errors import UnreadableTraceError

# By category in lower case; None where the name decides.
_OPERATIONS = {
    "kernel": None,
    "gpu_memcpy": OperationKind.COPY,
    "memcpy": OperationKind.COPY,
    "gpu_memset": OperationKind.SET,
    "memset": OperationKind.SET,
}
_OTHER_VENDORS = ("hip_runtime", "xpu_runtime", "xpu_driver")
_PLUGGED_IN = ("privateuse1_runtime", "privateuse1_driver")
_CALLS = {"cuda_runtime", "cuda_driver", "runtime", *_OTHER_VENDORS, *_PLUGGED_IN}
_SPANS = {
    "cpu_op": SpanKind.OP,
    "operator": SpanKind.OP,
    "user_annotation": None,
    "python_function": SpanKind.PYTHON,
}
_ARROWS = ("ac2g", "async_cpu_to_gpu", "async_gpu", "fwdbwd", "forward_backward")
_PROFILER = ("trace", "overhead", "external_correlation", "cuda_profiler_range", "gpu_pm_counter")
# What the device did for a synchronisation, an event or a collective, as other events tell as well.
_TWICE = ("gpu_user_annotation", "cuda_sync", "cuda_event", "xpu_sync", "collective_comm")
_NOT_NEEDED = {*_ARROWS, *_PROFILER, *_TWICE, "cpu_instant_event"}
_NOT_NEEDED_PHASES = {"M": "metadata", "i": "instant", "I": "instant", "C": "counter"}

_Id = Annotated[int, Meta(ge=-(2**62), le=2**62)]
_Device = Annotated[int, Meta(ge=-(2**31), lt=2**31)]


class _Args(msgspec.Struct, gc=False):
    correlation: _Id | None = None
    stream: _Id | str | None = None  # text: the address that ROCm's tracers give with a call
    device: _Device | None = None
    external: _Id | None = field(default=None, name="External id")
    old_external: _Id | None = field(default=None, name="external id")


_NO_ARGS = _Args()


class _Event(msgspec.Struct, gc=False):
    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str | None = None
    tid: int | str | None = None
    ts: int | float | None = None
    dur: int | float | None = None
    args: _Args | None = None


class _ExactEvent(_Event, gc=False):
    ts: Decimal | None = None  # type: ignore[assignment]
    dur: Decimal | None = None  # type: ignore[assignment]


def read_pytorch_trace(source: str | Path | bytes, name: str | None = None) -> Trace:
    """The trace in a PyTorch profiler file, or in the bytes of one; `name` stands in the errors.

    A trace without device activity is a trace (`Trace.has_device_activity`). What is no trace, is
    truncated or has no events raises `UnreadableTraceError`; single events that make no sense are
    counted in the trace's `findings` and `not_understood`. Memory: that of the columns, about 60
    bytes an event, and some 50 MB.
    """
    name = name or ("<bytes>" if isinstance(source, bytes) else str(source))
    events = EventList(read_text(source, name), name)
    reader = _Reader()
    events.read(reader.use)
    if not reader.seen:
        raise UnreadableTraceError(f"{name} has an empty list of traceEvents")
    builder = reader.builder
    if events.repaired:
        builder.findings["not strict JSON (batches)"] = events.repaired
    builder.devices.update(_device_names(events.facts.get("deviceProperties")))
    base = events.facts.get("baseTimeNanoseconds")
    return builder.finish(
        source=name,
        tick_ns=1 if reader.fractions else 1000,
        base_ns=base if isinstance(base, int) else 0,
    )


class _Reader:
    """Turns the JSON text of events into columns."""

    def __init__(self) -> None:
        self.builder = TraceBuilder()
        self.seen = 0
        self.fractions = False
        self._decoder = msgspec.json.Decoder(list[_Event])
        self._event: type[_Event] = _Event
        self._kinds = {
            "call": ByName(call_kind),
            "blocks": ByName(call_blocks),
            "kernel": ByName(kernel_kind),
            "span": ByName(span_kind),
        }

    def use(self, text: bytes) -> None:
        """Add the events of a JSON list; raises before it adds any where the text is none."""
        events, malformed = self._decode(text)
        # All times of a file count from one moment, so that some of them tell.
        if self._event is _Event and any(loses_decimals(each.ts) for each in events[:100]):
            self._event = _ExactEvent
            self._decoder = msgspec.json.Decoder(list[_ExactEvent])
            events, malformed = self._decode(text)
        self.seen += len(events) + malformed
        if malformed:
            self.builder.not_understood["malformed event"] += malformed
        by_category: dict[str, list[_Event]] = {}
        for each in events:
            if each.ph == "X":
                by_category.setdefault(each.cat, []).append(each)
            else:
                self._count_phase(each)
        for category, members in by_category.items():
            self._add(category, members)

    def _decode(self, text: bytes) -> tuple[Sequence[_Event], int]:
        """The events, and how many items of the list are none."""
        try:
            return self._decoder.decode(text), 0
        except msgspec.ValidationError:
            pass
        items = msgspec.json.decode(text, type=list[msgspec.Raw])
        events = [each for each in map(self._decode_one, items) if each is not None]
        return events, len(items) - len(events)

    def _decode_one(self, text: msgspec.Raw) -> _Event | None:
        try:
            return msgspec.json.decode(text, type=self._event, strict=False)
        except msgspec.ValidationError:
            return None

    def _count_phase(self, event: _Event) -> None:
        """Everything but complete events is for viewers, as far as is known."""
        category = event.cat or _NOT_NEEDED_PHASES.get(event.ph) or f"phase {event.ph or 'missing'}"
        known = event.ph in _NOT_NEEDED_PHASES or category.lower() in _NOT_NEEDED
        counts = self.builder.not_needed if known else self.builder.not_understood
        counts[category] += 1

    def _add(self, category: str, events: list[_Event]) -> None:
        lower = category.lower()
        if lower in _NOT_NEEDED:
            self.builder.not_needed[category] += len(events)
            return
        if lower not in _OPERATIONS and lower not in _CALLS and lower not in _SPANS:
            self.builder.not_understood[category or "no category"] += len(events)
            return
        timed = [e for e in events if e.ts is not None and e.dur is not None]
        if len(timed) < len(events):
            self.builder.findings["without a time"] += len(events) - len(timed)
        start, fractions, beyond = nanoseconds([e.ts for e in timed])
        duration, more, longer = nanoseconds([e.dur for e in timed])
        self.fractions |= fractions or more
        wrong = beyond | longer
        if wrong.any():
            self.builder.findings["time out of range"] += int(wrong.sum())
            timed = [e for e, bad in zip(timed, wrong, strict=True) if not bad]
            start, duration = start[~wrong], duration[~wrong]
        if timed:
            self._add_columns(lower, timed, start, duration)

    def _add_columns(self, category: str, events: list[_Event], start: Ints, dur: Ints) -> None:
        names = self.builder.names
        args = [e.args or _NO_ARGS for e in events]
        columns: dict[str, Any] = {
            "name": [names[e.name] for e in events],
            "start_ns": start,
            "duration_ns": dur,
            "external": or_none([a.external or a.old_external for a in args]),
        }
        if category in _OPERATIONS:
            columns["kind"] = self._by_name(events, _OPERATIONS[category], "kernel")
            columns["correlation"] = or_none([a.correlation for a in args])
            self._add_operations(events, args, columns)
            return
        threads = self.builder.threads
        columns["thread"] = [threads[e.pid, e.tid] for e in events]
        if category in _SPANS:
            columns["kind"] = self._by_name(events, _SPANS[category], "span")
            self.builder.add_spans(**columns)
            return
        columns["kind"] = self._by_name(events, None, "call")
        columns["blocks"] = self._by_name(events, None, "blocks")
        columns["correlation"] = or_none([a.correlation for a in args])
        self.builder.add_calls(**columns)

    def _by_name(self, events: list[_Event], kind: int | None, what: str) -> Any:
        if kind is not None:
            return np.full(len(events), kind)
        kinds = self._kinds[what]
        return [kinds[e.name] for e in events]

    def _add_operations(self, events: list[_Event], args: list[_Args], columns: Any) -> None:
        """Device and stream are arguments; where they are not, the rows they were drawn in."""
        self.builder.add_operations(
            device=[
                _row(e.pid) if a.device is None else a.device
                for e, a in zip(events, args, strict=True)
            ],
            stream=[
                a.stream
                if isinstance(a.stream, int)
                else _row(e.tid if a.stream is None else a.stream)
                for e, a in zip(events, args, strict=True)
            ],
            **columns,
        )


def _row(value: int | str | None) -> int:
    """The number of a row of the viewer: 7 of 7 and of "stream 7", else NONE."""
    if isinstance(value, str):
        digits = value.rpartition(" ")[2]
        value = int(digits) if digits.isascii() and digits.isdigit() else None
    return NONE if value is None or not -(2**31) <= value < 2**31 else value


def _device_names(properties: Any) -> dict[int, str]:
    """Names of devices by id, as far as the file lists them."""
    if not isinstance(properties, list):
        return {}
    names: dict[int, str] = {}
    for each in properties:
        if not isinstance(each, dict):
            continue
        number, name = each.get("id"), each.get("name")
        if isinstance(number, int) and isinstance(name, str):
            names[number] = name
    return names
