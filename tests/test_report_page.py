"""The page: well-formed, whole without a network, and every text of a file stays text."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from report_results import MARKUP, empty, failed, mixed, question, swept

from ftax_micro.analysis.report import build_page
from ftax_micro.analysis.report.figure import Axis, Figure
from ftax_micro.analysis.report.page import Page, Section
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.errors import MissingPackageError
from ftax_micro.reporters.page import check_page, render_page
from ftax_micro.reporters.page.figures import plotly_figure
from ftax_micro.reporters.page.tables import ROWS_A_PAGE, script_json, sheet_html
from ftax_micro.reporters.scales import bar_ends, ticks, value_text

pytest.importorskip("plotly")

VOID = {"meta", "link", "img", "input", "br", "hr"}
# Attributes that make a browser fetch something.
FETCHING = {"src", "href", "action", "data", "poster", "srcset", "background", "cite"}


class Reader(HTMLParser):
    """Checks nesting, and keeps elements, texts and scripts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data
        else:
            self.text.append(data)


def read(document: str) -> Reader:
    reader = Reader()
    reader.feed(document)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def full() -> Reader:
    return read(render_page(build_page(question(swept(batches=(1, 2))), "1.2.3")))


def test_nothing_is_fetched(full: Reader) -> None:
    for tag, attributes in full.elements:
        for name in FETCHING & set(attributes):
            value = attributes[name] or ""
            assert value.startswith(("#", "data:")), (tag, name, value)
    policy = [a.get("content") for t, a in full.elements if t == "meta" and "http-equiv" in a]
    assert policy[0] is not None
    assert policy[0].startswith("default-src 'none'")


def test_it_can_be_used_without_seeing_it(full: Reader) -> None:
    tags = [tag for tag, _ in full.elements]
    assert {"main", "nav", "header", "footer", "h1", "h2", "caption"} <= set(tags)
    assert ("html", {"lang": "en"}) in full.elements
    keys = [attributes["id"] for tag, attributes in full.elements if tag == "section"]
    links = [attributes["href"] for tag, attributes in full.elements if tag == "a"]
    assert links[1:] == [f"#{key}" for key in keys]
    assert tags.count("table") == tags.count("caption")
    plots = [a for t, a in full.elements if t == "div" and a.get("class") == "plot"]
    assert plots
    assert all(a["role"] == "img" and a["aria-label"] for a in plots)
    identifiers = [a["id"] for _, a in full.elements if "id" in a]
    assert len(set(identifiers)) == len(identifiers)


def test_figures_are_what_plotly_understands(full: Reader) -> None:
    import plotly.graph_objects as go

    figures = [json.loads(text) for a, text in full.scripts if a.get("class") == "figure"]
    assert len(figures) > 8
    for figure in figures:
        go.Figure(figure)  # refuses what it does not know
        for trace in figure["data"]:
            assert len(trace["x"]) == len(trace["y"])


def test_markup_in_a_file_stays_text() -> None:
    document = render_page(build_page(question(mixed()), "1"))
    reader = read(document)
    assert not any(tag in ("img", "b") for tag, _ in reader.elements)
    assert MARKUP in " ".join(reader.text)
    for attributes, text in reader.scripts:
        if attributes.get("type") == "application/json":
            assert "<" not in text
            # Plotly reads a small HTML of its own.
            assert "<b>" not in json.dumps(json.loads(text))
    assert html.escape(MARKUP, quote=False) not in ("", MARKUP)


@pytest.mark.parametrize("make", [empty, failed, mixed])
def test_every_input_gives_a_whole_page(make: Any) -> None:
    reader = read(render_page(build_page(question(make()), "1")))
    assert [t for t, _ in reader.elements].count("section") == 10
    text = " ".join(reader.text)
    assert ("nothing can be said" in text) == (make is not mixed)
    assert (", incomplete: " in text) == (make is not failed)  # at the top, beside the file's name
    assert "python -m ftax_micro." in text


def test_a_page_without_figures_does_without_plotly() -> None:
    assert len(render_page(build_page(question(empty()), "1"))) < 60_000


def test_tables_of_many_rows_keep_the_rest_beside_them() -> None:
    columns = (Column("name", "name"), Column("value", "value", Unit.SECONDS))
    rows = tuple(Row((f"row {n}", n * 1e-6 if n else None)) for n in range(ROWS_A_PAGE + 5))
    text = sheet_html(Sheet("s", "A <title>", columns, rows), "key")
    reader = read(text)
    assert [t for t, _ in reader.elements].count("tr") == ROWS_A_PAGE + 1
    ((_, packed),) = reader.scripts
    kept = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert len(kept) == len(rows)
    assert kept[:2] == [
        [["row 0", None], ["–", None]],
        [["row 1", None], ["1 µs", 1e-6]],
    ]
    assert "A <title>" in reader.text
    assert "1 to 200 of 205 rows" in reader.text  # on paper as well: the first page alone is there
    assert sheet_html(Sheet("s", None, columns, ()), "key") == ""


def test_a_number_of_another_unit_than_its_columns_is_shown_in_its_own() -> None:
    columns = (Column("what", "what"), Column("here", "here", Unit.RATIO))
    rows = (Row(("a", 0.25), units=((1, Unit.SHARE),)), Row(("b", 2.5)))
    text = read(sheet_html(Sheet("s", None, columns, rows), "key")).text
    assert [each for each in text if each in ("25 %", "2.5", "0.25")] == ["25 %", "2.5"]


def test_figures_beyond_what_a_browser_opens_are_counted_and_where_they_are_is_said() -> None:
    figure = Figure("f", "A title", "points", Axis("x"), Axis("y"), (), "nothing")
    section = Section("latency", "Latency", "Latency", figures=(figure,) * 123)
    reader = read(render_page(Page("t", ("a.json",), (section,), "1")))
    assert [tag for tag, _ in reader.elements].count("figure") == 120
    assert "108 more figures" in reader.text
    (told,) = (text for text in reader.text if "not on this page" in text)
    assert told.startswith("3 more figures")
    assert "--format svg" in told


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    lines = ["takes 2.5 µs (4 %) and 1.2 × more, 3 sheets"]
    text = render_page(Page("t", ("a.json: x",), (Section("a", "A", "A", lines),), "1"))
    assert "takes 2.5\u00a0µs (4\u00a0%) and 1.2\u00a0× more, 3 sheets" in text


def test_files_that_a_page_is_of_are_named_or_counted() -> None:
    text = render_page(Page("t", tuple(f"{n}.json: <b>" for n in range(11)), (), "1"))
    assert text.count("<p>Of ") == 8
    assert "<p>Of 7.json: &lt;b&gt;</p>" in text
    assert "<p>and 3 more files</p>" in text


def test_json_in_a_script_neither_ends_nor_begins_one() -> None:
    text = script_json(["</script>", "<!--", "\u2028", "µ"])
    assert not re.search("[<\u2028]", text)
    assert json.loads(text) == ["</script>", "<!--", "\u2028", "µ"]
    with pytest.raises(ValueError):
        script_json(float("nan"))


def test_a_missing_plotly_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"ftax-micro\[report\]"):
        check_page()


def test_series_of_a_mode_look_alike_on_every_page(full: Reader) -> None:
    found: dict[str, set[str]] = {}
    for attributes, text in full.scripts:
        if attributes.get("class") == "figure":
            for trace in json.loads(text)["data"]:
                name = trace.get("name", "").split(" ")[0]
                if trace["type"] == "scatter" and trace.get("meta") == "data":
                    colour = (trace.get("line") or trace["marker"])["color"]
                    found.setdefault(name, set()).add(colour)
    assert set(found) == {"eager", "torchscript", "cuda_graph"}
    assert all(len(colours) == 1 for colours in found.values())
    assert len(set.union(*found.values())) == 3


def test_points_of_two_dtypes_are_told_apart(full: Reader) -> None:
    figures = [json.loads(text) for a, text in full.scripts if a.get("class") == "figure"]
    clouds = [each["data"] for each in figures if each["data"][0].get("mode") == "markers"]
    (points,) = clouds
    looks = {(each["marker"]["color"], each["marker"]["symbol"]) for each in points}
    assert len(looks) == len(points) == 6


def test_ticks_are_round_and_few() -> None:
    seconds, batch = Axis("t", Unit.SECONDS, log=True), Axis("batch", log=True)
    assert ticks(batch, [1, 2, 4, 32]) == [1, 2, 4, 32]
    assert {1e-5, 2e-5, 5e-5, 1e-4} <= set(ticks(seconds, [2e-5, 1e-4]))
    assert 2e-5 not in ticks(seconds, [1e-9, 1e-2])
    assert ticks(seconds, []) == []
    assert bar_ends([2e-6, 3e-3]) == pytest.approx((1e-6, 4.8e-3))
    assert bar_ends([1e-6, 2e-6])[0] == pytest.approx(1e-7)
    texts = [value_text(x, Unit.COUNT) for x in (1, 1024, 1.1e10)]
    assert texts == ["1", "1024", "11 G"]


def test_a_figures_layout_leaves_colours_to_the_page() -> None:
    page = build_page(question(swept(batches=(1, 2), dtypes=("fp16",))), "1")
    for figure in page.figures:
        layout = plotly_figure(figure)["layout"]
        assert "font" not in layout
        assert "paper_bgcolor" not in layout
