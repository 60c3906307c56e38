"""Latency, bounds, tax and regime of every case and every step."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.analysis.bounds_view import BoundRow, rows_of_result, rows_of_trace
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.units import format_seconds

COLUMNS = (
    Column("source", None),
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
    Column("tax_share", "share", Unit.SHARE, interval=True),
    Column("regime", "regime", spare=7),
    Column("status", None),
    Column("reason", None),
    Column("paper_regime", None),
    Column("operations", None, Unit.COUNT),
)


def build(question: Question) -> Sheet:
    """A row for every case of the results and every step of the traces."""
    rows = [
        row
        for name, result in question.results
        for row in rows_of_result(name, result, question.floor)
    ]
    rows += [
        row
        for name, trace in question.traces
        for row in rows_of_trace(name, trace, question.windows(trace))
    ]
    return Sheet("bounds", None, COLUMNS, tuple(map(_row, rows)), tuple(_below(rows)))


VIEW = View("latency, bounds, framework tax and regime", build)


def _row(row: BoundRow) -> Row:
    cells = (
        *(row.source, row.case, row.mode, row.latency, row.device_bound),
        *(row.launch_bound, row.graph_bound, row.busy, row.idle, row.launches, row.tax),
        *(row.tax_share, row.regime, row.status, row.reason, row.paper_regime, row.operations),
    )
    return Row(cells, shown=row.latency is not None)


def _below(rows: Sequence[BoundRow]) -> list[str]:
    """Why each is what it is; reasons that hold for several once."""
    lines = [f"{row.case} {row.mode}: {row.regime}, {row.why}" for row in rows if row.why]
    for row in rows:
        causes = ", ".join(f"{cause} {format_seconds(part)}" for cause, part in row.idle_by_cause)
        lines += [f"{row.case}: idle by cause: {causes}"] if causes else []
        lines += [f"{row.case} {row.mode}: {note}" for note in row.notes]
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.reason:
            name = row.case if row.mode == "trace" else f"{row.case} {row.mode}"
            reasons.setdefault((row.status, row.reason), []).append(name)
    for (status, reason), names in reasons.items():
        word = "no bounds" if status == "ok" else status
        lines.append(f"{', '.join(names)}: {word}, {reason}")
    return lines
