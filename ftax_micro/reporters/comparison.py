"""Comparisons as a table, CSV, JSON and markdown."""

from __future__ import annotations

import csv
import io

import msgspec
from rich.text import Text

from ftax_micro.analysis.comparing.comparison import Comparison
from ftax_micro.analysis.comparing.sections import ComparedRow, Section
from ftax_micro.reporters import comparison_cells as cells
from ftax_micro.reporters.csv import csv_number
from ftax_micro.reporters.json import json_document
from ftax_micro.reporters.markdown import bullet_list, markdown_table
from ftax_micro.reporters.printable import markdown_text, printable, printable_json
from ftax_micro.reporters.table import Page

_COLUMNS = (
    *("result", "kind", "device", "name", "setting", "quantity"),
    *("median_s", "ci_low_s", "ci_high_s", "count"),
    *("ratio", "ratio_low", "ratio_high", "systematic_ratio_low", "systematic_ratio_high"),
    *("verdict", "firm", "paired", "status", "reason"),
)
_VERDICT_STYLES = {"faster": "green", "slower": "red", "different": "red", "ambiguous": "yellow"}


def render_table(comparison: Comparison) -> str:
    """The results, what differs, a table per kind and device, then the tally, what is absent, and
    notes.
    """
    page = Page()
    sides = [tuple(map(printable, line)) for line in cells.side_cells(comparison)]
    every = range(len(cells.SIDE_HEADINGS))
    page.prose("Results", cells.SIDE_HEADINGS, sides, folding=every, spare=(6, 4, 1))
    differences = [tuple(map(printable, line)) for line in cells.difference_cells(comparison)]
    if differences:
        page.prose(None, cells.DIFFERENCE_HEADINGS, differences, folding=range(5))
    for table in cells.tables(comparison):
        lines = [line for row in table.rows for line in _lines(comparison, table, row)]
        name, setting, *rest = cells.row_headings(comparison)
        heads = [f"{name}, {setting}", *rest]
        page.table(
            printable(table.title), heads, lines, right=range(2, 6), folding=(0, 1), spare=(3, 5)
        )
    page.say_what_was_left_out()
    page.line(printable(cells.tally(comparison)))
    for line in cells.absence_lines(comparison):
        page.line(printable(line), "yellow")
    for line in cells.note_lines(comparison):
        page.line(printable(line), "dim")
    return page.text()


def _lines(comparison: Comparison, table: cells.Table, row: ComparedRow) -> list[list[str | Text]]:
    """A line for each result; beside them the row's name and, below it, its setting."""
    cells_of_lines = cells.row_cells(comparison, table, row)
    name, setting, *_ = cells_of_lines[0]
    heads = [name, f"  {setting}".rstrip(), *[""] * len(cells_of_lines)]
    lines: list[list[str | Text]] = []
    for head, (_, _, *rest, verdict) in zip(heads, cells_of_lines, strict=False):
        style = _VERDICT_STYLES.get(verdict.rstrip("*"), "")
        lines.append([printable(head), *map(printable, rest), Text(verdict, style)])
    return lines


def render_markdown(comparison: Comparison) -> str:
    """The same as the table."""
    parts = [markdown_table(cells.SIDE_HEADINGS, cells.side_cells(comparison))]
    differences = cells.difference_cells(comparison)
    if differences:
        parts.append(markdown_table(cells.DIFFERENCE_HEADINGS, differences))
    heads = cells.row_headings(comparison)
    for table in cells.tables(comparison):
        lines = [line for row in table.rows for line in cells.row_cells(comparison, table, row)]
        parts.append(f"**{markdown_text(table.title)}**\n\n{markdown_table(heads, lines)}")
    below = [cells.tally(comparison), *cells.absence_lines(comparison)]
    parts.append(bullet_list([*below, *cells.note_lines(comparison)]))
    return "\n\n".join(parts) + "\n"


def render_json(comparison: Comparison) -> str:
    """All fields of the comparison under their names; each row has its kind and its baseline."""
    content = msgspec.to_builtins(comparison)
    rows = [
        {"kind": section["kind"], "baseline": section["baseline"], **row}
        for section in content.pop("sections")
        for row in section["rows"]
    ]
    return printable_json(json_document({"kind": "comparison", **content, "rows": rows}))


def render_csv(comparison: Comparison) -> str:
    """A row for each result and compared quantity, with a header line; the baseline's has no ratio.

    `status` is that of the row in this result, ``absent`` where it has none; `reason` says why
    there is no number or no ratio.
    """
    reasons = {(each.kind, each.row, each.side): each.reason for each in comparison.not_compared}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for section in comparison.sections:
        for row in section.rows:
            for index in section.sides:
                line = _csv_row(comparison, section, row, index)
                reason = reasons.get((section.kind, row.title, index), "")
                writer.writerow([*line, printable(reason)])
    return text.getvalue()


def _csv_row(
    comparison: Comparison, section: Section, row: ComparedRow, index: int
) -> list[object]:
    value, ratio = row.values[index], row.ratios[index]
    numbers = [value.value, value.low, value.high] if value else [None] * 3
    timed = value is None or value.unit == "s"
    verdict = ""
    ratios: list[float | None] = [None] * 5
    if ratio is not None:
        interval = [ratio.value, ratio.low, ratio.high]
        verdict, ratios = ratio.verdict, [*interval, ratio.systematic_low, ratio.systematic_high]
    return [
        printable(comparison.sides[index].label),
        section.kind,
        printable(row.device),
        printable(row.name),
        printable(row.setting_text),
        row.quantity or "",
        *map(csv_number, numbers if timed else [None] * 3),
        csv_number(None if timed else numbers[0]),
        *map(csv_number, ratios),
        "baseline" if index == section.baseline else verdict,
        "" if ratio is None else str(ratio.firm).lower(),
        "" if ratio is None else str(ratio.paired).lower(),
        value.status if value else "absent",
    ]
