"""SQLite exports of Nsight Systems: `nsys export --type sqlite`, versions 2019 to 2026.

Columns by version: Nsight Systems' exporter documentation ("SQLite Export Schema Reference", 2019
to 2022; "SQLite Schema Reference" in the User Guide later) and exports of 2022.2, 2024.5 and
2026.2. Tables exist where something was recorded; columns that came later are optional, and what is
absent is 0 in the oldest exports and NULL in others. Driver calls are in the runtime's table. What
the kinds of events mean: CUPTI's documentation of its activity records. Times are nanoseconds of
the host's clock, to which the device's were converted, since the session began.

CUDA graphs are recorded whole (one row for each launch, from its first node to its last) unless
`--cuda-graph-trace=node` was asked for: `OperationKind.GRAPH`. What lies between the nodes then
counts as busy, and the nodes can't be told apart.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftax_micro.analysis.traces.building import ByName, TraceBuilder
from ftax_micro.analysis.traces.events import (
    NONE,
    Ints,
    OperationKind,
    Trace,
    call_blocks,
    call_kind,
)
from ftax_micro.analysis.traces.nsight_names import MIGRATIONS, call_name, copy_name, set_name
from ftax_micro.analysis.traces.nsight_places import PLACE, Places, process_of, thread_of
from ftax_micro.analysis.traces.nsight_ranges import RANGES, Ranges
from ftax_micro.analysis.traces.nsight_strings import Strings
from ftax_micro.analysis.traces.sqlite_file import Database, numbers, opened
from ftax_micro.errors import UnreadableTraceError

_PREFIX = "CUPTI_ACTIVITY_KIND_"
_KERNELS, _COPIES, _SETS, _GRAPHS, _CALLS = (
    _PREFIX + each for each in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE", "RUNTIME")
)
_OPERATIONS = {
    _KERNELS: OperationKind.KERNEL,
    _COPIES: OperationKind.COPY,
    _SETS: OperationKind.SET,
    _GRAPHS: OperationKind.GRAPH,  # last: its nodes are known by then
}
# What else tells that a database is an export. A session that recorded nothing has no more.
_SIGNS = ("META_DATA_EXPORT", "EXPORT_META_DATA", "ANALYSIS_DETAILS", RANGES, *_OPERATIONS, _CALLS)
_START_TIME = "TARGET_INFO_SESSION_START_TIME"
_DIAGNOSTICS = "DIAGNOSTIC_EVENT"
_ERROR = 3  # ENUM_DIAGNOSTIC_SEVERITY_LEVEL
# Waits and events as the device saw them, which the host's calls tell as well; what the driver and
# the profiler did within calls; OpenACC's own view of them.
_NOT_NEEDED = ("SYNCHRONIZATION", "CUDA_EVENT", "OVERHEAD")
_NOT_NEEDED_BY_PREFIX = ("OPENACC_",)

# A row of stacks: the same call once more, around the call itself and with its correlation id.
_BACKTRACE = 67
_WHOLE_GRAPHS = "graphs recorded whole (what lies between their nodes counts as busy)"
_ON_HOST = 2**31 - 1  # the device of a graph that begins with a node on the host
# No time: beyond what a trace may hold, and different from any that a file has.
_NO_TIME = -(2**62) - 1
_TIMES = {"start": _NO_TIME, "end": _NO_TIME}
_COMMON = (*PLACE, "streamId", "correlationId")
# What an operation is named by, and with what other kind it may be two records of one.
_NAMED_BY = {
    OperationKind.KERNEL: ("demangledName", "shortName", "graphNodeId"),
    OperationKind.COPY: ("copyKind", "srcKind", "dstKind", "graphNodeId"),
    OperationKind.SET: ("memKind", "graphNodeId"),
    OperationKind.GRAPH: ("graphId",),
}
_CALL_COLUMNS = {**_TIMES, **dict.fromkeys(("globalTid", "correlationId", "nameId"), NONE)}


def read_nsight_export(path: str | Path) -> Trace:
    """The trace in an SQLite export of Nsight Systems.

    A trace without device activity is one (`Trace.has_device_activity`). What is no such export,
    is damaged, locked or has no events raises `UnreadableTraceError`; single rows that make no
    sense are counted in the trace's `findings`. Memory: that of the columns, about 60 bytes an
    event, and some 50 MB.
    """
    with opened(Path(path)) as database:
        _refuse_others(database)
        reader = _Reader(database)
        for table, kind in _OPERATIONS.items():
            if table in database.tables:
                reader.add_operations(table, kind)
        if _CALLS in database.tables:
            reader.add_calls()
        Ranges(database, reader.strings, reader.builder).add()
        reader.count_the_rest()
        if not reader.builder.rows:
            raise UnreadableTraceError(
                f"{path} has neither CUDA activity nor NVTX ranges: record with "
                "`nsys profile --trace=cuda,nvtx`"
            )
        reader.builder.devices.update(reader.places.names())
        return reader.builder.finish(str(path), tick_ns=1, base_ns=_session_start(database))


def _refuse_others(database: Database) -> None:
    tables = database.tables
    if "StringIds" in tables and any(each in tables for each in _SIGNS):
        for table in (*_OPERATIONS, _CALLS, RANGES):
            if table in tables and not database.has(table, "start", "end"):
                raise UnreadableTraceError(f"{database.name}: its table {table} has no times")
        return
    if "StringTable" in tables:
        what = "an export of nvprof, which is not understood"
    else:
        what = "an SQLite database, but no export of Nsight Systems"
    raise UnreadableTraceError(f"{database.name} is {what}")


def _session_start(database: Database) -> int:
    """Nanoseconds since 1970 at which the times count from, 0 if unknown."""
    if not database.has(_START_TIME, "utcEpochNs"):
        return 0
    rows = database.select(f"SELECT utcEpochNs FROM {_START_TIME} LIMIT 1")
    return rows[0][0] if rows and isinstance(rows[0][0], int) else 0


class _Reader:
    """Turns the tables into columns."""

    def __init__(self, database: Database) -> None:
        self.builder = TraceBuilder()
        self.strings = Strings(database)
        self.places = Places(database, _OPERATIONS, _CALLS)
        self._database = database
        self._kinds, self._blocks = ByName(call_kind), ByName(call_blocks)
        self._launched_nodes: set[int] = set()
        if self.places.unclear:
            self.builder.findings["processes that may share a GPU or not"] = self.places.unclear

    def add_operations(self, table: str, kind: OperationKind) -> None:
        """The kernels, copies, sets or graphs of one table."""
        findings = self.builder.findings
        columns = _TIMES | dict.fromkeys((*_COMMON, *_NAMED_BY[kind]), NONE)
        known = self.places.constants(table)
        if _GRAPHS not in self._database.tables:
            known["graphNodeId"] = NONE  # no graph is recorded twice
        if self._database.has(table, "demangledName"):
            known["shortName"] = NONE
        for rows in self._database.chunks(table, columns, known):
            rows = _timed(rows, findings)
            process = process_of(rows["globalPid"])
            correlation = self.places.correlations(rows["correlationId"], process)
            if kind is OperationKind.GRAPH:
                keep = self._whole_graphs(rows, correlation)
                rows = {name: column[keep] for name, column in rows.items()}
                process, correlation = process[keep], correlation[keep]
            else:
                of_graph = (rows["graphNodeId"] > 0) & (correlation != NONE)
                self._launched_nodes |= numbers(correlation[of_graph])
            if kind is OperationKind.COPY:
                moved = int(np.isin(rows["copyKind"], MIGRATIONS).sum())
                findings.update({"copies that unified memory caused": moved} if moved else {})
            device, stream = self.places.devices_and_streams(
                process, rows["deviceId"], rows["contextId"], rows["streamId"]
            )
            self.builder.add_operations(
                kind=np.full(len(process), kind),
                name=self._operation_names(kind, rows),
                start_ns=rows["start"],
                duration_ns=rows["end"] - rows["start"],
                device=device,
                stream=stream,
                correlation=correlation,
                external=np.full(len(process), NONE),
            )

    def _whole_graphs(self, rows: dict[str, Ints], correlation: Ints) -> NDArray[np.bool_]:
        """Which graphs are the only trace of their nodes, and on a device."""
        nodes = np.fromiter(self._launched_nodes, np.int64, len(self._launched_nodes))
        twice = np.isin(correlation, nodes)
        on_host = (rows["deviceId"] == _ON_HOST) & ~twice
        keep = np.asarray(~twice & ~on_host)
        findings = {
            "graphs that begin on the host": int(on_host.sum()),
            _WHOLE_GRAPHS: int(keep.sum()),
        }
        self.builder.findings.update({what: n for what, n in findings.items() if n})
        self.builder.not_needed.update(
            {"graph of known nodes": int(twice.sum())} if any(twice) else {}
        )
        return keep

    def _operation_names(self, kind: OperationKind, rows: dict[str, Ints]) -> Ints:
        names = self.builder.names
        if kind is OperationKind.KERNEL:
            demangled = rows["demangledName"]
            ids = np.where(demangled == NONE, rows["shortName"], demangled)
            texts, inverse = self.strings.named(ids)
        elif kind is OperationKind.COPY:
            kinds = np.stack([rows[each] for each in ("copyKind", "srcKind", "dstKind")], axis=1)
            each, inverse = np.unique(kinds, axis=0, return_inverse=True)
            texts = [copy_name(*map(int, row)) for row in each]
        elif kind is OperationKind.SET:
            memory, inverse = np.unique(rows["memKind"], return_inverse=True)
            texts = [set_name(int(value)) for value in memory]
        else:
            graphs, inverse = np.unique(rows["graphId"], return_inverse=True)
            texts = [f"CUDA graph {graph}" for graph in graphs]
        return np.array([names[text] for text in texts], np.int64)[inverse.reshape(-1)]

    def add_calls(self) -> None:
        """The runtime and driver calls."""
        where = ""
        if self._database.has(_CALLS, "eventClass"):
            where = f"WHERE eventClass IS NOT {_BACKTRACE}"
            if stacks := self._database.count(_CALLS, f"WHERE eventClass IS {_BACKTRACE}"):
                self.builder.not_needed["call with its stack"] = stacks
        for rows in self._database.chunks(_CALLS, _CALL_COLUMNS, {}, where):
            rows = _timed(rows, self.builder.findings)
            texts, inverse = self.strings.named(rows["nameId"])
            texts = [call_name(each) for each in texts]
            threads, thread = np.unique(rows["globalTid"], return_inverse=True)
            known = [self.builder.threads[thread_of(int(each))] for each in threads]

            def spread(values: list[Any], inverse: Ints = inverse) -> NDArray[Any]:
                return np.array(values, np.int64)[inverse]

            self.builder.add_calls(
                kind=spread([self._kinds[each] for each in texts]),
                name=spread([self.builder.names[each] for each in texts]),
                start_ns=rows["start"],
                duration_ns=rows["end"] - rows["start"],
                thread=spread(known, thread),
                correlation=self.places.correlations(
                    rows["correlationId"], process_of(rows["globalTid"])
                ),
                external=np.full(len(thread), NONE),
                blocks=spread([self._blocks[each] for each in texts]),
            )

    def count_the_rest(self) -> None:
        """Counts what the export has of CUDA beyond what is read, and what its writer warned of."""
        for table in self._database.tables:
            name = table.removeprefix(_PREFIX)
            if name == table or table in _OPERATIONS or table == _CALLS:
                continue
            if rows := self._database.count(table):
                known = name in _NOT_NEEDED or name.startswith(_NOT_NEEDED_BY_PREFIX)
                (self.builder.not_needed if known else self.builder.not_understood)[name] = rows
        if self._database.has(_DIAGNOSTICS, "severity"):
            query = f"SELECT count(*) FROM {_DIAGNOSTICS} WHERE severity = {_ERROR}"
            if errors := self._database.select(query)[0][0]:
                self.builder.findings["errors that Nsight Systems met while recording"] = errors


def _timed(rows: dict[str, Ints], findings: Counter[str]) -> dict[str, Ints]:
    """The rows that have times; CUPTI writes 0 for both where it could not collect them."""
    start, end = rows["start"], rows["end"]
    untimed = (start == _NO_TIME) | (end == _NO_TIME) | ((start == 0) & (end == 0))
    if not untimed.any():
        return rows
    findings["without a time"] += int(untimed.sum())
    return {name: column[~untimed] for name, column in rows.items()}
