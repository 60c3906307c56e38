"""What the rungs of the dispatch ladder are, for ``--list``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ftax_micro.reporters.table import Page


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
    rows = []
    for each in rungs:
        where = ", ".join(f"{kind} ({what})" for kind, what in each.operation.items())
        rows.append((each.name, where, each.package or "–", f"{each.summary} [{each.source}]"))
    page.prose(None, ("rung", "devices", "package", "what it is [source]"), rows, folding=(1, 3))
    return page.text()
