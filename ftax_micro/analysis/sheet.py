"""A table of answers, independent of how it is shown: columns with units, rows, sentences below.

Every view of a bound analysis ends in one, so that sorting, cutting and every output format are
written once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ftax_micro.errors import UnknownNameError
from ftax_micro.stats import Estimate

Cell = str | int | float | Estimate | None


class Unit(Enum):
    """What the numbers of a column are; `SHARE` is of 1, and so is `SPREAD`, of which tables show
    two digits however small it is; `RATIO` is a pure number.
    """

    TEXT = "text"
    COUNT = "count"
    SECONDS = "seconds"
    SHARE = "share"
    SPREAD = "spread"
    RATIO = "ratio"


@dataclass(frozen=True)
class Column:
    """One quantity. `name` is its key in CSV and JSON, without the unit; `heading` None: not shown
    in tables.

    `interval`: tables show the interval, and CSV has a column for each end; with `ends` false, CSV
    alone. `folds`: text that a
    table may break between words. `spare`: the columns a narrow terminal leaves out, lowest first;
    None is never left out. `once`: text that a table leaves out where it is that of the row above,
    as is what stands to its left.
    """

    name: str
    heading: str | None
    unit: Unit = Unit.TEXT
    interval: bool = False
    ends: bool = True
    folds: bool = False
    spare: int | None = None
    once: bool = False


@dataclass(frozen=True)
class Row:
    """One answer, a cell for each column; None where there is no value.

    `shown` False: only CSV and JSON have it, since a sentence below the table says the same.
    `lines` are sentences about this row alone, which go where it goes. `units`: places whose number
    is of another unit here than the column's, and which.
    """

    cells: tuple[Cell, ...]
    shown: bool = True
    lines: tuple[str, ...] = ()
    units: tuple[tuple[int, Unit], ...] = ()


@dataclass(frozen=True)
class Sheet:
    """The answer of one view. `lines` are sentences below the table, whole without it, beside
    those of its rows.

    Errors: `ValueError` for a row with more or fewer cells than there are columns.
    """

    name: str
    title: str | None
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    lines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(
                    f"{self.name}: {len(row.cells)} cells for {len(self.columns)} columns"
                )


def ordered(sheet: Sheet, column: str) -> Sheet:
    """Rows by one column: numbers with the largest first, text by the alphabet, None last.

    A leading ``-`` turns the order around; the unit in a column's CSV name may be left out. Errors:
    `UnknownNameError`.
    """
    wanted = column.removeprefix("-")
    names = [each.name for each in sheet.columns]
    place = next((names.index(each) for each in (wanted, _bare(wanted)) if each in names), None)
    if place is None:
        raise UnknownNameError(f"column of {sheet.name}", wanted, names)
    rising = (sheet.columns[place].unit is Unit.TEXT) != column.startswith("-")
    known = [row for row in sheet.rows if _key(row.cells[place]) is not None]
    unknown = [row for row in sheet.rows if _key(row.cells[place]) is None]
    known.sort(key=lambda row: _key(row.cells[place]), reverse=not rising)  # type: ignore[arg-type,return-value]
    return replace(sheet, rows=(*known, *unknown))


def topmost(sheet: Sheet, count: int) -> Sheet:
    """The first `count` rows with something to show, and a sentence on how many were left out."""
    shown = [row for row in sheet.rows if row.shown]
    left = len(shown) - count
    if left <= 0:
        return sheet
    line = f"{left} of {len(shown)} rows not shown: --top {len(shown)} shows all"
    return replace(sheet, rows=tuple(shown[:count]), lines=(line, *sheet.lines))


def table_columns(sheet: Sheet) -> list[int]:
    """Places of the columns a table shows: those with a heading and a value in a shown row."""
    shown = [row for row in sheet.rows if row.shown]
    return [
        place
        for place, column in enumerate(sheet.columns)
        if column.heading is not None and any(row.cells[place] is not None for row in shown)
    ]


def without_common(sheet: Sheet, names: Sequence[str]) -> Sheet:
    """The sheet with its columns of those names in the title instead, where every one of several
    rows has the same value in them.
    """
    common = []
    columns = list(sheet.columns)
    for place, column in enumerate(sheet.columns):
        values = {row.cells[place] for row in sheet.rows}
        if column.name in names and len(sheet.rows) > 1 and len(values) == 1 and None not in values:
            columns[place] = replace(column, heading=None)
            value = values.pop()
            common.append(value if isinstance(value, str) else f"{column.heading} {value}")
    title = ": ".join(filter(None, (sheet.title, ", ".join(map(str, common)))))
    return replace(sheet, title=title or None, columns=tuple(columns))


def sentences(sheet: Sheet) -> list[str]:
    """All that stands below the table: what is said of its rows, then of the whole."""
    return [*(line for row in sheet.rows for line in row.lines), *sheet.lines]


def named_source(column: Column, names: Sequence[str]) -> Column:
    """The column that says which file a row is of, in tables only where there are several."""
    return replace(column, heading=None if one_source(names) else column.name)


def one_source(names: Sequence[str]) -> bool:
    """Whether a column that names the source would say the same in every row."""
    return len(set(names)) <= 1


def _bare(name: str) -> str:
    for suffix in ("_s", "_share"):
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def _key(cell: Cell) -> str | float | None:
    value = cell.value if isinstance(cell, Estimate) else cell
    return None if isinstance(value, float) and math.isnan(value) else value
