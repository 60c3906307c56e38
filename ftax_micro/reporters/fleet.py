"""What became of the nodes of a fleet, and the comparison of their results below."""

from __future__ import annotations

import msgspec

from ftax_micro.analysis.comparing.comparison import Comparison
from ftax_micro.analysis.sheet import Sheet
from ftax_micro.reporters import comparison as comparing
from ftax_micro.reporters import sheets
from ftax_micro.reporters.json import json_document
from ftax_micro.reporters.printable import printable_json


def render_table(nodes: Sheet, comparison: Comparison | None) -> str:
    """The nodes, then the comparison."""
    text = sheets.render_table([nodes])
    return f"{text.rstrip()}\n\n{comparing.render_table(comparison)}" if comparison else text


def render_markdown(nodes: Sheet, comparison: Comparison | None) -> str:
    """The same as the table."""
    parts = [sheets.render_markdown([nodes])]
    parts += [comparing.render_markdown(comparison)] if comparison else []
    return "\n".join(parts)


def render_json(nodes: Sheet, comparison: Comparison | None) -> str:
    """One document: nodes, the sentences below, and the comparison as `compare` has it, or null."""
    plain = sheets.plain_sheet(nodes)
    found = comparison and msgspec.json.decode(comparing.render_json(comparison))
    content = {"kind": "fleet", "nodes": plain["rows"], "lines": plain["lines"]}
    return printable_json(json_document({**content, "comparison": found}))


def render_csv(nodes: Sheet, _: Comparison | None) -> str:
    """The nodes alone: a file has the columns of one table."""
    return sheets.render_csv([nodes])
