"""NVTX ranges of an Nsight Systems export: annotations, steps, and ops of PyTorch's `emit_nvtx`.

A push/pop range nests with the others of its thread. A start/end range may overlap any other and
end on another thread than it began on; it is given to the one it began on, and is never an op.
Source: Nsight Systems, Post-Collection Analysis Guide, "SQLite Schema Event Values" (event types);
NVTX's own documentation (what may nest and what may not).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ftax_micro.analysis.traces.building import TraceBuilder
from ftax_micro.analysis.traces.events import NONE, SpanKind
from ftax_micro.analysis.traces.nsight_names import range_name, without_op
from ftax_micro.analysis.traces.nsight_places import thread_of
from ftax_micro.analysis.traces.nsight_strings import Strings
from ftax_micro.analysis.traces.sqlite_file import Database

RANGES = "NVTX_EVENTS"
# By ENUM_NSYS_EVENT_TYPE; the second of each pair: from text files, by nvtxt.
_PUSH_POP, _START_END = (59, 70), (60, 71)
_BEGINS, _ENDS = (35, 37, 66, 68), (36, 38, 67, 69)
_DOMAIN = 75
# Marks, and names of categories, threads, domains, devices, contexts and streams.
_NOT_RANGES = (32, 33, 34, 39, 64, 65, 72, 73, 74, _DOMAIN, 76, 97, 98, 99)

_OPEN = "NVTX ranges without an end"
_NUMBERS = ("start", "end", "eventType", "globalTid", "domainId", "textId")


class Ranges:
    """Adds the ranges of an export to a builder's spans."""

    def __init__(self, database: Database, strings: Strings, builder: TraceBuilder) -> None:
        self._database, self._strings, self._builder = database, strings, builder
        self._domains: dict[tuple[int, int], str] = {}
        self._named: dict[tuple[str, bool, str | None], tuple[int, SpanKind]] = {}

    def add(self) -> None:
        """Everything there is; nothing where the export has no ranges."""
        if RANGES not in self._database.tables:
            return
        columns = [self._column(each) for each in (*_NUMBERS, "text")]
        query = f"SELECT {', '.join(columns)} FROM {RANGES}"
        try:
            self._read_domains(f"{query} WHERE eventType = {_DOMAIN}")
            for rows in self._database.batches(query):
                self._add(rows)
        except (TypeError, ValueError, OverflowError):
            raise self._database.no_numbers(RANGES) from None

    def _column(self, name: str) -> str:
        return f'"{name}"' if self._database.has(RANGES, name) else "NULL"

    def _read_domains(self, query: str) -> None:
        for _, _, _, thread, domain, text_id, text in self._database.select(query):
            name = text or self._text(text_id)
            if name and domain:
                self._domains[self._process(thread), domain] = name

    def _add(self, rows: list[tuple[Any, ...]]) -> None:
        builder = self._builder
        columns: dict[str, list[int]] = {
            each: [] for each in ("kind", "name", "start_ns", "duration_ns", "thread")
        }
        for start, end, event, thread, domain, text_id, text in rows:
            if event not in _PUSH_POP and event not in _START_END:
                self._count(event)
                continue
            # The oldest exports hold 0 where there is no end.
            if start is None or not end:
                builder.findings[_OPEN if start is not None else "without a time"] += 1
                continue
            name, kind = self._name(text, text_id, thread, domain)
            if kind is SpanKind.OP and event in _START_END:
                kind = SpanKind.ANNOTATION
            columns["kind"].append(kind)
            columns["name"].append(name)
            columns["start_ns"].append(start)
            columns["duration_ns"].append(end - start)
            columns["thread"].append(builder.threads[thread_of(NONE if thread is None else thread)])
        builder.add_spans(**columns, external=[NONE] * len(columns["kind"]))

    def _count(self, event: int) -> None:
        """What is no range with two ends."""
        counts: Counter[str] = self._builder.not_needed
        what = "NVTX mark or name"
        if event in _BEGINS:
            counts, what = self._builder.findings, _OPEN
        elif event in _ENDS:
            counts, what = self._builder.findings, "NVTX ranges without a begin"
        elif event not in _NOT_RANGES:
            counts, what = self._builder.not_understood, f"NVTX event of type {event}"
        counts[what] += 1

    def _name(self, text: Any, text_id: Any, thread: Any, domain: Any) -> tuple[int, SpanKind]:
        words = text or self._text(text_id) or "range without a text"
        key = (
            *without_op(words),
            self._domains.get((self._process(thread), domain)) if domain else None,
        )
        known = self._named.get(key)
        if known is None:
            name, kind = range_name(*key)
            known = self._named[key] = self._builder.names[name], kind
        return known

    def _text(self, text_id: Any) -> str | None:
        return self._strings.get(text_id) if isinstance(text_id, int) else None

    def _process(self, thread: Any) -> int:
        return thread_of(NONE if thread is None else thread)[0]
