"""A table for a terminal, drawn by rich."""

from __future__ import annotations

import io
import shutil
import sys

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ftax_micro.analysis.floor_view import FloorView
from ftax_micro.records import DeviceFacts
from ftax_micro.reporters.cells import absence, closure_line, headings, notes, row_cells

# A pipe has no width; what is read there should not be folded at 80 columns.
_PIPE_WIDTH = 132


def render_floor(view: FloorView) -> str:
    """One table per device, then what is absent and why, notes, and the closure checks."""
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else _PIPE_WIDTH
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=terminal, highlight=False)
    for device in view.result.devices:
        console.print(_device_table(view, device))
    _print_rest(console, view)
    return text.getvalue()


def _device_table(view: FloorView, device: DeviceFacts) -> Table:
    title = f"Launch anatomy of {device.name}" + (f": {device.model}" if device.model else "")
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for index, heading in enumerate(headings(view)):
        table.add_column(
            heading, justify="right" if 2 <= index <= 6 else "left", no_wrap=index != 1
        )
    for row in view.rows:
        if row.device == device.name and row.status == "ok":
            table.add_row(*row_cells(row))
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
