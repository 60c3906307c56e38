"""What each op of a framework costs: host time, launches, device time, its part of the tax."""

from __future__ import annotations

from dataclasses import replace

from ftax_micro.analysis.names import legible
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, named_source
from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.per_operation import OperationRow, OperationTable, per_operation
from ftax_micro.analysis.traces.steps import analyse_steps
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.units import format_seconds

COLUMNS = (
    Column("source", None, folds=True, spare=0),
    Column("op", "op", folds=True),
    Column("device", None, spare=1),
    Column("calls", "calls", Unit.COUNT, spare=6),
    Column("launches", "launches", Unit.COUNT, spare=8),
    Column("operations", None, Unit.COUNT),
    Column("dispatch", "own time", Unit.SECONDS, spare=10),
    Column("python", "python", Unit.SECONDS, spare=9),
    Column("launch_call", "in launches", Unit.SECONDS, spare=7),
    Column("other_call", "in other calls", Unit.SECONDS, spare=2),
    Column("blocked", None, Unit.SECONDS),
    Column("launch_delay", "delay", Unit.SECONDS, spare=3),
    Column("negative_delays", None, Unit.COUNT),
    Column("device_time", "device time", Unit.SECONDS, spare=5),
    Column("libraries", "library", spare=2),
    Column("library_share", None, Unit.SHARE),
    Column("exposed", "exposed", Unit.SECONDS, spare=4),
    Column("share_of_tax", "of tax", Unit.SHARE),
)
NO_OPS = "a result has no ops of a framework: a trace of the PyTorch profiler has"


def build(question: Question) -> Sheet:
    """A row for every op of the traces, over all their steps."""
    rows: list[Row] = []
    lines: list[str] = []
    for name, trace in question.traces:
        correlation = correlate(trace)
        steps = analyse_steps(trace, question.windows(trace), correlation)
        table = per_operation(trace, steps, correlation)
        rows += [_row(name, row, table) for row in table.rows]
        lines += _below(name, table, trace.has_device_activity)
    lines += [f"{name}: {NO_OPS}" for name, _ in question.results]
    source, op, device, *others = COLUMNS
    if any(len(trace.device_ids) > 1 for _, trace in question.traces):
        device = replace(device, heading="device")
    columns = (named_source(source, [str(row.cells[0]) for row in rows]), op, device, *others)
    return Sheet("operations", None, columns, tuple(rows), tuple(lines))


VIEW = View("what each op of a trace costs, and its share of the tax", build)


def _row(source: str, row: OperationRow, table: OperationTable) -> Row:
    share = row.exposed_s / table.exposed_s if table.exposed_s > 0 else None
    libraries = ", ".join(row.libraries) if row.libraries else None
    native = "native" if row.kernel_s > 0 else None
    cells = (
        *(source, _name(row), None if row.device is None else f"cuda:{row.device}"),
        *(row.calls, row.launches, row.operations, row.dispatch_s),
        *(row.python_s if table.python else None, row.launch_s, row.other_call_s, row.blocked_s),
        *(row.delay_s, row.negative_delays, row.device_s, libraries or native),
        *(row.library_share, row.exposed_s, share),
    )
    return Row(cells)


def _name(row: OperationRow) -> str:
    if row.op is not None:
        return legible(row.op)
    return f"({row.apart})" if row.annotation is None else f"(in {legible(row.annotation)})"


def _below(name: str, table: OperationTable, has_device: bool) -> list[str]:
    steps = "1 step" if table.steps == 1 else f"{table.steps:,} steps"
    if not has_device:
        return [f"{name}: {steps}; no device activity, so that nothing of it is a framework's tax"]
    negative = sum(row.negative_delays for row in table.rows)
    lines = [
        f"{name}: in {steps}, {format_seconds(table.latency_s)} in all, the device waited "
        f"{format_seconds(table.exposed_s)} for the host to launch; 'of tax' is who spent that time"
    ]
    if negative:
        lines.append(
            f"{name}: launch delays below 0, of operations that began before their call had "
            f"returned: {negative:,}; they are in the medians"
        )
    if table.crossing:
        lines.append(
            f"{name}: events that outlast the one they began in: {table.crossing:,}; their time "
            "counts for the one that began last"
        )
    return lines
