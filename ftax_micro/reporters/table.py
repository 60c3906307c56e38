"""A table for a terminal, drawn by rich."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ftax_micro.analysis.comparison import ComparedRow, Comparison
from ftax_micro.analysis.floor_view import FloorView
from ftax_micro.findings import Finding
from ftax_micro.records import DeviceFacts
from ftax_micro.reporters import comparison_cells, finding_cells
from ftax_micro.reporters.cells import absence, closure_line, headings, notes, row_cells

# A pipe has no width; what is read there should not be folded at 80 columns.
_PIPE_WIDTH = 132
_VERDICT_STYLES = {"faster": "green", "slower": "red", "different": "red", "ambiguous": "yellow"}
_STATUS_STYLES = {"ok": "green", "missing": "dim", "broken": "red", "warning": "yellow"}


def render_floor(view: FloorView) -> str:
    """One table per device, then what is absent and why, notes, and the closure checks."""
    text = io.StringIO()
    console = _console(text)
    for device in view.result.devices:
        console.print(_device_table(view, device))
    _print_rest(console, view)
    return text.getvalue()


def render_comparison(comparison: Comparison) -> str:
    """The results, a table per device, then the tally, what is absent, and notes."""
    text = io.StringIO()
    console = _console(text)
    sides = _table("Results", comparison_cells.SIDE_HEADINGS)
    for cells in comparison_cells.side_cells(comparison):
        sides.add_row(*map(Text, cells))
    console.print(sides)
    for device, rows in comparison_cells.device_rows(comparison):
        console.print(_comparison_table(comparison, device, rows))
    console.print(Text(comparison_cells.tally(comparison)))
    for line in comparison_cells.absence_lines(comparison):
        console.print(Text(line, style="yellow"))
    for line in comparison_cells.note_lines(comparison):
        console.print(Text(line, style="dim"))
    return text.getvalue()


def render_diagnosis(findings: Sequence[Finding]) -> str:
    """One table, then how many parts are in which state."""
    text = io.StringIO()
    console = _console(text)
    table = _table(None, finding_cells.HEADINGS)
    for finding in findings:
        part, status, detail, advice = finding_cells.finding_cells(finding)
        table.add_row(Text(part), Text(status, _STATUS_STYLES[status]), Text(detail), Text(advice))
    console.print(table)
    console.print(Text(finding_cells.tally(findings)))
    return text.getvalue()


def _console(text: io.StringIO) -> Console:
    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else _PIPE_WIDTH
    return Console(file=text, width=width, force_terminal=terminal, highlight=False)


def _table(title: str | None, headings: Sequence[str]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")  # a long path is folded, not cut
    return table


def _comparison_table(comparison: Comparison, device: str, rows: Sequence[ComparedRow]) -> Table:
    table = _table(device, comparison_cells.row_headings(comparison))
    for column in table.columns[3:7]:
        column.justify = "right"
        column.no_wrap = True
    for row in rows:
        for line in comparison_cells.row_cells(comparison, row):
            style = _VERDICT_STYLES.get(line[-1].rstrip("*"), "")
            table.add_row(*map(Text, line[:-1]), Text(line[-1], style))
    return table


def _device_table(view: FloorView, device: DeviceFacts) -> Table:
    title = f"Launch anatomy of {device.name}" + (f": {device.model}" if device.model else "")
    # As text: what a driver or a user named must not be read as markup.
    styled = Text(title, "table.title")
    table = Table(title=styled, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for index, heading in enumerate(headings(view)):
        table.add_column(
            heading, justify="right" if 2 <= index <= 6 else "left", no_wrap=index != 1
        )
    for row in view.rows:
        if row.device == device.name and row.status == "ok":
            table.add_row(*map(Text, row_cells(row)))
    return table


def _print_rest(console: Console, view: FloorView) -> None:
    absent = [absence(row) for row in view.rows if row.status != "ok"]
    for line in absent:
        console.print(Text(line, style="yellow"))
    for line in notes(view):
        console.print(Text(line, style="dim"))
    for closure in view.closures:
        console.print(Text(closure_line(closure), style="red" if closure.flagged else "green"))
    if not view.result.complete:
        console.print(Text(f"incomplete: {view.result.incomplete_reason}", style="red"))
