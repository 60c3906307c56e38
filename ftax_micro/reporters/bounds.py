"""A bound analysis as a table, CSV, JSON and markdown."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence

import msgspec

from ftax_micro.analysis.bounds_view import BoundRow
from ftax_micro.reporters.markdown import bullet_list, markdown_table
from ftax_micro.reporters.table import Page
from ftax_micro.stats import Estimate
from ftax_micro.units import digits_for, format_seconds

_COLUMNS = (
    *("source", "case", "regime", "latency_s", "device_bound_s", "launch_bound_s"),
    *("graph_bound_s", "busy_s", "idle_s", "launches", "tax_s", "tax_low_s", "tax_high_s"),
    *("tax_share", "status", "reason", "mode", "paper_regime", "operations"),
    *("latency_low_s", "latency_high_s", "tax_share_low", "tax_share_high"),
)
_HEADINGS = (
    *("case", "mode", "latency", "device bound", "launch bound", "graph bound", "busy", "idle"),
    *("tax", "share", "regime"),
)


def render_csv(rows: Sequence[BoundRow]) -> str:
    """One row per case or step, seconds; empty where nothing is known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_csv_cells(row) for row in rows)
    return text.getvalue()


def render_json(rows: Sequence[BoundRow]) -> str:
    """All fields under their names; an estimate as value, low, high."""
    content = {"kind": "bound_analysis", "rows": [dataclasses.asdict(row) for row in rows]}
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"


def render_markdown(rows: Sequence[BoundRow]) -> str:
    """One table, then why, what has no bounds, and notes."""
    measured = [row for row in rows if row.latency]
    parts = [markdown_table(_HEADINGS, [_cells(row) for row in measured])] if measured else []
    lines = _below(rows)
    return "\n\n".join([*parts, *([bullet_list(lines)] if lines else [])]) + "\n"


def render_table(rows: Sequence[BoundRow]) -> str:
    """One table, then why, what has no bounds, and notes."""
    page = Page()
    measured = [row for row in rows if row.latency]
    if measured:
        cells = [_cells(row) for row in measured]
        page.table(None, _HEADINGS, cells, right=range(2, 10), folding=(0,), spare=(5, 7, 6, 4))
        page.say_what_was_left_out()
    for line in _below(rows):
        page.line(line)
    return page.text()


def _cells(row: BoundRow) -> tuple[str, ...]:
    return (
        row.case,
        row.mode,
        *map(_text, (row.latency, row.device_bound, row.launch_bound, row.graph_bound)),
        *map(_text, (row.busy, row.idle)),
        _interval(row.tax),
        _share(row.tax_share),
        row.regime or "–",
    )


def _text(found: Estimate | None) -> str:
    return "–" if found is None else format_seconds(found.value)


def _interval(found: Estimate | None) -> str:
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return format_seconds(found.value)
    digits = digits_for(found.value, (found.high - found.low) / 2)
    return f"{digits.text(found.value)} ({digits.interval(found.low, found.high)})"


def _share(found: Estimate | None) -> str:
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.value * 100:.0f} %"
    return f"{found.value * 100:.0f} % ({found.low * 100:.0f} … {found.high * 100:.0f} %)"


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


def _csv_cells(row: BoundRow) -> list[object]:
    latency, tax, share = (each or _NOTHING for each in (row.latency, row.tax, row.tax_share))
    return [
        *(row.source, row.case, row.regime),
        *map(_value, (row.latency, row.device_bound, row.launch_bound, row.graph_bound)),
        *map(_value, (row.busy, row.idle)),
        row.launches,
        *(_value(row.tax), _number(tax.low), _number(tax.high), _value(row.tax_share)),
        *(row.status, row.reason, row.mode, row.paper_regime, row.operations),
        *map(_number, (latency.low, latency.high, share.low, share.high)),
    ]


def _value(found: Estimate | None) -> str:
    return "" if found is None else _number(found.value)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


_NOTHING = Estimate(0.0, None, None)
