"""Sheets as HTML tables that a script can sort, filter and turn over.

Rows beyond the first page are not in the document, but beside it as JSON: tens of thousands of rows
would keep a browser from opening it.
"""

from __future__ import annotations

import html
import json
import math

from ftax_micro.analysis.sheet import Cell, Column, Row, Sheet, Unit, table_columns
from ftax_micro.reporters.sheets import cell_text
from ftax_micro.stats import Estimate

ROWS_A_PAGE = 200


def sheet_html(sheet: Sheet, key: str) -> str:
    """A table under a caption; `key` is unique on the page. A sheet without rows is empty text."""
    if not any(row.shown for row in sheet.rows):
        return ""
    places = table_columns(sheet)
    head = "".join(_heading(sheet, place) for place in places)
    rows = [[_cell(row, sheet, place) for place in places] for row in sheet.rows if row.shown]
    body = "".join(_row(row, sheet, places) for row in rows[:ROWS_A_PAGE])
    rest = ""
    if len(rows) > ROWS_A_PAGE:
        rest = f'<script type="application/json" class="rows">{script_json(rows)}</script>'
    title = html.escape(sheet.title or sheet.name)
    return (
        f'<div class="sheet" id="{key}" data-page="{ROWS_A_PAGE}">'
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{key}-caption">'
        f'<table><caption id="{key}-caption">{title}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{rest}</div>\n"
    )


def script_json(value: object) -> str:
    """JSON that may stand in a script element: nothing in it ends or begins one."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _heading(sheet: Sheet, place: int) -> str:
    column = sheet.columns[place]
    return f'<th scope="col"{_class(column)}>{html.escape(column.heading or "")}</th>'


def _class(column: Column) -> str:
    """Numbers are aligned to the right, and only text that folds is broken into lines."""
    if column.unit is not Unit.TEXT:
        return ' class="number"'
    return ' class="folds"' if column.folds else ""


def _cell(row: Row, sheet: Sheet, place: int) -> list[str | float | None]:
    """Text, and what it is sorted by where that is not the text."""
    cell = row.cells[place]
    return [cell_text(cell, sheet.columns[place]), _number(cell)]


def _number(cell: Cell) -> float | None:
    value = cell.value if isinstance(cell, Estimate) else cell
    if isinstance(value, str) or value is None or not math.isfinite(value):
        return None
    return float(f"{value:.7g}")


def _row(row: list[list[str | float | None]], sheet: Sheet, places: list[int]) -> str:
    cells = []
    for (text, number), place in zip(row, places, strict=True):
        by = "" if number is None else f' data-key="{number:.7g}"'
        cells.append(f"<td{_class(sheet.columns[place])}{by}>{html.escape(str(text))}</td>")
    return f"<tr>{''.join(cells)}</tr>"
