"""What the rungs of the dispatch ladder are, for ``--list``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ftax_micro.reporters.markdown import markdown_table
from ftax_micro.reporters.table import Page

_HEADINGS = ("rung", "an operation, by device", "package", "what it is")


@dataclass(frozen=True)
class ListedRung:
    """A rung as it is told of: what an operation is by kind of device, and the package it needs."""

    name: str
    operation: Mapping[str, str]
    package: str | None
    summary: str
    source: str


def render_rungs(rungs: Sequence[ListedRung]) -> str:
    """A table, the lowest rung first."""
    page = Page()
    page.prose(None, _HEADINGS, [_cells(each, "{} [{}]") for each in rungs], folding=(1, 3))
    return page.text()


def render_rungs_markdown(rungs: Sequence[ListedRung]) -> str:
    """The same as a pipe table."""
    return markdown_table(_HEADINGS, [_cells(each, "{} ({})") for each in rungs]) + "\n"


def _cells(each: ListedRung, form: str) -> tuple[str, ...]:
    where = ", ".join(f"{kind}: {what}" for kind, what in each.operation.items())
    return each.name, where, each.package or "–", form.format(each.summary, each.source)
