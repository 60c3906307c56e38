"""Writes SQLite exports as Nsight Systems does, to the columns its documentation lists.

Two generations: that of 2019, whose columns are never NULL (0 stands for what is absent), and that
of 2024 on. Events are those of `profiler_traces`, times in microseconds, so that one pipeline can
be written as either profiler would.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from profiler_traces import Event, complete

PROCESS = 99  # that of profiler_traces
START_NS = 1_700_000_000_000_000_000

_TIMES = "start INTEGER NOT NULL, end INTEGER NOT NULL"
_OLD_TIMES = "start INT NOT NULL, end INT NOT NULL"
_DEVICE = "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL"
_NEW_DEVICE = (
    "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "
    "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER"
)
NEW = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, cuDevice INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_TIMES}, {_NEW_DEVICE}, demangledName INTEGER NOT NULL, "
    "shortName INTEGER NOT NULL, mangledName INTEGER, gridX INTEGER, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_TIMES}, {_NEW_DEVICE}, bytes INTEGER, copyKind INTEGER, "
    "srcKind INTEGER, dstKind INTEGER, migrationCause INTEGER, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_TIMES}, {_NEW_DEVICE}, value INTEGER, bytes INTEGER, "
    "graphNodeId INTEGER, memKind INTEGER",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_TIMES}, {_NEW_DEVICE}, graphId INTEGER NOT NULL, "
    "graphExecId INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_TIMES}, {_NEW_DEVICE}, syncType INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": f"{_TIMES}, eventClass INTEGER NOT NULL, globalTid INTEGER, "
    "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER, callchainId INTEGER",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, "
    "rangeId INTEGER, category INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER,"
    " textId INTEGER, domainId INTEGER, jsonText TEXT",
    "DIAGNOSTIC_EVENT": "timestamp INTEGER, source INTEGER, severity INTEGER, text TEXT",
}
OLD = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_OLD_TIMES}, {_DEVICE}, correlationId INT NOT NULL, "
    "demangledName INT NOT NULL, shortName INT NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_OLD_TIMES}, {_DEVICE}, correlationId INT NOT NULL, "
    "bytes INT NOT NULL, copyKind INT NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_OLD_TIMES}, {_DEVICE}, correlationId INT NOT NULL",
    "CUPTI_ACTIVITY_KIND_RUNTIME": f"{_OLD_TIMES}, globalTid INT NOT NULL, "
    "correlationId INT NOT NULL, nameId INT NOT NULL, returnValue INT NOT NULL",
    "NVTX_EVENTS": f"{_OLD_TIMES}, eventType INT NOT NULL, text TEXT NOT NULL, "
    "globalTid INT NOT NULL, textId INT NOT NULL, domainId INT NOT NULL",
}
GENERATIONS = {"2019": OLD, "2024": NEW}
_KINDS = {
    "kernel": "KERNEL",
    "gpu_memcpy": "MEMCPY",
    "gpu_memset": "MEMSET",
    "graph": "GRAPH_TRACE",
}
_TABLES = {each: f"CUPTI_ACTIVITY_KIND_{kind}" for each, kind in _KINDS.items()}
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
PUSH_POP, START_END, MARK, DOMAIN = 59, 60, 34, 75


def global_id(process: int = PROCESS, thread: int = 0) -> int:
    """A `globalTid`, or `globalPid` without a thread: of machine 1, its virtual machine 1."""
    return 1 << 56 | 1 << 48 | process << 24 | thread


def graph(
    ts: float, dur: float, correlation: int, graph_id: int = 5, device: int = 0, stream: int = 7
) -> Event:
    """A graph launch recorded as a whole."""
    args = {"correlation": correlation, "device": device, "stream": stream}
    return complete("graph", "", ts, dur, graphId=graph_id, graphExecId=graph_id, **args)


def nvtx(
    text: str, ts: float, dur: float | None, *, event: int = PUSH_POP, tid: int = 10, **more: Any
) -> Event:
    """Any row of NVTX_EVENTS; `more` are columns."""
    return complete("nvtx", text, ts, dur, tid=tid, eventType=event, **more)  # type: ignore[arg-type]


class Export:
    """Tables of one generation, and what to put in them; `write` makes a file of those in use."""

    def __init__(self, generation: str = "2024") -> None:
        self.schema = GENERATIONS[generation]
        self.rows: dict[str, list[dict[str, Any]]] = {"StringIds": []}
        self._ids: dict[str, int] = {}
        if generation == "2024":
            self.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.13.2")
            self.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=START_NS)

    def string(self, text: str) -> int:
        """The id of a text."""
        if text not in self._ids:
            self._ids[text] = len(self._ids) + 1
            self.rows["StringIds"].append({"id": self._ids[text], "value": text})
        return self._ids[text]

    def add(self, table: str, **columns: Any) -> None:
        """A row, of which the columns the generation lacks are left out."""
        self.rows.setdefault(table, []).append(columns)

    def add_events(self, events: Iterable[Mapping[str, Any]]) -> Export:
        """Rows for events of `profiler_traces` and of this module."""
        for each in events:
            start = round(each["ts"] * 1000)
            end = None if each["dur"] is None else start + round(each["dur"] * 1000)
            times = {"start": start, "end": end}
            category, args = each["cat"], each["args"]
            if category in _TABLES:
                self._add_operation(category, {**each, **args}, times)
            elif category in ("nvtx", "user_annotation"):
                row = {"eventType": PUSH_POP, "text": each["name"], "domainId": 0, **args}
                self.add("NVTX_EVENTS", **{**times, "globalTid": _thread(each), **row})
            else:
                ids = {"correlationId": args.get("correlation", 0), "globalTid": _thread(each)}
                name = self.string(f"{each['name']}_v7000")
                more = {"eventClass": args.get("eventClass", 0), "returnValue": 0}
                self.add(_CALLS, **times, **ids, **more, nameId=name)
        return self

    def _add_operation(self, category: str, event: dict[str, Any], times: dict[str, Any]) -> None:
        row = {
            **times,
            "deviceId": event["device"],
            "contextId": event.get("context", 1),
            "streamId": event["stream"],
            "correlationId": event.get("correlation", 0),
            "globalPid": global_id(event.get("process", PROCESS)),
        }
        if category == "kernel":
            name = self.string(event["name"])
            row |= {"demangledName": name, "shortName": name}
        for each in ("copyKind", "srcKind", "dstKind", "memKind", "bytes", "graphNodeId"):
            row[each] = event.get(each)
        row |= {each: event[each] for each in ("graphId", "graphExecId") if each in event}
        self.add(_TABLES[category], **row)

    def write(self, path: Path) -> Path:
        """The file: tables exist where they have rows, as in real exports."""
        with contextlib.closing(sqlite3.connect(path)) as connection:
            for table, rows in self.rows.items():
                columns = self.schema[table]
                connection.execute(f"CREATE TABLE {table} ({columns})")
                names = [each.split()[0] for each in columns.split(",")]
                default = 0 if self.schema is OLD else None
                values = [[_value(row, name, default) for name in names] for row in rows]
                marks = ", ".join("?" * len(names))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
            connection.commit()
        return path


def _value(row: Mapping[str, Any], name: str, default: int | None) -> Any:
    value = row.get(name)
    return default if value is None else value


def _thread(event: Mapping[str, Any]) -> int:
    return global_id(event["args"].get("process", PROCESS), int(event["tid"]))


def export_of(events: Sequence[Mapping[str, Any]], path: Path, generation: str = "2024") -> Path:
    """The file of some events."""
    return Export(generation).add_events(events).write(path)
