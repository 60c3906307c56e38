"""A pool of results as a table, CSV, JSON and markdown."""

from __future__ import annotations

import msgspec

from ftax_micro.analysis.pools.contract import Pool
from ftax_micro.analysis.pools.sheets import pool_sheets, rows_sheet
from ftax_micro.reporters import sheets
from ftax_micro.reporters.printable import printable_json


def render_table(pool: Pool) -> str:
    """Groups, rows, outliers, files left out."""
    return sheets.render_table(pool_sheets(pool))


def render_csv(pool: Pool) -> str:
    """A line for each row and group, with the group's values."""
    return sheets.render_csv([rows_sheet(pool)])


def render_json(pool: Pool) -> str:
    """All of it; times in seconds, estimates as value, low, high."""
    content = {
        "kind": "pool",
        "keys": pool.keys,
        "confidence": pool.confidence,
        "margin": pool.margin,
        "sheets": [sheets.plain_sheet(sheet) for sheet in pool_sheets(pool)],
    }
    text = msgspec.json.format(msgspec.json.encode(content), indent=1).decode()
    return printable_json(text) + "\n"


def render_markdown(pool: Pool) -> str:
    """As the table."""
    return sheets.render_markdown(pool_sheets(pool))
