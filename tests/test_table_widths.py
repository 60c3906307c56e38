"""Tables in terminals of all widths: whole numbers, whole lines, and what is left out is named."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fake_results import absent, around, device, environment, result, row

from ftax_micro.analysis.comparing.comparison import compare_results
from ftax_micro.analysis.floor.view import floor_view
from ftax_micro.findings import Finding
from ftax_micro.records import Setting
from ftax_micro.reporters import table
from ftax_micro.reporters.comparison import render_table as render_comparison
from ftax_micro.results import Result

Terminal = Callable[[int], None]
SETTING: Setting = {"wait": "block", "idle_ns": 1_000_000}
LONG = "cannot open the library: " + "/a/long/path" * 12


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Makes stdout a terminal of so many columns, without colours."""

    def make(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    return make


def floor(seed: int = 0) -> Result:
    """Rows with long names and settings, and one that is not there for a long reason."""
    return result(
        row("parallel_region", around(9.857e-6, seed), setting=dict(SETTING)),
        row("submit", around(70e-9, seed + 1), setting={"wait": "spin"}, device="cuda:0"),
        absent("first_launch", reason=LONG, device="cuda:0"),
        devices=[device("cpu"), device("cuda:0", "A GPU of a long name")],
        environment=environment(hostname="a-host-of-a-long-name"),
    )


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
def test_no_line_is_longer_than_the_terminal_and_no_number_cut(
    terminal: Terminal, columns: int
) -> None:
    terminal(columns)
    text = table.render_floor(floor_view(floor()))
    assert max(map(len, text.splitlines())) <= columns
    assert re.search(r"parallel_region .* 9\.\d+ µs +9\.\d+ … 9\.\d+ µs", text)
    assert "".join(LONG.split()) in "".join(text.split())


def test_columns_that_have_no_room_are_named(terminal: Terminal) -> None:
    terminal(200)
    wide = table.render_floor(floor_view(floor()))
    assert "p95" in wide
    assert "no room" not in wide
    terminal(60)
    narrow = table.render_floor(floor_view(floor()))
    heading = next(line for line in narrow.splitlines() if line.startswith("row"))
    assert "p95" not in heading
    assert "median" in heading
    assert re.search("no room for .*p95.*: widen the terminal", " ".join(narrow.split()))


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_a_comparison_keeps_values_ratios_and_verdicts(terminal: Terminal, columns: int) -> None:
    terminal(columns)
    comparison = compare_results([floor(), floor(5)], labels=["laptop", "server"])
    lines = render_comparison(comparison).splitlines()
    assert max(map(len, lines)) <= columns
    place = next(n for n, line in enumerate(lines) if line.startswith("parallel_region"))
    first, second = lines[place : place + 2]
    assert re.search(r"laptop +9\.\d+ µs .*baseline$", first.rstrip())
    assert re.search(r"^  wait=block idle=1ms +server +9\.\d+ µs .* (same|ambiguous)$", second)


@pytest.mark.parametrize("columns", [80, 160])
def test_a_diagnosis_puts_advice_below_what_was_found(terminal: Terminal, columns: int) -> None:
    terminal(columns)
    finding = Finding(part="cuda driver", status="missing", detail=LONG, advice="install it")
    lines = table.render_diagnosis([finding]).splitlines()
    assert max(map(len, lines)) <= columns
    assert any(line.strip() == "→ install it" for line in lines)


def test_a_pipe_folds_no_line_and_has_no_colour() -> None:
    text = table.render_floor(floor_view(floor()))
    assert f"cuda:0 first_launch: skipped, {LONG}\n" in text
    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_a_terminal_has_colours(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(80)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in table.render_floor(floor_view(floor()))


def test_a_folding_column_keeps_its_longest_word(terminal: Terminal) -> None:
    terminal(50)
    page = table.Page()
    texts = ["bert_base cpu fp32 batch 1", "482 operations at torch_inference_mode"]
    page.table(None, ["case", "basis", "time"], [[*texts, "1.234 ms"]] * 2, folding=(0, 1))
    lines = page.text().splitlines()
    assert max(map(len, lines)) <= 50
    assert sum("torch_inference_mode" in line for line in lines) == 2
