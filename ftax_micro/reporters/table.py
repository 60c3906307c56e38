"""A table for a terminal, drawn by rich."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

from ftax_micro.analysis.floor.view import FloorView
from ftax_micro.findings import Finding
from ftax_micro.reporters import cells, finding_cells
from ftax_micro.reporters.fitted import fitted_table

# A pipe has no width: numbers and lines are never folded there, so that they can be searched. Text
# in columns is, or a table with one long cell could not be read.
_PIPE_WIDTH = 10_000
_PROSE_WIDTH = 132
_NARROWEST = 40
# Of no meaning, but without one rich takes a dumb terminal's width for 80.
_HEIGHT = 25
_STATUS_STYLES = {"ok": "green", "missing": "dim", "broken": "red", "warning": "yellow"}


def render_floor(view: FloorView) -> str:
    """One table per device, then what is absent and why, notes, and the closure checks."""
    page = Page()
    for device in view.result.devices:
        rows = [cells.row_cells(r) for r in view.rows if r.device == device.name]
        measured = [r.status == "ok" for r in view.rows if r.device == device.name]
        page.table(
            f"Launch anatomy of {cells.title(device)}",
            cells.headings(view),
            [row for row, ok in zip(rows, measured, strict=True) if ok],
            right=range(2, 7),
            folding=(1,),
            spare=(5, 4, 6, 7),
        )
    page.say_what_was_left_out()
    for line in cells.absence_lines(view):
        page.line(line, "yellow")
    for line in cells.notes(view):
        page.line(line, "dim")
    for each in view.break_evens:
        page.line(cells.break_even_line(view, each))
    for closure in view.closures:
        page.line(cells.closure_line(view, closure), "red" if closure.flagged else "green")
    for gap in view.gaps:
        page.line(cells.gap_line(view, gap), "red" if gap.flagged else "green")
    if not view.result.complete:
        page.line(f"incomplete: {view.result.incomplete_reason}", "red")
    return page.text()


def render_diagnosis(findings: Sequence[Finding]) -> str:
    """One table, then how many parts are in which state, and what can be measured here."""
    page = Page()
    rows = []
    for finding in findings:
        part, status, detail, advice = finding_cells.finding_cells(finding)
        text = Text(detail)
        if finding.advice:
            text.append(f"\n→ {advice}", "bold" if finding.status != "ok" else "dim")
        rows.append((part, Text(status, _STATUS_STYLES[status]), text))
    part, status, detail, advice = finding_cells.HEADINGS
    page.prose(None, (part, status, f"{detail} → {advice}"), rows, folding=(0, 2))
    page.line(finding_cells.tally(findings))
    page.line(finding_cells.conclusion(findings))
    return page.text()


class Page:
    """Text in the making, as wide as what it is written to."""

    def __init__(self) -> None:
        self._terminal = sys.stdout is not None and sys.stdout.isatty()
        columns = max(_NARROWEST, shutil.get_terminal_size().columns)
        self._width = columns if self._terminal else _PIPE_WIDTH
        self._text = io.StringIO()
        self._left_out: list[str] = []
        self._console = Console(
            file=self._text,
            width=self._width,
            height=_HEIGHT,
            force_terminal=self._terminal,
            highlight=False,
        )

    def table(
        self,
        title: str | None,
        headings: Sequence[str],
        rows: Sequence[Sequence[str | Text]],
        *,
        width: int | None = None,
        right: Collection[int] = (),
        folding: Collection[int] = (),
        spare: Sequence[int] = (),
    ) -> None:
        """A table as wide as it has to be, and an empty line."""
        width = width or self._width
        table, left_out = fitted_table(
            title, headings, rows, width, right=right, folding=folding, spare=spare
        )
        self._left_out += [each for each in left_out if each not in self._left_out]
        self._console.print(table, width=width)
        self._console.print()

    def prose(
        self,
        title: str | None,
        headings: Sequence[str],
        rows: Sequence[Sequence[str | Text]],
        *,
        folding: Collection[int],
        spare: Sequence[int] = (),
    ) -> None:
        """A table of text, which is folded in a pipe too."""
        width = min(self._width, _PROSE_WIDTH)
        self.table(title, headings, rows, width=width, folding=folding, spare=spare)

    def line(self, text: str, style: str = "") -> None:
        """A line, its continuations indented."""
        folded = textwrap.wrap(
            text, self._width, subsequent_indent="  ", break_on_hyphens=False
        ) or [""]
        self._console.print(Text("\n".join(folded), style))

    def say_what_was_left_out(self) -> None:
        """A line that names the columns for which the terminal is too narrow, once."""
        if self._left_out:
            names = ", ".join(self._left_out)
            self._left_out = []
            self.line(f"no room for {names}: widen the terminal, or use --format", "dim")

    def text(self) -> str:
        """All of it, without the blanks that fill lines up where nobody sees them."""
        return "".join(f"{line.rstrip()}\n" for line in self._text.getvalue().splitlines())
