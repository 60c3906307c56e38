"""A report as data: sections in their order, each with sentences, figures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftax_micro.analysis.floor.view import FloorView
from ftax_micro.analysis.ladder_view import LadderView
from ftax_micro.analysis.report.figure import Figure
from ftax_micro.analysis.sheet import Sheet


@dataclass(frozen=True)
class Section:
    """One part of a page.

    `key` is a word for links, `short` its heading in a list of sections. `lines` are sentences, the
    most important first; `groups` are more of them, under headings of their own. `missing` says
    what would have to be measured for it to have data; None where it has. `views` are measured rows
    whose notes (closure, gaps, verdicts) are worded by whoever renders; `notes` are more of these.
    """

    key: str
    short: str
    heading: str
    lines: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    sheets: Sequence[Sheet] = ()
    views: Sequence[FloorView | LadderView] = ()
    missing: str | None = None
    groups: Sequence[tuple[str, Sequence[str]]] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Page:
    """A whole report: of `sources`, a line on each file, written by `tool_version`."""

    title: str
    sources: tuple[str, ...]
    sections: tuple[Section, ...]
    tool_version: str

    @property
    def figures(self) -> list[Figure]:
        """Those of all sections, in order."""
        return [figure for section in self.sections for figure in section.figures]
