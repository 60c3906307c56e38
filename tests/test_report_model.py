"""A report as data: which sections, figures and tables follow from which files."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest
from fake_results import result
from floor_results import US, floor_result
from ladder_results import ladder, rung
from profiler_traces import annotation, launched, trace_text
from report_results import PACE, case, empty, failed, mixed, question, swept

from ftax_micro.analysis.report import build_page
from ftax_micro.analysis.report.figure import Axis, Figure, Series, slug, table_of
from ftax_micro.analysis.report.page import Page, Section
from ftax_micro.analysis.sheet import Unit
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.views.contract import Question, Source
from ftax_micro.records import Case
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

ORDER = [
    *("answer", "anatomy", "ladder", "latency", "attribution", "timeline", "macs", "paper"),
    *("machines", "absent"),
]


def page(*results: Result) -> Page:
    return build_page(question(*results), "1.2.3")


def part(found: Page, key: str) -> Section:
    return next(section for section in found.sections if section.key == key)


@pytest.fixture(scope="module")
def full() -> Page:
    return page(swept(batches=(1, 2, 4, 8, 16, 32)))


def test_sections_come_in_order_and_all_have_data(full: Page) -> None:
    assert [section.key for section in full.sections] == ORDER
    assert all(section.missing is None for section in full.sections)
    names = [figure.name for figure in full.figures]
    assert len(set(names)) == len(names)
    assert all(figure.summary for figure in full.figures)


def test_the_answer_says_regime_tax_mode_and_crossover(full: Page) -> None:
    text = "\n".join(part(full, "answer").lines)
    assert "cases with bounds: " in text
    assert "is framework-bound in eager (tax " in text
    assert "88.00 µs in cuda_graph, its fastest mode" in text
    assert "Launch floor of cuda:0" in text
    ((heading, lines),) = part(full, "answer").groups
    assert heading == "What would change it"
    assert any("The crossover is at batch 15.5 (8 … 16)" in line for line in lines)


def test_latency_against_batch_has_all_modes_with_bands_and_crossovers(full: Page) -> None:
    (figure,) = part(full, "latency").figures
    assert figure.x.log
    assert figure.y.log
    assert [series.name for series in figure.series][:3] == [f"{mode} fp16" for mode in PACE]
    eager = figure.series[0]
    assert list(eager.x) == [1, 2, 4, 8, 16, 32]
    assert all(low is not None and low <= y for low, y in zip(eager.low, eager.y, strict=True))
    rules = {rule.series: rule for rule in figure.rules}
    assert rules["eager fp16"].x == pytest.approx(15.5, rel=0.1)


def test_parts_of_a_latency_add_up_to_it(full: Page) -> None:
    figures = part(full, "attribution").figures
    assert len(figures) == 2  # 36 bars are too many for one
    sums = [0.0] * len(figures[0].y.names)
    for series in figures[0].series:
        for value, place in zip(series.x, series.y, strict=True):
            sums[int(place)] += value
    latencies = [row.cells[3] for row in part(full, "attribution").sheets[0].rows]
    expected = [cell.value for cell in latencies if isinstance(cell, Estimate)]
    assert sums == pytest.approx(expected[: len(sums)])


def test_a_model_whose_bars_would_not_be_seen_beside_others_has_a_figure_of_its_own() -> None:
    def long(each: Case, times: float) -> Case:
        assert each.latency is not None
        samples = [times * sample for sample in each.latency.samples]
        return msgspec.structs.replace(
            each, model="large", latency=msgspec.structs.replace(each.latency, samples=samples)
        )

    for times, models in ((10, [""]), (50, ["bert_base", "large"])):
        cases = [case("eager"), long(case("eager"), times)]
        found = msgspec.structs.replace(floor_result(), kind="model_latency", cases=cases)
        figures = part(page(found), "attribution").figures
        assert len(figures) == len(models)
        assert all(n in f"{f.name}{f.y.names}" for n, f in zip(models, figures, strict=True))


def test_what_all_cases_have_in_common_is_said_once(full: Page) -> None:
    (sheet,) = part(full, "latency").sheets
    assert sheet.title == "Latency of every case: cuda:0, size 128"
    hidden = {each.name for each in sheet.columns if each.heading is None}
    assert hidden == {"device", "size"}


def test_what_follows_the_models_names_is_said_once_where_it_is_the_same() -> None:
    (sheet,) = part(page(swept("one", "two", batches=(1,), dtypes=("fp16",))), "attribution").sheets
    assert sheet.title == "Bounds and tax of every case: cuda:0 fp16 batch 1 sequence 128"
    assert {row.cells[0] for row in sheet.rows} == {"one", "two"}
    (other,) = part(page(swept(batches=(1, 2), dtypes=("fp16",))), "attribution").sheets
    assert other.rows[0].cells[0] == "bert_base cuda:0 fp16 batch 1 sequence 128"


def test_a_timeline_joins_calls_above_to_operations_below(full: Page) -> None:
    figure = part(full, "timeline").figures[0]
    assert figure.y.names == ("host calls", "cuda:0")
    calls, kernels, copies = figure.series
    assert (calls.name, kernels.name, copies.name) == ("host calls", "kernels", "copies")
    assert len(calls.x) == len(kernels.x) + len(copies.x) == len(figure.links) == 24
    x0, y0, x1, y1 = figure.links[0]
    assert (x0, y0, y1) == (calls.start[0], 0.0, 1.0)
    assert x1 == pytest.approx(14 * US)
    assert any("more cases have a device pass" in line for line in part(full, "timeline").lines)


def test_streams_have_lanes_of_their_own() -> None:
    plain = case("eager")
    assert plain.device_pass is not None
    operations = [
        msgspec.structs.replace(each, stream=7 + 6 * (place % 2))
        for place, each in enumerate(plain.device_pass.operations)
    ]
    done = msgspec.structs.replace(plain.device_pass, operations=operations)
    two = msgspec.structs.replace(plain, device_pass=done)
    found = msgspec.structs.replace(floor_result(), kind="model_latency", cases=[two])
    (figure,) = part(page(found), "timeline").figures
    assert figure.y.names == ("host calls", "cuda:0 stream 7", "cuda:0 stream 13")


@pytest.mark.parametrize("make", [empty, failed])
def test_without_data_each_section_says_what_to_measure(make: Callable[[], Result]) -> None:
    found = page(make())
    for key in ("answer", "anatomy", "ladder", "latency", "attribution", "timeline", "macs"):
        assert part(found, key).missing, key
    assert found.figures == []
    text = [row.cells for sheet in part(found, "machines").sheets for row in sheet.rows]
    assert len(text) > 5


def test_what_failed_stands_before_what_was_skipped() -> None:
    section = part(page(mixed()), "absent")
    assert section.lines == ["2 failed, 2 skipped."]
    statuses = [row.cells[3] for row in section.sheets[0].rows]
    assert statuses == ["failed", "failed", "skipped", "skipped"]
    incomplete = part(page(mixed()), "machines").sheets[1].rows[0].cells
    assert incomplete[2] == "incomplete"
    assert part(page(floor_result()), "absent").lines == ["Nothing failed and nothing was skipped."]


def test_a_cpu_says_that_the_paper_is_about_gpus() -> None:
    missing = part(page(ladder(rung("raw_call", 2e-9, op="call"))), "paper").missing
    assert missing is not None
    assert "about GPUs" in missing


def test_several_files_are_told_apart() -> None:
    found = page(floor_result(), ladder(rung("raw_call", 2e-9, op="call")), swept(batches=(1, 2)))
    assert [each.split(":")[0] for each in found.sources] == ["a.json", "b.json", "c.json"]
    assert found.title == "Framework tax report: A GPU, A Processor, a.json, b.json, c.json"
    groups = part(found, "answer").groups
    assert groups[0][0] == "c.json"  # the one that says what binds
    titles = [figure.title for figure in part(found, "anatomy").figures]
    assert titles[0].endswith("(a.json)")
    columns = part(found, "latency").sheets[0]
    assert columns.rows[0].cells[-1] == "c.json"


def test_a_trace_has_its_steps(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "trace.json"
    events = [annotation("ProfilerStep#1", 0, 100), *launched(1, 10, 5, 20, 30)]
    path.write_bytes(trace_text(events))
    asked = Question((Source("trace.json", trace=read_pytorch_trace(path)),))
    found = build_page(asked, "1")
    assert found.sources == ("trace.json: a trace of a GPU without a name",)
    line = part(found, "answer").lines[0]
    assert "takes 100 µs; the device is busy for 30 µs and idle for 70 µs" in line
    (figure,) = part(found, "attribution").figures
    assert sum(series.x[0] for series in figure.series) == pytest.approx(100 * US)
    (timeline,) = part(found, "timeline").figures
    calls, kernels = timeline.series
    assert [*calls.start, *calls.x] == pytest.approx([10 * US, 5 * US])
    assert [*kernels.start, *kernels.x] == pytest.approx([20 * US, 30 * US])
    assert list(timeline.links[0]) == pytest.approx([10 * US, 0.0, 20 * US, 1.0])
    assert part(found, "machines").missing is not None


def test_a_negative_part_is_kept() -> None:
    quick = case("eager", latency=None)
    assert quick.device_pass is not None
    samples = [quick.device_pass.busy_s[0] * 0.5] * 30
    data = msgspec.structs.replace(case("eager").latency, samples=samples)  # type: ignore[type-var]
    cases = [msgspec.structs.replace(quick, latency=data, host=None)]
    found = msgspec.structs.replace(floor_result(), kind="model_latency", cases=cases)
    (figure,) = part(page(found), "attribution").figures
    assert figure.series[-1].name == "framework tax"
    assert figure.series[-1].x[0] < 0


def test_a_figures_table_has_a_row_for_each_point(full: Page) -> None:
    for figure in full.figures:
        headings, rows = table_of(figure)
        points = sum(len(series.x) for series in figure.series)
        assert len(rows) == points + len(figure.rules)
        assert all(len(row) == len(headings) for row in rows)
    headings, rows = table_of(part(full, "timeline").figures[0])
    assert headings == ["series", "lane", "start_s", "time_s", "time_s_low", "time_s_high", "label"]
    assert rows[0][:3] == ["host calls", "host calls", pytest.approx(10 * US)]


def test_rows_without_a_positive_value_are_in_the_table_alone() -> None:
    from fake_results import row

    rows = [
        row("submit", [1e-6] * 30),
        row("gap", [-1e-9] * 30),
        row("queue_knee", [5.0] * 30, unit="count"),
    ]
    section = part(page(result(*rows)), "anatomy")
    (figure,) = section.figures
    assert figure.y.names == ("submit",)
    assert len(section.sheets[0].rows) == 3
    assert all(math.isfinite(x) for series in figure.series for x in series.x)


def test_a_slug_is_a_file_name() -> None:
    assert slug("a/b", None, "../x y", 3) == "a-b-..-x-y-3"
    assert slug("<b>") == "b"


def test_a_lying_figure_has_its_values_along_x() -> None:
    axis = Axis("time", Unit.SECONDS)
    bars = Figure("f", "t", "bars", axis, Axis("row", names=("a", "b")), (), "s")
    assert bars.lying
    one = Series("m", (1.0,), (1.0,))
    headings, rows = table_of(Figure("f", "t", "bars", axis, bars.y, (one,), "s"))
    assert rows == [["m", "b", 1.0, None, None, ""]]
    assert headings[1:3] == ["row", "time_s"]
