"""Sheets as HTML tables that a script can sort, filter and turn over.

Rows beyond the first page are not in the document, but beside it as packed JSON that is read when
they are asked for: tens of thousands of rows would keep a browser from opening it.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
from collections.abc import Sequence

from ftax_micro.analysis.sheet import Cell, Column, Row, Sheet, Unit, table_columns
from ftax_micro.reporters.sheets import row_texts
from ftax_micro.stats import Estimate

ROWS_A_PAGE = 200
# Fewer are seen at a glance: they need no filter, and nobody counts them.
_A_GLANCE = 5
# More are in a window of their own, so that what follows is found.
_ON_A_SCREEN = 30


def sheet_html(sheet: Sheet, key: str) -> str:
    """A table under a caption; `key` is unique on the page. A sheet without rows is empty text."""
    if not any(row.shown for row in sheet.rows):
        return ""
    places = table_columns(sheet)
    head = "".join(_heading(sheet, place) for place in places)
    rows = [_cells(row, sheet, places) for row in sheet.rows if row.shown]
    body = "".join(_row(row, sheet, places) for row in rows[:ROWS_A_PAGE])
    rest = ""
    if len(rows) > ROWS_A_PAGE:
        # With what they are sorted by, which a page of HTML keeps in its cells.
        data = packed(_json(rows))
        rest = f'<script type="application/octet-stream" class="rows">{data}</script>'
    title = html.escape(sheet.title or sheet.name)
    tall = " tall" if len(rows) > _ON_A_SCREEN else ""
    return (
        f'<div class="sheet" id="{key}" data-page="{ROWS_A_PAGE}" data-rows="{len(rows)}">'
        f"{_count(len(rows))}"
        f'<div class="scroll{tall}" role="region" tabindex="0" aria-labelledby="{key}-caption">'
        f'<table><caption id="{key}-caption"><span>{title}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{rest}</div>\n"
    )


def _count(rows: int) -> str:
    """How many rows there are and which are here, on paper as well where it is not all of them."""
    if rows <= _A_GLANCE:
        return ""
    if rows <= ROWS_A_PAGE:
        return f'<span role="status">{rows} rows</span>'
    return f'<span role="status" class="part">1 to {ROWS_A_PAGE} of {rows:,} rows</span>'


def packed(text: str) -> str:
    """Text that a browser unpacks when it is asked for: gzip, in letters."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()


def script_json(value: object) -> str:
    """JSON that may stand in a script element: nothing in it ends or begins one."""
    text = _json(value)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _heading(sheet: Sheet, place: int) -> str:
    column = sheet.columns[place]
    return f'<th scope="col"{_class(column)}>{html.escape(column.heading or "")}</th>'


def _class(column: Column) -> str:
    """Numbers are aligned to the right, and only text that folds is broken into lines."""
    if column.unit is not Unit.TEXT:
        return ' class="number"'
    return ' class="folds"' if column.folds else ""


def _cells(row: Row, sheet: Sheet, places: Sequence[int]) -> list[tuple[str, float | None]]:
    """Of each: text, and what it is sorted by where that is not the text."""
    texts = row_texts(row, places, sheet.columns)
    return [(text, _number(row.cells[i])) for text, i in zip(texts, places, strict=True)]


def _number(cell: Cell) -> float | None:
    value = cell.value if isinstance(cell, Estimate) else cell
    if isinstance(value, str) or value is None or not math.isfinite(value):
        return None
    return float(f"{value:.7g}")


def _row(row: Sequence[tuple[str, float | None]], sheet: Sheet, places: Sequence[int]) -> str:
    cells = []
    for (text, number), place in zip(row, places, strict=True):
        by = "" if number is None else f' data-key="{number:.7g}"'
        cells.append(f"<td{_class(sheet.columns[place])}{by}>{html.escape(text)}</td>")
    return f"<tr>{''.join(cells)}</tr>"
