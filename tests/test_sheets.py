"""Sheets: order, cut, and every output format."""

from __future__ import annotations

import csv
import io
import json

import pytest

from ftax_micro.analysis.sheet import (
    Cell,
    Column,
    Row,
    Sheet,
    Unit,
    named_source,
    ordered,
    sentences,
    topmost,
)
from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.reporters.sheets import (
    cell_text,
    render_csv,
    render_json,
    render_markdown,
    render_table,
)
from ftax_micro.stats import Estimate

COLUMNS = (
    Column("source", None),
    Column("case", "case"),
    Column("calls", "calls", Unit.COUNT),
    Column("tax", "tax", Unit.SECONDS, interval=True),
    Column("tax_share", "share", Unit.SHARE, interval=True),
    Column("ratio", "ratio", Unit.RATIO),
)
FIRST = Row(("a.json", "<b>", 1200, Estimate(1e-3, 0.9e-3, 1.1e-3), Estimate(0.5, 0.4, 0.6), 2.5))
SECOND = Row(("a.json", "add", 7, 2e-3, None, None))
LAST = Row(("a.json", "zero", None, None, None, None), shown=False)
SHEET = Sheet("ops", "Operations", COLUMNS, (FIRST, SECOND, LAST), ("zero: skipped, no event",))


def cases(sheet: Sheet) -> list[Cell]:
    return [row.cells[1] for row in sheet.rows]


def test_a_row_that_does_not_fit_its_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="ops: 1 cells for 6 columns"):
        Sheet("ops", None, COLUMNS, (Row(("a.json",)),))


@pytest.mark.parametrize(
    ("column", "order"),
    [
        ("tax_s", ["add", "<b>", "zero"]),
        ("tax", ["add", "<b>", "zero"]),
        ("-tax", ["<b>", "add", "zero"]),
        ("calls", ["<b>", "add", "zero"]),
        ("case", ["<b>", "add", "zero"]),
        ("-case", ["zero", "add", "<b>"]),
        ("tax_share", ["<b>", "add", "zero"]),
    ],
)
def test_rows_go_by_a_column_and_those_without_a_value_last(column: str, order: list[str]) -> None:
    assert cases(ordered(SHEET, column)) == order


def test_an_unknown_column_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean calls"):
        ordered(SHEET, "call")


def test_the_first_rows_and_how_many_are_missing() -> None:
    cut = topmost(SHEET, 1)
    assert cases(cut) == ["<b>"]
    assert cut.lines[0] == "1 of 2 rows not shown: --top 2 shows all"
    assert topmost(SHEET, 2) is SHEET
    hidden_first = Sheet("ops", None, COLUMNS, (LAST, SECOND, FIRST))
    assert cases(topmost(hidden_first, 1)) == ["add"]


def test_csv_has_all_rows_and_both_ends_of_an_interval() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv([SHEET]))))
    assert list(rows[0]) == [
        *("source", "case", "calls", "tax_s", "tax_low_s", "tax_high_s"),
        *("tax_share", "tax_share_low", "tax_share_high", "ratio"),
    ]
    assert [float(rows[0][name]) for name in ("tax_s", "tax_low_s", "tax_high_s")] == [
        *(1e-3, 0.9e-3, 1.1e-3)
    ]
    assert (rows[1]["tax_s"], rows[1]["tax_low_s"], rows[1]["tax_share"]) == ("0.002", "", "")
    assert [*rows[2].values()][2:] == [""] * 8
    with pytest.raises(UsageError, match="choose one of ops, ops"):
        render_csv([SHEET, SHEET])


def test_json_has_names_units_and_intervals() -> None:
    (sheet,) = json.loads(render_json([SHEET]))["sheets"]
    assert sheet["name"] == "ops"
    assert sheet["rows"][0]["tax_s"] == {"value": 1e-3, "low": 0.9e-3, "high": 1.1e-3}
    assert sheet["rows"][2]["tax_s"] is None
    assert sheet["lines"] == ["zero: skipped, no event"]


def test_tables_show_what_has_a_value() -> None:
    text = render_table([SHEET, Sheet("none", "Nothing here", COLUMNS, ())])
    head, _, first, *_ = [line for line in text.splitlines() if line][1:]
    assert head.split() == ["case", "calls", "tax", "share", "ratio"]
    assert "1,200" in first
    assert "1.00 ms (0.90 … 1.10 ms)" in first
    assert "50 % (40 … 60 %)" in first
    assert text.endswith("zero: skipped, no event\n\nNothing here\n")
    assert "zero  " not in text


def test_markdown_escapes_nothing_away_and_lists_the_sentences() -> None:
    text = render_markdown([SHEET])
    assert text.startswith("## Operations\n\n| case | calls | tax | share | ratio |")
    assert "| add | 7 | 2 ms | – | – |" in text
    assert text.endswith("- zero: skipped, no event\n")


def test_what_is_said_of_a_row_goes_where_the_row_goes() -> None:
    rows = tuple(
        Row(("a.json", f"c{n}", n, None, None, None), lines=(f"of {n}",)) for n in range(60)
    )
    sheet = Sheet("ops", None, COLUMNS, rows, ("of all",))
    assert sentences(topmost(ordered(sheet, "calls"), 1))[0] == "of 59"
    assert sentences(sheet)[-2:] == ["of 59", "of all"]
    shown = render_table([sheet])
    assert "of 39\n20 more of these: --top picks rows, --format json has all\nof all" in shown
    assert json.loads(render_json([sheet]))["sheets"][0]["lines"][-2] == "of 59"


def test_what_rows_have_in_common_stands_once_in_a_table() -> None:
    columns = (
        Column("case", "case", once=True),
        Column("mode", "mode", once=True),
        Column("layer", "layer"),
    )
    cells = [("bert", "eager", "a"), ("bert", "eager", "b"), ("bert", "script", "b")]
    sheet = Sheet("split", None, columns, tuple(map(Row, [*cells, ("vit", "script", "b")])))
    lines = [line.split() for line in render_table([sheet]).splitlines()[2:6]]
    assert lines == [["bert", "eager", "a"], ["b"], ["script", "b"], ["vit", "script", "b"]]
    assert render_markdown([sheet]).count("bert") == 3
    assert render_csv([sheet]).count("bert") == 3


def test_the_source_is_a_column_where_there_are_several() -> None:
    assert named_source(COLUMNS[0], ["a", "a"]).heading is None
    assert named_source(COLUMNS[0], ["a", "b"]).heading == "source"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Estimate(0.6034, 0.6, 0.62), "60 % (60 … 62 %)"),
        (Estimate(0.6034, 0.603, 0.604), "60.3 % (60.3 … 60.4 %)"),
        (Estimate(-0.0006, -0.0007, -0.0005), "-0.06 % (-0.07 … -0.05 %)"),
        (Estimate(-1e-9, -1e-9, 1e-9), "0.00 % (0.00 … 0.00 %)"),
    ],
)
def test_a_share_is_shown_as_far_as_it_is_known(share: Estimate, text: str) -> None:
    assert cell_text(share, COLUMNS[4]) == text
