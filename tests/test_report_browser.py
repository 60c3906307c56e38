"""The page in headless Chromium: drawn, hovered, switched, sorted, filtered, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import FLAGS, chromium
from report_results import MARKUP, mixed, question, swept

from ftax_micro.analysis.report import build_page
from ftax_micro.analysis.report.page import Page, Section
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.reporters.page import render_page

pytest.importorskip("plotly")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages")
    for name, result in {"swept": swept(batches=(1, 2, 4, 8)), "mixed": mixed()}.items():
        text = render_page(build_page(question(result), "1.2.3"))
        (path / f"{name}.html").write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


class Opened:
    """A page, and what it complained of or asked for."""

    def __init__(
        self, browser: Any, file: Path, *, width: int = 1280, height: int = 900, **context: Any
    ) -> None:
        size = {"width": width, "height": height}
        self.page = browser.new_context(viewport=size, **context).new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", self._asked)
        self.page.goto(file.as_uri())

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.complaints.append(request.url)

    def scroll_to(self, section: str) -> None:
        """Until the first figure of a section is drawn."""
        self.page.locator(f"{section} .plot").first.scroll_into_view_if_needed()
        self.page.wait_for_selector(f"{section} .plot[data-drawn]")

    def texts(self, selector: str) -> list[str]:
        return list(self.page.locator(selector).all_text_contents())


# A desk in light, a phone in dark: what is used in both has to work in both.
EVERYWHERE = pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])


@EVERYWHERE
def test_all_figures_are_drawn_without_complaint(
    browser: Any, folder: Path, scheme: str, width: int
) -> None:
    opened = Opened(browser, folder / "swept.html", width=width, color_scheme=scheme)
    opened.page.evaluate("drawAllFigures()")
    plots = opened.page.locator(".plot")
    assert opened.page.locator(".plot[data-drawn] svg.main-svg").count() >= plots.count() > 8
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert opened.complaints == []


def test_figures_out_of_sight_are_drawn_ahead_and_fit_on_paper(browser: Any, folder: Path) -> None:
    opened = Opened(browser, folder / "swept.html", height=500)
    opened.page.wait_for_selector("#macs .plot[data-drawn]")
    opened.page.emulate_media(media="print", color_scheme="dark")
    opened.page.set_viewport_size({"width": 700, "height": 900})
    widths = opened.page.evaluate(
        "[...document.querySelectorAll('.main-svg')].map(s => s.getBoundingClientRect().right)"
    )
    assert 0 < max(widths) <= 700
    ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert opened.complaints == []


@EVERYWHERE
def test_hover_tells_and_the_legend_switches(
    browser: Any, folder: Path, scheme: str, width: int
) -> None:
    opened = Opened(browser, folder / "swept.html", width=width, color_scheme=scheme)
    page = opened.page
    opened.scroll_to("#ladder")
    box = page.locator("#ladder .plot .bars .point").last.bounding_box()
    for inside in (20, 10):  # on a logarithmic axis a bar begins far to the left
        page.mouse.move(box["x"] + box["width"] - inside, box["y"] + box["height"] / 2)
        page.wait_for_timeout(100)
    page.wait_for_selector("#ladder .hovertext")
    assert "µs" in " ".join(opened.texts("#ladder .hovertext"))
    opened.scroll_to("#latency")
    before = page.locator("#latency .scatterlayer .trace").count()
    page.locator("#latency .legendtoggle").first.click(force=True)
    page.wait_for_function(
        "n => document.querySelectorAll('#latency .scatterlayer .trace').length < n", arg=before
    )
    assert opened.complaints == []


@EVERYWHERE
def test_tables_sort_and_filter_by_keyboard(
    browser: Any, folder: Path, scheme: str, width: int
) -> None:
    opened = Opened(browser, folder / "swept.html", width=width, color_scheme=scheme)
    page = opened.page
    head = page.locator("#latency thead th", has_text="batch")
    assert head.get_attribute("aria-sort") == "none"
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    column = opened.texts("#latency thead th").index(head.inner_text()) + 1
    sizes = [int(text) for text in opened.texts(f"#latency tbody td:nth-child({column})")]
    assert len(sizes) == 24
    assert sizes == sorted(sizes, reverse=True)
    page.locator("#latency input[type=search]").fill("torchscript fp16")
    page.locator("#latency [role=status]", has_text="4 of 24 rows").wait_for()
    assert page.locator("#latency tbody tr").count() == 4


def test_rows_that_are_not_in_the_page_are_read_when_they_are_asked_for(
    browser: Any, folder: Path
) -> None:
    columns = (Column("name", "name"), Column("value", "value", Unit.SECONDS))
    rows = tuple(Row((f"row {n}", (n * 7919 % 1000) * 1e-6)) for n in range(1000))
    section = Section("many", "Many", "Many", sheets=[Sheet("many", "Many", columns, rows)])
    file = folder / "many.html"
    file.write_text(render_page(Page("t", ("a.json",), (section,), "1")), encoding="utf-8")
    opened = Opened(browser, file)
    page = opened.page
    status, cells = page.locator("[role=status]"), page.locator("tbody tr td:first-child")
    assert opened.texts("[role=status]") == ["1 to 200 of 1,000 rows"]
    page.get_by_role("button", name="Next").click()
    status.filter(has_text="201 to 400 of 1,000 rows").wait_for()
    assert cells.first.text_content() == "row 200"
    page.get_by_role("button", name="value").click()
    status.filter(has_text="1 to 200 of 1,000 rows").wait_for()
    assert opened.texts("tbody td.number")[:3] == ["0 ns", "1 µs", "2 µs"]
    page.locator("input[type=search]").fill("row 997")  # one by its name, one by its value
    status.filter(has_text="2 of 1,000 rows").wait_for()
    assert cells.count() == 2
    page.emulate_media(media="print")
    assert status.is_visible()
    assert not page.locator("input[type=search]").is_visible()
    assert opened.complaints == []


def test_names_of_cases_stay_apart_on_a_phone(browser: Any, folder: Path) -> None:
    opened = Opened(browser, folder / "swept.html", width=390)
    opened.page.evaluate("drawAllFigures()")
    names = opened.texts("#attribution .ytick")
    assert len(names) == 24
    assert len(set(names)) == len(names)
    assert any("fp32" in name and "torchscript" in name for name in names)


def test_the_data_of_a_figure_is_a_table(browser: Any, folder: Path) -> None:
    opened = Opened(browser, folder / "swept.html")
    opened.page.locator("#timeline .data summary").first.click()
    rows = opened.page.locator("#timeline .data table tbody tr")
    assert rows.count() == 48
    assert "cudaLaunchKernel_v7000" in rows.first.inner_text()


def test_markup_in_names_stays_text(browser: Any, folder: Path) -> None:
    opened = Opened(browser, folder / "mixed.html")
    opened.page.evaluate("drawAllFigures()")
    assert opened.page.locator("img").count() == 0
    assert MARKUP in opened.page.locator("#latency tbody").inner_text()
    opened.page.locator("#macs .data summary").first.click()
    assert MARKUP in opened.page.locator("#macs .data tbody").inner_text()
    assert opened.complaints == []
