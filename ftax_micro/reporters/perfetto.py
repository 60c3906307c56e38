"""Timelines as a file for ui.perfetto.dev and chrome://tracing.

The format is Chrome's trace event format, JSON object form: a process for each timeline, a thread
for each row, complete events (``X``) for what takes time, flow events (``s``, ``f``) from a call to
its operation, a counter (``C``) for the depth of the queue. Of threads it asks that what overlaps
is nested, of identifiers that they are not used twice.

What was measured has the categories of the PyTorch profiler, so that queries and tools for its
traces find it; what is a schedule has the category ``bound``.
"""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

import msgspec

from ftax_micro.analysis.tracks.contract import (
    NONE,
    NS,
    WRITER,
    Fact,
    Layer,
    Row,
    Stretches,
    Timeline,
    rows,
)
from ftax_micro.reporters.printable import printable

_CATEGORIES = {
    "kernel": "kernel",
    "graph": "kernel",
    "copy": "gpu_memcpy",
    "set": "gpu_memset",
    "call": "cuda_runtime",
}
_SCHEDULED = "bound"
_SUMMARY = "forward"
_FLOW = "launch"
_QUEUE = "queue"
_LEVEL = 6

Event = dict[str, Any]


class Edge(NamedTuple):
    """Where an arrow begins or ends: the start of a stretch, its thread, its end."""

    start_ns: int
    thread: int
    end_ns: int


def render_perfetto(timelines: Iterable[Timeline], version: str, *, packed: bool) -> bytes:
    """The file, gzip if `packed`; the same timelines are the same bytes. Each is let go as soon as
    it is written.
    """
    buffer = io.BytesIO()
    if not packed:
        _write(buffer, timelines, version)
    else:
        with gzip.GzipFile("", "wb", _LEVEL, buffer, mtime=0) as stream:
            _write(stream, timelines, version)
    return buffer.getvalue()


def _write(stream: Any, timelines: Iterable[Timeline], version: str) -> None:
    about = {"writer": WRITER, "version": version, "times": "µs after the begin of each forward"}
    head = {"displayTimeUnit": "ns", "otherData": about}
    stream.write(msgspec.json.encode(head)[:-1] + b',"traceEvents":[\n')
    encoder = msgspec.json.Encoder()
    numbers, flows = count(1), count(1)
    between = b""
    for place, timeline in enumerate(timelines):
        for event in _Process(timeline, place, numbers, flows).events():
            stream.write(between + encoder.encode(event))
            between = b",\n"
    stream.write(b"\n]}\n")


class _Process:
    """The events of one timeline. Identifiers of processes and threads come from one sequence:
    a thread that has its process's is taken for its first.
    """

    def __init__(
        self, timeline: Timeline, place: int, numbers: Iterator[int], flows: Iterator[int]
    ) -> None:
        self._timeline, self._place = timeline, place
        self._numbers, self._flows = numbers, flows
        self._process = next(numbers)
        # Viewers begin at 0: where clocks disagree, an operation may begin before its forward.
        earliest = [
            int(each.start_ns.min())
            for layer in timeline.layers
            for each in (layer.calls, layer.operations)
            if len(each)
        ]
        self._shift = -min([0, *earliest])
        self._order = count()

    def events(self) -> Iterator[Event]:
        """All of them; what encloses stands before what it encloses."""
        name = {"name": printable(self._timeline.name)}
        yield self._about("process_name", self._process, name)
        yield self._about("process_sort_index", self._process, {"sort_index": self._place})
        for layer in self._timeline.layers:
            yield from self._layer(layer)
        yield from self._counter()

    def _layer(self, layer: Layer) -> Iterator[Event]:
        yield from self._summary(layer)
        calls: dict[int, int] = {}
        operations: dict[int, int] = {}
        for found, threads in ((layer.calls, calls), (layer.operations, operations)):
            for row in rows(found):
                yield from self._row(layer, found, row, threads)
        asked = set()
        for place, call in enumerate(layer.call.tolist()):
            # Of a schedule's graph the first operation: the others follow by themselves.
            if call == NONE or (not layer.measured and call in asked):
                continue
            asked.add(call)
            begin = _edge(layer.calls, call, calls)
            yield from self._flow(begin, _edge(layer.operations, place, operations))

    def _summary(self, layer: Layer) -> Iterator[Event]:
        thread = next(self._numbers)
        yield from self._thread(thread, layer.name)
        facts: dict[str, Fact] = dict(layer.facts or {})
        if self._shift and layer.measured:
            facts["begins_at_s"] = self._shift * NS
        category = _SUMMARY if layer.measured else _SCHEDULED
        yield self._stretch(thread, layer.name, category, (0, layer.end_ns), facts)
        if layer.waits_ns is not None and layer.waits_ns[0] < layer.waits_ns[1]:
            yield self._stretch(thread, "sync", category, layer.waits_ns, {})

    def _row(
        self, layer: Layer, found: Stretches, row: Row, threads: dict[int, int]
    ) -> Iterator[Event]:
        thread = next(self._numbers)
        yield from self._thread(thread, f"{layer.name}: {row.name}")
        for place in row.which.tolist():
            threads[place] = thread
            category = _CATEGORIES[found.kind[place]] if layer.measured else _SCHEDULED
            stretch = int(found.start_ns[place]), int(found.end_ns[place])
            facts = found.facts[place] if found.facts else {}
            yield self._stretch(thread, found.name[place], category, stretch, facts)

    def _stretch(
        self,
        thread: int,
        name: str,
        category: str,
        stretch: tuple[int, int],
        facts: Mapping[str, Fact],
    ) -> Event:
        start, end = stretch
        event: Event = {
            "ph": "X",
            "cat": category,
            "name": printable(name),
            "pid": self._process,
            "tid": thread,
            "ts": microseconds(start + self._shift),
            "dur": microseconds(end - start),
        }
        if facts:
            event["args"] = dict(_argument(key, value) for key, value in facts.items())
        return event

    def _flow(self, begin: Edge, end: Edge) -> Iterator[Event]:
        number = next(self._flows)
        for phase, (at, thread, until) in (("s", begin), ("f", end)):
            # At an edge that two stretches share, viewers do not agree which one it belongs to.
            inside = at + 1 if until > at + 1 else at
            event: Event = {
                "ph": phase,
                "cat": _FLOW,
                "name": _FLOW,
                "id": number,
                "pid": self._process,
                "tid": thread,
                "ts": microseconds(inside + self._shift),
            }
            yield event if phase == "s" else {**event, "bp": "e"}

    def _counter(self) -> Iterator[Event]:
        times, counts = self._timeline.depth
        for at, depth in zip(times.tolist(), counts.tolist(), strict=True):
            yield {
                "ph": "C",
                "cat": _QUEUE,
                "name": "measured: queued",
                "pid": self._process,
                "ts": microseconds(at + self._shift),
                "args": {"operations": depth},
            }

    def _thread(self, thread: int, name: str) -> Iterator[Event]:
        yield self._about("thread_name", thread, {"name": printable(name)})
        yield self._about("thread_sort_index", thread, {"sort_index": next(self._order)})

    def _about(self, what: str, thread: int, facts: dict[str, Any]) -> Event:
        return {"ph": "M", "name": what, "pid": self._process, "tid": thread, "args": facts}


def _edge(found: Stretches, place: int, threads: Mapping[int, int]) -> Edge:
    return Edge(int(found.start_ns[place]), threads[place], int(found.end_ns[place]))


def microseconds(nanoseconds: int) -> float:
    """Microseconds that are this nanosecond to all who read them: Perfetto multiplies by 1000 and
    cuts off, and for some of the nearest floats that is the nanosecond before.
    """
    nearest = nanoseconds / 1000
    if int(nearest * 1000.0) == nanoseconds:
        return nearest
    return math.nextafter(nearest, math.copysign(math.inf, nanoseconds))


def _argument(key: str, value: Fact) -> tuple[str, Any]:
    """A fact as viewers show it: times in microseconds, text in one line each."""
    if key.endswith("_s") and isinstance(value, float):
        return f"{key[:-2]}_us", round(value * 1e6, 3)
    if isinstance(value, str):
        return key, printable(value)
    if isinstance(value, (int, float)):
        return key, value
    return key, [printable(each) if isinstance(each, str) else each for each in value]
