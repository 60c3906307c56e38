"""Markdown tables, for READMEs and issues."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.analysis.comparison import Comparison
from ftax_micro.analysis.floor_view import FloorView
from ftax_micro.findings import Finding
from ftax_micro.reporters import comparison_cells as cells
from ftax_micro.reporters import finding_cells
from ftax_micro.reporters.cells import absence, closure_line, headings, notes, row_cells


def render_floor(view: FloorView) -> str:
    """One table per device, then lists of what is absent, notes and closure checks."""
    parts = []
    for device in view.result.devices:
        title = f"**Launch anatomy of {device.name}**" + (
            f": {device.model}" if device.model else ""
        )
        rows = [row_cells(r) for r in view.rows if r.device == device.name and r.status == "ok"]
        parts.append(f"{title}\n\n{markdown_table(headings(view), rows)}")
    lines = [absence(row) for row in view.rows if row.status != "ok"]
    lines += notes(view) + [closure_line(closure) for closure in view.closures]
    if not view.result.complete:
        lines.append(f"incomplete: {view.result.incomplete_reason}")
    if lines:
        parts.append("\n".join(f"- {_escaped(line)}" for line in lines))
    return "\n\n".join(parts) + "\n"


def render_comparison(comparison: Comparison) -> str:
    """The results, a table per device, then the tally, what is absent, and notes."""
    parts = [markdown_table(cells.SIDE_HEADINGS, cells.side_cells(comparison))]
    for device, rows in cells.device_rows(comparison):
        lines = [line for row in rows for line in cells.row_cells(comparison, row)]
        parts.append(f"**{device}**\n\n{markdown_table(cells.row_headings(comparison), lines)}")
    lines_below = [cells.tally(comparison)]
    lines_below += cells.absence_lines(comparison) + cells.note_lines(comparison)
    parts.append("\n".join(f"- {_escaped(line)}" for line in lines_below))
    return "\n\n".join(parts) + "\n"


def render_diagnosis(findings: Sequence[Finding]) -> str:
    """One table."""
    return (
        markdown_table(finding_cells.HEADINGS, [finding_cells.finding_cells(f) for f in findings])
        + "\n"
    )


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A pipe table; cells are escaped."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
