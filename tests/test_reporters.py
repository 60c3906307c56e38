"""Reporters: nothing is lost, nothing is computed, and text from outside is never markup."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from fake_results import (
    absent,
    around,
    correction,
    device,
    environment,
    gpu,
    result,
    row,
    slope_row,
)

from ftax_micro.analysis.comparing.comparison import Comparison, compare_results
from ftax_micro.analysis.floor.view import FloorView, floor_view
from ftax_micro.errors import UnknownNameError
from ftax_micro.findings import Finding, FindingStatus
from ftax_micro.records import CoreSpeeds, Plan, Verdict
from ftax_micro.registry import Registry
from ftax_micro.reporters import COMPARISON_REPORTERS, DIAGNOSIS_REPORTERS, FLOOR_REPORTERS
from ftax_micro.results import Result, decode_result

# As the issue lists them; scripts read these by name, and by place too.
FLOOR_COLUMNS = (
    "device,name,setting,median_s,ci_low_s,ci_high_s,p5_s,p95_s,min_s,samples,stop_reason,status,"
    "reason"
)
SPIN = {"wait": "spin"}
FELL = Verdict(code="clock_fell", sentence="the SM clock fell by 9 % during this row")


def floor() -> Result:
    """One of everything a floor can hold."""
    return result(
        row("launch_sync", around(8e-6, 1), setting=dict(SPIN)),
        row(
            "to_start", around(4e-6, 2), setting=dict(SPIN), corrections=[correction(1e-6, 0, 2e-6)]
        ),
        row("sync", around(4e-6, 3), setting=dict(SPIN), verdicts=[FELL], censored=4),
        row("spacing", around(2e-6, 4), setting=dict(SPIN)),
        slope_row("submit", 1e-6),
        row("queue_knee", [1022.0] * 5, unit="count", stop_reason="fixed_count"),
        row("first_launch", [1.0, 2.0, 3.0], device="cuda:0"),
        absent("graph_launch", "failed", "CUDA_ERROR_UNKNOWN [in red]", device="cuda:0"),
        absent("launch_rate", reason="needs driver 12.0, has 11.4 | and more", device="cuda:0"),
        devices=[device("cpu"), device("cuda:0", "NVIDIA [bold]H200[/bold] | SXM")],
    )


@pytest.fixture(params=["table", "markdown"])
def for_people(request: pytest.FixtureRequest) -> str:
    """The formats that people read."""
    return str(request.param)


def show(view: FloorView, layout: str) -> str:
    return str(FLOOR_REPORTERS.open(layout)(view))


def record(text: str, **wanted: str) -> dict[str, str]:
    """The one CSV record with these values."""
    rows = csv.DictReader(io.StringIO(text))
    (found,) = (r for r in rows if all(r[k] == v for k, v in wanted.items()))
    return found


# Floors


def test_csv_begins_with_the_promised_columns() -> None:
    text = show(floor_view(floor()), "csv")
    assert text.splitlines()[0].startswith(f"{FLOOR_COLUMNS},")
    assert len(list(csv.reader(io.StringIO(text)))) == 1 + len(floor().measurements)
    assert "\r" not in text


def test_csv_has_numbers_in_seconds_and_leaves_the_rest_empty() -> None:
    text = show(floor_view(floor()), "csv")
    median = record(text, name="launch_sync")
    assert float(median["median_s"]) == pytest.approx(8e-6, rel=0.01)
    assert float(median["ci_low_s"]) < float(median["median_s"]) < float(median["ci_high_s"])
    assert float(median["min_s"]) < float(median["p5_s"]) < float(median["p95_s"])
    assert (median["samples"], median["stop_reason"], median["status"]) == ("400", "interval", "ok")
    slope = record(text, name="submit")
    assert float(slope["median_s"]) == pytest.approx(1e-6, rel=0.01)
    assert (slope["p5_s"], slope["p95_s"], slope["min_s"], slope["samples"]) == ("", "", "", "400")
    knee = record(text, name="queue_knee")
    assert (knee["median_s"], knee["count"]) == ("", "1022")
    few = record(text, name="first_launch")
    assert (few["median_s"], few["ci_low_s"], few["p95_s"]) == ("2", "", "")


def test_csv_has_reasons_verdicts_and_systematic_ranges() -> None:
    text = show(floor_view(floor()), "csv")
    failed = record(text, name="graph_launch")
    assert (failed["status"], failed["reason"]) == ("failed", "CUDA_ERROR_UNKNOWN [in red]")
    assert (failed["median_s"], failed["samples"], failed["stop_reason"]) == ("", "", "")
    assert record(text, name="sync")["verdicts"] == "clock_fell"
    start = record(text, name="to_start")
    assert float(start["systematic_low_s"]) == pytest.approx(2e-6, rel=0.02)
    assert float(start["systematic_high_s"]) == pytest.approx(4e-6, rel=0.02)


def test_json_is_the_result_itself() -> None:
    assert decode_result(show(floor_view(floor()), "json").encode()) == floor()


def test_people_see_every_row_or_why_it_is_not_there(for_people: str) -> None:
    text = show(floor_view(floor()), for_people)
    for measurement in floor().measurements:
        assert measurement.name in text
    assert "cuda:0 graph_launch: failed, CUDA_ERROR_UNKNOWN [in red]" in text
    assert "cuda:0 launch_rate: skipped, needs driver 12.0" in text
    assert "cpu sync wait=spin: the SM clock fell by 9 % during this row" in text
    assert "cpu sync wait=spin: 4 of 404 shots censored" in text
    assert "cpu to_start wait=spin: with its systematic uncertainty" in text
    assert "cpu closure wait=spin: launch_sync takes" in text


def test_lines_about_the_only_device_do_not_name_it(for_people: str) -> None:
    view = floor_view(result(row("sync", around(4e-6), setting=dict(SPIN), censored=4)))
    lines = [line for line in show(view, for_people).splitlines() if "censored" in line]
    assert [line.removeprefix("- ").partition(":")[0] for line in lines] == ["sync wait=spin"]


def test_rows_absent_for_one_reason_stand_on_one_line(for_people: str) -> None:
    rows = [
        absent("sync", setting={"wait": "block"}),
        absent("to_start", setting={"idle_ns": 1_000_000}),
        absent("submit", reason="no time"),
    ]
    text = show(floor_view(result(*rows)), for_people)
    assert "cpu sync wait=block, to_start idle=1ms: skipped, one core only" in text
    assert "cpu submit: skipped, no time" in text


def test_no_digit_is_shown_that_the_clock_did_not_tick(for_people: str) -> None:
    ticks = [1e-9 * round(x * 1e9) for x in around(133e-9, spread=0.002, size=1000)]
    rows = [row("launch_sync", ticks), row("submit", [x / 1000 for x in ticks], loops=1000)]
    text = show(floor_view(result(*rows)), for_people)
    shot, looped = (line for line in text.splitlines() if "133 … 133 ns" in line or "0.133" in line)
    assert "133 ns" in shot
    assert "133." not in shot
    assert "0.133 ns" in looped


def test_a_sample_out_of_proportion_has_its_own_unit(for_people: str) -> None:
    view = floor_view(result(row("to_start", [898e-9] * 150 + [0.94] * 20)))
    assert "940 ms" in show(view, for_people)


@pytest.mark.parametrize(
    ("whole_s", "words"),
    [(8e-6, ": closes"), (7.8e-6, ": closes within the tolerance"), (20e-6, ": DOES NOT CLOSE")],
)
def test_a_closure_says_what_came_of_it(whole_s: float, words: str, for_people: str) -> None:
    rows = [
        row(name, around(value_s, size=2000, spread=1e-4), setting=dict(SPIN))
        for name, value_s in {
            "launch_sync": whole_s,
            "to_start": 4e-6,
            "sync": 4e-6,
            "spacing": 1e-8,
        }.items()
    ]
    lines = show(floor_view(result(*rows)), for_people).splitlines()
    (line,) = (each for each in lines if "closure" in each)
    assert words in line
    assert line.endswith(words) or "DOES" in words


def test_text_from_outside_is_not_markup() -> None:
    assert "NVIDIA [bold]H200[/bold] | SXM" in show(floor_view(floor()), "table")
    text = show(floor_view(floor()), "markdown")
    assert "11.4 \\| and more" in text


def test_the_confidence_of_the_plan_is_in_the_heading(for_people: str) -> None:
    view = floor_view(result(row(samples=around(1e-6)), plan=Plan(confidence=0.99)))
    assert "99 % interval" in show(view, for_people)


def test_an_incomplete_run_says_so(for_people: str) -> None:
    broken = msgspec.structs.replace(floor(), complete=False, incomplete_reason="SIGTERM")
    assert "incomplete: SIGTERM" in show(floor_view(broken), for_people)


@pytest.mark.parametrize("layout", list(FLOOR_REPORTERS))
def test_a_result_without_rows_is_rendered(layout: str) -> None:
    assert show(floor_view(result()), layout).endswith("\n")


# Comparisons


@pytest.fixture
def comparison() -> Comparison:
    """Three machines: a laptop, a server, and one that could not do much."""
    leg = correction(1e-6, 0.0, 2e-6)
    laptop = result(
        row("submit", around(1e-6, 1), setting=dict(SPIN)),
        row("to_start", around(5e-6, 2), corrections=[leg]),
        row("queue_knee", [1022.0] * 5, unit="count"),
        row("few", [1e-6] * 3),
    )
    server = result(
        row("submit", around(1.5e-6, 3), setting=dict(SPIN), verdicts=[FELL]),
        row("to_start", around(5.5e-6, 4), corrections=[leg], censored=7),
        row("queue_knee", [4094.0] * 5, unit="count"),
        row("few", [2e-6] * 3),
        environment=environment(hostname="[node]|7", gpus=[gpu()]),
    )
    tiny = result(absent("submit", setting=dict(SPIN)), processes=5)
    return compare_results([laptop, server, tiny], labels=["laptop", "server", "tiny"])


def test_people_see_machines_values_ratios_and_verdicts(
    comparison: Comparison, for_people: str
) -> None:
    text = COMPARISON_REPORTERS.open(for_people)(comparison).replace("\\*", "*")
    for words in ("laptop (baseline)", "A Processor, 4 cores", "A GPU", "580.1", "5 processes"):
        assert words in text
    line = next(each for each in text.splitlines() if "slower" in each and "*" not in each)
    assert "server" in line
    assert "1.50" in line
    assert "slower*" in text
    assert "a verdict with * could change within the systematic uncertainty" in text
    assert "not compared, tiny: cpu submit wait=spin: skipped: one core only" in text
    assert "not compared, tiny: cpu to_start, cpu queue_knee, cpu few: not measured" in text
    assert "server, cpu submit wait=spin: the SM clock fell by 9 % during this row" in text
    assert "server, cpu to_start: 7 of 407 shots censored" in text
    # 4 ± 1 µs against 4.5 ± 1 µs: between 3.5 / 5 and 5.5 / 3.
    assert "server, cpu to_start: ratio 0.7 … 1.83 for any truth of the corrections" in text
    assert "4 ratios against laptop, margin 2 %: 2 slower, 1 different, 1 ambiguous" in text


def test_host_names_are_not_markup(comparison: Comparison) -> None:
    assert "[node]|7" in COMPARISON_REPORTERS.open("table")(comparison)
    assert "[node]\\|7" in COMPARISON_REPORTERS.open("markdown")(comparison)


def test_the_baseline_comes_first_in_every_row() -> None:
    results = [result(row(samples=around(m * 1e-6, n))) for n, m in enumerate((2, 1))]
    comparison = compare_results(results, baseline=1, labels=["a", "b"])
    text = COMPARISON_REPORTERS.open("markdown")(comparison)
    lines = [line for line in text.splitlines() if "submit" in line or "slower" in line]
    assert [line.split(" | ")[2] for line in lines[:2]] == ["b", "a"]


def test_csv_of_a_comparison_has_every_file_and_row(comparison: Comparison) -> None:
    text = COMPARISON_REPORTERS.open("csv")(comparison)
    assert len(text.splitlines()) == 1 + 3 * 4
    base = record(text, result="laptop", name="submit")
    assert (base["verdict"], base["ratio"], base["firm"]) == ("baseline", "", "")
    slower = record(text, result="server", name="submit")
    assert (slower["verdict"], slower["firm"]) == ("slower", "true")
    assert float(slower["ratio"]) == pytest.approx(1.5, rel=0.01)
    knee = record(text, result="server", name="queue_knee")
    assert (knee["median_s"], knee["count"], knee["verdict"]) == ("", "4094", "different")
    skipped = record(text, result="tiny", name="submit")
    assert (skipped["status"], skipped["reason"]) == ("skipped", "skipped: one core only")
    assert record(text, result="tiny", name="few")["status"] == "absent"
    few = record(text, result="server", name="few")
    assert (few["ratio"], few["ratio_low"], few["verdict"]) == ("2", "", "ambiguous")
    start = record(text, result="server", name="to_start")
    assert start["firm"] == "false"
    assert float(start["systematic_ratio_high"]) == pytest.approx(5.5 / 3, rel=0.01)


def test_json_of_a_comparison_is_its_records(comparison: Comparison) -> None:
    content = json.loads(COMPARISON_REPORTERS.open("json")(comparison))
    assert (content["kind"], content["baseline"], content["comparisons"]) == ("comparison", 0, 4)
    assert [side["label"] for side in content["sides"]] == ["laptop", "server", "tiny"]
    assert content["rows"][0]["ratios"][1]["verdict"] == "slower"
    assert content["not_compared"][0]["reason"] == "skipped: one core only"


# Diagnoses


def test_a_diagnosis_shows_part_status_detail_and_advice(for_people: str) -> None:
    findings = [
        Finding(part="extension", status="ok", detail="version 0.1.0"),
        Finding(part="nvml", status="missing", detail="not found", advice="install | it"),
    ]
    text = DIAGNOSIS_REPORTERS.open(for_people)(findings)
    for words in ("extension", "ok", "version 0.1.0", "nvml", "missing", "not found"):
        assert words in text
    assert "install | it" in text.replace("\\|", "|")
    assert "2 checks: 1 ok, 1 missing" in text


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ({"extension": "ok", "cpu device": "warning"}, "measured here: cpu; no GPU"),
        ({"extension": "ok", "cpu device": "ok", "cuda:0": "ok"}, "measured here: cpu, cuda:0."),
        ({"extension": "ok", "cpu device": "ok", "cuda:0": "broken"}, "here: cpu; no GPU"),
        ({"extension": "broken", "cpu device": "broken"}, "nothing can be measured here"),
    ],
)
def test_a_diagnosis_ends_with_what_can_be_measured(
    states: dict[str, FindingStatus], words: str, for_people: str
) -> None:
    findings = [Finding(part=part, status=state, detail="-") for part, state in states.items()]
    assert words in DIAGNOSIS_REPORTERS.open(for_people)(findings).splitlines()[-1]


# All of them


@pytest.mark.parametrize("registry", [FLOOR_REPORTERS, COMPARISON_REPORTERS, DIAGNOSIS_REPORTERS])
def test_every_format_opens_and_an_unknown_one_suggests_the_nearest(registry: Registry) -> None:
    reporters: list[Callable[..., Any]] = [registry.open(name) for name in registry]
    assert all(map(callable, reporters))
    with pytest.raises(UnknownNameError, match="unknown format 'jsn'; did you mean json"):
        registry.open("jsn")


# A row beside which a core was slow for a while


def disturbed(quiet: int, slow: int) -> Result:
    """A row with so many samples of 1 µs, then so many of 4 µs beside a slow core."""
    samples = [1e-6] * quiet + [4e-6] * slow
    works, each = [*[1e-9] * 11, 2e-9], quiet // 10  # ten quiet stretches between glances
    speeds = CoreSpeeds(work_s={"0": works}, samples=[*[each] * 10, slow])
    told = row("launch_sync", samples, setting=dict(SPIN))
    assert told.data is not None
    data = msgspec.structs.replace(told.data, core_speeds=speeds)
    return result(msgspec.structs.replace(told, data=data))


def test_a_disturbed_row_tells_what_its_undisturbed_samples_give() -> None:
    view = floor_view(disturbed(40, 60))
    table = " ".join(FLOOR_REPORTERS.open("table")(view).split())
    assert "a core was up to 2 times slower" in table
    assert "launch_sync wait=spin (by its undisturbed samples 1 µs)" in table
    (cells,) = csv.DictReader(io.StringIO(FLOOR_REPORTERS.open("csv")(view)))
    assert float(cells["median_s"]) == pytest.approx(4e-6)
    assert float(cells["slowdown"]) == pytest.approx(2)
    assert float(cells["undisturbed_s"]) == pytest.approx(1e-6)


def test_a_row_that_is_mostly_undisturbed_has_both_values_and_no_verdict() -> None:
    view = floor_view(disturbed(60, 50))
    assert "slower than" not in FLOOR_REPORTERS.open("table")(view)
    (cells,) = csv.DictReader(io.StringIO(FLOOR_REPORTERS.open("csv")(view)))
    assert (cells["slowdown"], cells["verdicts"]) == ("1", "")
    assert [float(cells[name]) for name in ("undisturbed_s", "p95_s")] == [1e-6, 4e-6]


@pytest.mark.parametrize(("quiet", "told"), [(40, True), (20, False)])
def test_many_disturbed_rows_say_where_their_undisturbed_samples_are(
    quiet: int, told: bool
) -> None:
    (one,) = disturbed(quiet, 60).measurements
    rows = [msgspec.structs.replace(one, name=f"row_{number}") for number in range(6)]
    table = " ".join(FLOOR_REPORTERS.open("table")(floor_view(result(*rows))).split())
    assert "6 of 6 (--format csv says which" in table
    assert ("and what their undisturbed samples give" in table) is told
