"""From batches of columns, in any order and unit of time zero, to a `Trace`.

Shared by the readers of every format: interns names and threads, leaves out what has no sensible
time (and counts it), sorts by start, and moves time zero to the first event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftax_micro.analysis.traces.events import (
    NONE,
    Calls,
    Indices,
    Ints,
    Operations,
    Spans,
    Thread,
    Trace,
)

# Nanoseconds that still add without overflow; 146 years.
_LARGEST_NS = 1 << 62

_OPERATIONS: dict[str, type] = {
    "kind": np.int8,
    "name": np.int32,
    "start_ns": np.int64,
    "duration_ns": np.int64,
    "device": np.int32,
    "stream": np.int64,
    "correlation": np.int64,
    "external": np.int64,
}
_CALLS: dict[str, type] = {
    "kind": np.int8,
    "name": np.int32,
    "start_ns": np.int64,
    "duration_ns": np.int64,
    "thread": np.int32,
    "correlation": np.int64,
    "external": np.int64,
    "blocks": np.bool_,
}
_SPANS: dict[str, type] = {
    "kind": np.int8,
    "name": np.int32,
    "start_ns": np.int64,
    "duration_ns": np.int64,
    "thread": np.int32,
    "external": np.int64,
}


class Interner(dict[Any, int]):
    """Numbers things in order of appearance: `interner[thing]`."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


class ByName(dict[str, Any]):
    """What a function says of a name, asked once per name: `by_name[name]`."""

    def __init__(self, classify: Callable[[str], Any]) -> None:
        super().__init__()
        self._classify = classify

    def __missing__(self, name: str) -> Any:
        value = self[name] = self._classify(name)
        return value


class TraceBuilder:
    """Collects batches of events; `finish` makes them a trace.

    `add_operations`, `add_calls` and `add_spans` take one array or list per column, all of one
    length, with times in nanoseconds of any one clock.
    """

    def __init__(self) -> None:
        self.names = Interner()
        self.threads = Interner()
        self.devices: dict[int, str] = {}
        self.not_needed: Counter[str] = Counter()
        self.not_understood: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self._operations = _Table(_OPERATIONS)
        self._calls = _Table(_CALLS)
        self._spans = _Table(_SPANS)

    def add_operations(self, **columns: Any) -> None:
        """Device operations, with the columns of `Operations`."""
        self._operations.add(columns, self.findings)

    def add_calls(self, **columns: Any) -> None:
        """Host calls, with the columns of `Calls`."""
        self._calls.add(columns, self.findings)

    def add_spans(self, **columns: Any) -> None:
        """Host spans, with the columns of `Spans`."""
        self._spans.add(columns, self.findings)

    @property
    def rows(self) -> int:
        """Events there are so far."""
        return self._operations.rows + self._calls.rows + self._spans.rows

    def finish(self, source: str, tick_ns: int, base_ns: int = 0) -> Trace:
        """The trace; `base_ns` is what the file adds to all its times."""
        tables = self._operations, self._calls, self._spans
        bounds = [each.extent() for each in tables if each.rows]
        origin = min((low for low, _ in bounds), default=0)
        end = max((high for _, high in bounds), default=0) - origin
        return Trace(
            source=source,
            names=list(self.names),
            threads=[Thread(*(str(part) for part in each)) for each in self.threads],
            operations=Operations(**self._operations.sorted_from(origin)),
            calls=Calls(**self._calls.sorted_from(origin)),
            spans=Spans(**self._spans.sorted_from(origin)),
            tick_ns=tick_ns,
            origin_ns=origin + base_ns,
            end_ns=end,
            devices=dict(self.devices),
            not_needed=dict(self.not_needed),
            not_understood=dict(self.not_understood),
            findings=dict(self.findings),
        )


class _Table:
    """The columns of one kind of event, batch after batch."""

    def __init__(self, types: dict[str, type]) -> None:
        self._types = types
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in types}
        self._low, self._high, self.rows = _LARGEST_NS, -_LARGEST_NS, 0

    def add(self, columns: dict[str, Any], findings: Counter[str]) -> None:
        arrays: dict[str, NDArray[Any]] = {
            name: np.asarray(columns[name], dtype=kind) for name, kind in self._types.items()
        }
        start, duration = arrays["start_ns"], arrays["duration_ns"]
        negative = duration < 0
        beyond = (np.abs(start) > _LARGEST_NS) | (duration > _LARGEST_NS)
        beyond |= np.abs(start.astype(np.float64) + duration) > _LARGEST_NS
        _count(findings, "negative duration", negative)
        _count(findings, "time out of range", beyond & ~negative)
        wrong = negative | beyond
        if wrong.any():
            arrays = {name: array[~wrong] for name, array in arrays.items()}
            start, duration = arrays["start_ns"], arrays["duration_ns"]
        if len(start):
            self._low = min(self._low, int(start.min()))
            self._high = max(self._high, int((start + duration).max()))
            self.rows += len(start)
        for name, array in arrays.items():
            self._parts[name].append(array)

    def extent(self) -> tuple[int, int]:
        return self._low, self._high

    def sorted_from(self, origin: int) -> dict[str, NDArray[Any]]:
        """The columns by start, moved to `origin`; empties the table as it goes, to save memory."""
        start = self._pop("start_ns") - origin
        order: Indices | Ints = np.argsort(start, kind="stable")
        done = {"start_ns": start[order]}
        del start
        done.update({name: self._pop(name)[order] for name in self._types if name not in done})
        return done

    def _pop(self, name: str) -> NDArray[Any]:
        parts = self._parts.pop(name)
        return np.concatenate(parts) if parts else np.empty(0, dtype=self._types[name])


def _count(findings: Counter[str], what: str, wrong: NDArray[np.bool_]) -> None:
    if wrong.any():
        findings[what] += int(wrong.sum())


def or_none(values: Iterable[int | None]) -> Ints:
    """Ids as a column: NONE where absent, or 0, which profilers write for "no id"."""
    return np.array([each or NONE for each in values], dtype=np.int64)
