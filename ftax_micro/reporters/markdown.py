"""Markdown tables, for READMEs and issues."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.analysis.floor.view import FloorView
from ftax_micro.findings import Finding
from ftax_micro.reporters import cells, finding_cells
from ftax_micro.reporters.printable import markdown_text


def render_floor(view: FloorView) -> str:
    """One table per device, then lists of what is absent, notes and closure checks."""
    parts = []
    for device in view.result.devices:
        measured = [r for r in view.rows if r.device == device.name and r.status == "ok"]
        table = markdown_table(cells.headings(view), [cells.row_cells(r) for r in measured])
        parts.append(f"**Launch anatomy of {markdown_text(cells.title(device))}**\n\n{table}")
    lines = cells.absence_lines(view) + cells.notes(view)
    lines += [cells.break_even_line(view, each) for each in view.break_evens]
    lines += [cells.closure_line(view, closure) for closure in view.closures]
    lines += [cells.gap_line(view, gap) for gap in view.gaps]
    if not view.result.complete:
        lines.append(f"incomplete: {view.result.incomplete_reason}")
    if lines:
        parts.append(bullet_list(lines))
    return "\n\n".join(parts) + "\n"


def render_diagnosis(findings: Sequence[Finding]) -> str:
    """One table, then how many parts are in which state, and what can be measured here."""
    rows = [finding_cells.finding_cells(finding) for finding in findings]
    below = [finding_cells.tally(findings), finding_cells.conclusion(findings)]
    return f"{markdown_table(finding_cells.HEADINGS, rows)}\n\n{bullet_list(below)}\n"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A pipe table; cells are escaped."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(markdown_text(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def bullet_list(lines: Sequence[str]) -> str:
    """A list; lines are escaped."""
    return "\n".join(f"- {markdown_text(line)}" for line in lines)
