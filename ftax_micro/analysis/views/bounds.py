"""Latency, bounds, tax and regime of every case and every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ftax_micro.analysis.bounding.rows import BoundRow, rows_of_cases
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, named_source, one_source
from ftax_micro.analysis.trace_rows import TraceRows, rows_of_trace
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import Subject, reason_lines
from ftax_micro.units import format_seconds

COLUMNS = (
    Column("source", None, folds=True, spare=0),
    Column("case", "case", folds=True),
    Column("mode", "mode"),
    Column("latency", "latency", Unit.SECONDS),
    Column("device_bound", "device bound", Unit.SECONDS, spare=5),
    Column("launch_bound", "launch bound", Unit.SECONDS, spare=4),
    Column("graph_bound", "graph bound", Unit.SECONDS, spare=1),
    Column("busy", "busy", Unit.SECONDS, spare=3),
    Column("idle", "idle", Unit.SECONDS, spare=2),
    Column("launches", None, Unit.COUNT),
    Column("tax", "tax", Unit.SECONDS, interval=True),
    Column("tax_share", "share", Unit.SHARE, interval=True, spare=6),
    Column("regime", "regime", spare=7),
    Column("status", None),
    Column("reason", None),
    Column("paper_regime", None),
    Column("operations", None, Unit.COUNT),
    Column("occupied", None, Unit.SECONDS),
    Column("launch_delay", None, Unit.SECONDS),
    Column("queue_depth", None, Unit.COUNT),
)


def build(question: Question) -> Sheet:
    """A row for every case of the results and every step of the traces."""
    rows = [row for each in question.models for row in rows_of_cases(each.source, each.bounds)]
    traces = {
        name: rows_of_trace(name, trace, question.windows(trace), question.trace_floor(trace))
        for name, trace in question.traces
    }
    rows += [row for each in traces.values() for row in each.rows]
    names = [row.source for row in rows]
    subjects = [_subject(row, question.prefix(row.source)) for row in rows]
    lines = (*_of_traces(traces, named=not one_source(names)), *_reasons(subjects, rows))
    columns = (named_source(COLUMNS[0], names), *COLUMNS[1:])
    return Sheet("bounds", None, columns, tuple(map(_row, subjects, rows)), lines)


VIEW = View("latency, bounds, framework tax and regime", build)


def _row(subject: Subject, row: BoundRow) -> Row:
    cells = (
        *(row.source, row.case, row.mode, row.latency, row.device_bound),
        *(row.launch_bound, row.graph_bound, row.busy, row.idle, row.launches, row.tax),
        *(row.tax_share, row.regime, row.status, row.reason, row.paper_regime, row.operations),
        *(row.occupied, row.launch_delay, row.queue_depth),
    )
    return Row(cells, row.latency is not None, tuple(_sentences(subject, row)))


def _sentences(subject: Subject, row: BoundRow) -> list[str]:
    """Why it is what it is."""
    name = " ".join(part for part in subject if part)
    lines = [f"{name}: {row.regime}, {row.why}"] if row.why else []
    causes = [f"{cause} {format_seconds(part)}" for cause, part in row.idle_by_cause if part]
    notes = [f"idle by cause: {', '.join(causes)}"] if causes else []
    notes += row.notes
    if row.mode == "trace" and notes:  # a trace may have many steps, each with all of these
        notes = ["; ".join(notes)]
    return lines + [f"{name}: {note}" for note in notes]


def _of_traces(traces: Mapping[str, TraceRows], *, named: bool) -> list[str]:
    """What holds for whole traces."""
    return [
        f"{name}: {line}" if named else line for name, each in traces.items() for line in each.lines
    ]


def _subject(row: BoundRow, prefix: str) -> Subject:
    return Subject(prefix + row.case, None if row.mode == "trace" else row.mode)


def _reasons(subjects: Sequence[Subject], rows: Sequence[BoundRow]) -> list[str]:
    told = [
        (subject, f"{'no bounds' if row.status == 'ok' else row.status}, {row.reason}")
        for subject, row in zip(subjects, rows, strict=True)
        if row.reason
    ]
    return reason_lines(told, subjects)
