"""Sheets as a table, CSV, JSON and markdown, whatever they are about."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from ftax_micro.analysis.sheet import Cell, Column, Row, Sheet, Unit, sentences, table_columns
from ftax_micro.errors import UsageError
from ftax_micro.reporters.markdown import bullet_list, markdown_table
from ftax_micro.reporters.printable import printable, printable_json
from ftax_micro.reporters.table import Page
from ftax_micro.stats import Estimate
from ftax_micro.units import digits_for, format_seconds

_SUFFIX = {Unit.SECONDS: "_s"}
# Sentences on single rows, below a table.
_MOST_LINES = 40
# The half-width of a share from which whole per cents say it all.
_COARSE_SHARE = 0.005


def render_csv(sheets: Sequence[Sheet]) -> str:
    """All rows of one sheet, under the columns' names with their units; empty: no value.

    Errors: `UsageError` for several sheets, whose columns differ.
    """
    if len(sheets) != 1:
        names = ", ".join(sheet.name for sheet in sheets)
        raise UsageError(f"CSV holds one table: choose one of {names}")
    (sheet,) = sheets
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for column in sheet.columns for name in _csv_names(column)])
    for row in sheet.rows:
        pairs = zip(row.cells, sheet.columns, strict=True)
        writer.writerow([cell for pair in pairs for cell in _csv_cells(*pair)])
    return text.getvalue()


def render_json(sheets: Sequence[Sheet]) -> str:
    """All sheets, a list of objects each; an estimate as value, low, high, times in seconds."""
    content = {"kind": "bound_analysis", "sheets": [plain_sheet(sheet) for sheet in sheets]}
    text = msgspec.json.format(msgspec.json.encode(content), indent=1).decode()
    return printable_json(text) + "\n"


def plain_sheet(sheet: Sheet) -> dict[str, Any]:
    """One sheet as JSON has it."""
    return {
        "name": sheet.name,
        "rows": [
            {
                _key(column): _plain(cell)
                for column, cell in zip(sheet.columns, row.cells, strict=True)
            }
            for row in sheet.rows
        ],
        "lines": sentences(sheet),
    }


def render_markdown(sheets: Sequence[Sheet]) -> str:
    """A heading, a table and a list of its sentences for each sheet."""
    parts = []
    for sheet in sheets:
        headings, rows, _ = _shown(sheet)
        parts += [f"## {sheet.title}"] if sheet.title else []
        parts += [markdown_table(headings, rows)] if rows else []
        below = _below(sheet)
        parts += [bullet_list(below)] if below else []
    return "\n\n".join(parts) + "\n"


def render_table(sheets: Sequence[Sheet]) -> str:
    """A table and its sentences for each sheet."""
    page = Page()
    for index, sheet in enumerate(sheets):
        if index:
            page.line("")
        add_sheet(page, sheet)
    return page.text()


def add_sheet(page: Page, sheet: Sheet) -> None:
    """One sheet on a page: its table, what did not fit, its sentences."""
    headings, rows, columns = _shown(sheet)
    places = range(len(columns))
    rows = _once(rows, columns)
    if sheet.title:  # not the table's own: that is folded to the width of the table
        page.line(sheet.title, "bold")
    if rows:
        spare = [place for place in places if columns[place].spare is not None]
        page.table(
            None,
            headings,
            rows,
            right=[place for place in places if columns[place].unit is not Unit.TEXT],
            folding=[place for place in places if columns[place].folds],
            spare=sorted(spare, key=lambda place: columns[place].spare or 0),
        )
        page.say_what_was_left_out()
    for line in _below(sheet):
        page.line(line)


def _below(sheet: Sheet) -> list[str]:
    """The sentences that a reader can take in; what is said of the whole is never left out."""
    own = [line for row in sheet.rows for line in row.lines]
    more = len(own) - _MOST_LINES
    if more > 0:
        own = own[:_MOST_LINES]
        own.append(f"{more} more of these: --top picks rows, --format json has all")
    return [printable(line) for line in (*own, *sheet.lines)]


def _shown(sheet: Sheet) -> tuple[list[str], list[list[str]], list[Column]]:
    places = table_columns(sheet)
    columns = [sheet.columns[place] for place in places]
    rows = [row_texts(row, places, sheet.columns) for row in sheet.rows if row.shown]
    return [column.heading or "" for column in columns], rows, columns


def row_texts(row: Row, places: Sequence[int], columns: Sequence[Column]) -> list[str]:
    """The cells at `places` as text, each in its column's unit or in one of the row's own."""
    units = dict(row.units)
    return [
        cell_text(row.cells[i], replace(columns[i], unit=units[i]) if i in units else columns[i])
        for i in places
    ]


def _once(rows: Sequence[list[str]], columns: Sequence[Column]) -> list[list[str]]:
    """The rows without what they have in common with the row above."""
    leading = 0
    while leading < len(columns) and columns[leading].once:
        leading += 1
    found = []
    above: list[str] = []
    for row in rows:
        same = 0
        while same < leading and row[: same + 1] == above[: same + 1]:
            same += 1
        found.append([""] * same + row[same:])
        above = row
    return found


def cell_text(cell: Cell, column: Column) -> str:
    """A cell of a table; a dash where there is no value."""
    if cell is None or cell == "":
        return "–"
    if isinstance(cell, str):
        return printable(cell)
    found = cell if isinstance(cell, Estimate) else Estimate(cell, None, None)
    interval = column.interval and column.ends
    if column.unit is Unit.SECONDS:
        return _seconds(found, interval=interval)
    if column.unit is Unit.SHARE:
        return _share(found, interval=interval)
    if column.unit is Unit.SPREAD:
        percent = found.value * 100
        return f"{percent:.0f} %" if abs(percent) >= 10 else f"{percent:.2g} %"
    if column.unit is Unit.RATIO:
        return _ratio(found, interval=interval)
    return f"{found.value:,.0f}" if column.unit is Unit.COUNT else f"{found.value:g}"


def _seconds(found: Estimate, *, interval: bool) -> str:
    if not interval or found.low is None or found.high is None:
        return format_seconds(found.value)
    digits = digits_for(found.value, (found.high - found.low) / 2)
    return f"{digits.text(found.value)} ({digits.interval(found.low, found.high)})"


def _share(found: Estimate, *, interval: bool) -> str:
    if not interval or found.low is None or found.high is None:
        return f"{_percent(found.value, 0)} %"
    half = (found.high - found.low) / 2
    # As far as it is known, but nobody asks for a thousandth of a per cent.
    places = 0 if half >= _COARSE_SHARE else 1 if abs(found.value) >= 2 * _COARSE_SHARE else 2
    ends = f"{_percent(found.low, places)} … {_percent(found.high, places)} %"
    return f"{_percent(found.value, places)} % ({ends})"


def _percent(share: float, places: int) -> str:
    text = f"{share * 100:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _ratio(found: Estimate, *, interval: bool) -> str:
    if not interval or found.low is None or found.high is None:
        return f"{found.value:,.0f}" if abs(found.value) >= 1000 else f"{found.value:.3g}"
    return f"{found.value:.3g} ({found.low:.3g} … {found.high:.3g})"


def _key(column: Column) -> str:
    return column.name + _SUFFIX.get(column.unit, "")


def _csv_names(column: Column) -> list[str]:
    ends = ("", "_low", "_high") if column.interval else ("",)
    return [f"{column.name}{end}{_SUFFIX.get(column.unit, '')}" for end in ends]


def _csv_cells(cell: Cell, column: Column) -> list[str | int]:
    if isinstance(cell, Estimate):
        values = [cell.value, cell.low, cell.high]
        return [_number(value) for value in values[: 3 if column.interval else 1]]
    one = _number(cell) if isinstance(cell, float) else cell
    one = printable(one) if isinstance(one, str) else one
    return ["" if one is None else one, *([""] * 2 if column.interval else [])]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _plain(cell: Cell) -> Any:
    return cell._asdict() if isinstance(cell, Estimate) else cell
