"""Traces of the PyTorch profiler (Kineto): `.json` and `.json.gz`, old and new.

Times in these files are microseconds, whole ones in older versions and with three decimals in later
ones, whatever `displayTimeUnit` says, which only tells a viewer what to show (`microseconds`).

Category and field names: pytorch/kineto, libkineto/src/ActivityType.cpp, output_json.cpp,
CuptiActivity.cpp, RocprofActivity_inl.h and their histories.

Reading has three layers: the text in chunks (`text`), lists of complete events (`event_list`), and
these as tables (`event_tables`), which are sorted here by what their categories mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ftax_micro.analysis.traces.building import ByName, TraceBuilder
from ftax_micro.analysis.traces.compiled import compiled_scan
from ftax_micro.analysis.traces.event_list import EventList
from ftax_micro.analysis.traces.event_tables import (
    ABSENT,
    EventDecoder,
    EventTable,
    row_number,
    scanned,
)
from ftax_micro.analysis.traces.events import (
    Indices,
    OperationKind,
    SpanKind,
    Trace,
    call_blocks,
    call_kind,
    kernel_kind,
    span_kind,
)
from ftax_micro.analysis.traces.text import read_text
from ftax_micro.analysis.tracks.contract import WRITER
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
# Categories that an error names.
_SHOWN = 3
_NOT_NEEDED_PHASES = {"M": "metadata", "i": "instant", "I": "instant", "C": "counter"}


def read_pytorch_trace(source: str | Path | bytes, name: str | None = None) -> Trace:
    """The trace in a PyTorch profiler file, or in the bytes of one; `name` stands in the errors.

    A trace without device activity is a trace (`Trace.has_device_activity`). What is no trace, is
    truncated, has no events that are known or was written by `report` raises
    `UnreadableTraceError`; single events that make no sense are counted in the trace's `findings`
    and `not_understood`. Memory: that of the columns, about 60 bytes an event, and some 50 MB.
    """
    name = name or ("<bytes>" if isinstance(source, bytes) else str(source))
    events = EventList(read_text(source, name), name)
    reader = _Reader()
    events.read(reader.use)
    written = events.facts.get("otherData")
    if isinstance(written, dict) and written.get("writer") == WRITER:
        raise UnreadableTraceError(
            f"{name} is a timeline that report wrote, of medians and bounds, not a trace: give the "
            "file that report was given"
        )
    if not reader.seen:
        raise UnreadableTraceError(f"{name} has an empty list of traceEvents")
    builder = reader.builder
    if events.repaired:
        builder.findings["not strict JSON (batches)"] = events.repaired
    builder.devices.update(_device_names(events.facts.get("deviceProperties")))
    base = events.facts.get("baseTimeNanoseconds")
    if sum(builder.not_understood.values()) >= reader.seen:
        raise UnreadableTraceError(f"{name} is no trace of a profiler: {_strange(builder)}")
    return builder.finish(
        source=name,
        tick_ns=1 if reader.fractions else 1000,
        base_ns=base if isinstance(base, int) else 0,
    )


def _strange(builder: TraceBuilder) -> str:
    """What is there instead of events that are known."""
    found = [f"{name!r} ({n:,})" for name, n in builder.not_understood.most_common(_SHOWN)]
    return f"none of its events is known, but {', '.join(found)}"


class _Reader:
    """Adds events to a trace, part after part of the text."""

    def __init__(self) -> None:
        self.builder = TraceBuilder()
        self.seen = 0
        self.fractions = False
        self._scan = compiled_scan()
        self._decoder = EventDecoder()
        self._kinds = {
            "call": ByName(call_kind),
            "blocks": ByName(call_blocks),
            "kernel": ByName(kernel_kind),
            "span": ByName(span_kind),
        }

    def use(self, text: bytes | memoryview) -> None:
        """Add some events; raises `ValueError` before it adds any where the text is none."""
        batch = scanned(text, self._scan) if self._scan else None
        batch = batch or self._decoder.decoded(text)
        self.seen += batch.events
        if batch.malformed:
            self.builder.not_understood["malformed event"] += batch.malformed
        for (phase, category), count in batch.others.items():
            self._count_phase(phase, category, count)
        for table in batch.tables:
            self._add(table)

    def _count_phase(self, phase: str, category: str, events: int) -> None:
        """Everything but complete events is for viewers, as far as is known."""
        category = category or _NOT_NEEDED_PHASES.get(phase) or f"phase {phase or 'missing'}"
        known = phase in _NOT_NEEDED_PHASES or category.lower() in _NOT_NEEDED
        counts = self.builder.not_needed if known else self.builder.not_understood
        counts[category] += events

    def _add(self, table: EventTable) -> None:
        category = table.category.lower()
        if category in _NOT_NEEDED:
            self.builder.not_needed[table.category] += table.events
            return
        if category not in _OPERATIONS and category not in _CALLS and category not in _SPANS:
            self.builder.not_understood[table.category or "no category"] += table.events
            return
        for what, count in (
            ("without a time", table.without_time),
            ("time out of range", table.out_of_range),
        ):
            if count:
                self.builder.findings[what] += count
        self.fractions |= table.fractions
        if len(table.start_ns):
            self._add_columns(category, table)

    def _add_columns(self, category: str, table: EventTable) -> None:
        columns: dict[str, Any] = {
            "name": _numbers(self.builder.names, table.names)[table.name],
            "start_ns": table.start_ns,
            "duration_ns": table.duration_ns,
            "external": table.external,
        }
        if category in _OPERATIONS:
            # Device and stream are arguments; where they are not, the rows they were drawn in.
            rows = [(row_number(process), row_number(thread)) for process, thread in table.rows]
            drawn = np.array(rows, dtype=np.int64)[table.row]
            self.builder.add_operations(
                kind=self._by_name(table, _OPERATIONS[category], "kernel"),
                correlation=table.correlation,
                device=np.where(table.device == ABSENT, drawn[:, 0], table.device),
                stream=np.where(table.stream == ABSENT, drawn[:, 1], table.stream),
                **columns,
            )
            return
        columns["thread"] = _numbers(self.builder.threads, table.rows)[table.row]
        if category in _SPANS:
            columns["kind"] = self._by_name(table, _SPANS[category], "span")
            self.builder.add_spans(**columns)
            return
        columns["kind"] = self._by_name(table, None, "call")
        columns["blocks"] = self._by_name(table, None, "blocks")
        self.builder.add_calls(correlation=table.correlation, **columns)

    def _by_name(self, table: EventTable, kind: int | None, what: str) -> Any:
        if kind is not None:
            return np.full(len(table.name), kind, dtype=np.int8)
        return _numbers(self._kinds[what], table.names)[table.name]


def _numbers(known: Mapping[Any, int], things: Iterable[Any]) -> Indices:
    return np.array([known[each] for each in things], dtype=np.int32)


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
