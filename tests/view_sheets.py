"""Builds views of results made in tests, and reads their sheets by the names of columns."""

from __future__ import annotations

from typing import Any

from ftax_micro.analysis.sheet import Cell, Sheet
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.views.contract import Question, Source, View
from ftax_micro.results import Result


def asked(*sources: Result | Trace, **how: Any) -> Question:
    """A question of these, called ``0``, ``1``, ...; `how`: its other fields."""
    named = [
        Source(str(n), each, None) if isinstance(each, Result) else Source(str(n), None, each)
        for n, each in enumerate(sources)
    ]
    return Question(tuple(named), **how)


def sheet_of(view: View, *sources: Result | Trace, **how: Any) -> Sheet:
    """What the view says of them."""
    return view.build(asked(*sources, **how))


def records(sheet: Sheet) -> list[dict[str, Any]]:
    """Its rows by name of column."""
    names = [column.name for column in sheet.columns]
    return [dict(zip(names, row.cells, strict=True)) for row in sheet.rows]


def column(sheet: Sheet, name: str) -> list[Cell]:
    """One column."""
    return [row[name] for row in records(sheet)]
