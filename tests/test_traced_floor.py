"""The traced floor as a user meets it: the command, the fake driver and a fake CUPTI on top.

What the tracer recorded is exact, as the fake works out its timeline; what the host timed can be
late on a loaded machine, but not early (see test_cuda_device).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from cuda_command import CHEAP, TINY, launch_floor, settings
from fake_cuda import keys
from fake_cupti import FOLDER

from ftax_micro.analysis.summary import summarise
from ftax_micro.devices._extension import core
from ftax_micro.records import Measurement
from ftax_micro.results import Result, decode_result
from ftax_micro.stats import fit_line

pytestmark = pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")

ATTEMPTS = 5
TRACED_CALL_NS = keys()["traced_call_ns"]
SUBMIT_NS, BODY_NS = CHEAP["submit_ns"], CHEAP["body_ns"]
PATH = f"{Path(__file__).parent}:{FOLDER}"
SMALL = ("--min-samples", "200", "--min-time", "0", "--timeout", "3")

Run = Callable[..., tuple[int, str, list[str]]]
Measure = Callable[..., Result]


@pytest.fixture
def run(fake_cuda_path: Callable[[str], Path]) -> Run:
    """`launch_floor` on the fake device with a CUPTI that goes wrong as told."""

    def command(*arguments: str, cupti: str = "", **more: str) -> tuple[int, str, list[str]]:
        where = {"PYTHONPATH": PATH, "FAKE_CUPTI": cupti, **more}
        return launch_floor(fake_cuda_path("13.0"), "--device", "cuda", *arguments, **where)

    return command


@pytest.fixture
def measure(run: Run) -> Measure:
    def result(
        *probes: str, cupti: str = "", code: int = 0, plan: Sequence[str] = TINY, **more: str
    ) -> Result:
        arguments = ("--probe", ",".join(probes), "--format", "json", *plan)
        status, out, err = run(*arguments, cupti=cupti, **more)
        assert status == code, err
        return decode_result(out.encode())

    return result


def rows(result: Result, name: str, *, traced: bool) -> list[Measurement]:
    found = [m for m in result.measurements if m.name == name]
    return [m for m in found if ("tracer" in m.setting) == traced]


def of_api(found: list[Measurement], api: str) -> Measurement:
    return next(m for m in found if m.setting.get("api", "kernel") == api)


def value(measurement: Measurement) -> float:
    assert measurement.status == "ok", measurement.reason
    (summary,) = summarise([measurement])
    assert summary.value is not None
    return summary.value


def test_begin_to_begin_is_the_call_and_the_way_to_the_kernel(measure: Measure) -> None:
    found = of_api(rows(measure("begin_to_begin"), "begin_to_begin", traced=True), "kernel")
    wanted_s = (TRACED_CALL_NS + SUBMIT_NS + CHEAP["start_active_ns"]) * 1e-9
    assert value(found) == pytest.approx(wanted_s, abs=2e-9)
    assert found.facts["records_dropped"] == 0
    assert found.facts["negative_values"] == 0
    assert str(found.facts["tracer"]).startswith("cupti-python")
    assert found.facts["own_process"] is True
    assert found.verdicts == []


def test_the_runtimes_call_begins_before_the_drivers(
    measure: Measure, fake_cuda_builder: object
) -> None:
    runtime = fake_cuda_builder.runtime("13.0")  # type: ignore[attr-defined]
    result = measure("begin_to_begin", FTAX_MICRO_CUDA_RUNTIME=str(runtime))
    found = of_api(rows(result, "begin_to_begin", traced=True), "runtime")
    # The fake counts a launch's cost from the runtime's entry; its driver call begins 5 µs later.
    cost_ns = CHEAP["submit_runtime_ns"] + TRACED_CALL_NS + CHEAP["start_active_ns"]
    assert value(found) == pytest.approx(cost_ns * 1e-9, abs=2e-9)


def test_durations_are_those_of_the_spinning_kernels(measure: Measure) -> None:
    found = rows(measure("kernel_duration"), "kernel_duration", traced=True)
    spins = [int(m.setting["spin_ns"]) for m in found]
    assert spins == [0, 2_000, 5_000, 20_000]
    # The fake tells its highest clock as the one it spins by, to a nanosecond.
    wanted = [(spin + BODY_NS) * 1e-9 for spin in spins]
    assert [value(m) for m in found] == pytest.approx(wanted, abs=2e-9)


def test_the_tracers_cost_is_between_a_row_and_its_traced_twin(measure: Measure) -> None:
    """A launch and a wait, whose least samples no scheduler delayed."""

    def least(measurement: Measurement) -> float:
        assert measurement.data is not None, measurement.reason
        return min(measurement.data.samples)

    for _ in range(ATTEMPTS):
        result = measure("launch_sync")
        plain = of_api(rows(result, "launch_sync", traced=False), "kernel")
        (traced,) = rows(result, "launch_sync", traced=True)
        cost_s = least(traced) - least(plain)
        if abs(cost_s - TRACED_CALL_NS * 1e-9) < 3e-6:
            break
    assert cost_s == pytest.approx(TRACED_CALL_NS * 1e-9, abs=3e-6)


@pytest.mark.parametrize("name", ["submit", "to_start"])
def test_a_traced_row_stands_behind_the_untraced_ones(measure: Measure, name: str) -> None:
    found = [m for m in measure(name).measurements if m.status == "ok"]
    assert {m.name for m in found} == {name}
    assert ["tracer" in m.setting for m in found] == [*[False] * (len(found) - 1), True]
    traced = dict(found[-1].setting)
    assert traced.pop("tracer") == "cupti"
    assert traced == found[0].setting
    assert "own_process" not in found[0].facts


def test_the_gap_comes_out_of_spacing_and_duration(measure: Measure) -> None:
    """By its least bursts: what is left is the fake's gap, whatever the kernels' length."""
    gap_ns = 21_000

    def least(measurement: Measurement) -> float:
        assert measurement.data is not None, measurement.reason
        levels = measurement.data.levels
        counts = [level.count for level in levels]
        slope, _ = fit_line(counts, [min(level.samples_s) for level in levels])
        (duration,) = measurement.corrections
        return float(slope) - duration.value_s

    wanted_s, recovered = gap_ns * 1e-9, dict[object, float]()
    for _ in range(ATTEMPTS):
        result = measure("gap", fake=settings(gap_ns=gap_ns, knee=256), plan=SMALL)
        found = [m for m in result.measurements if m.name == "gap"]
        for each in found:
            gap_s, spin = least(each), each.setting["spin_ns"]
            best = recovered.get(spin, math.inf)
            recovered[spin] = min(best, gap_s, key=lambda value: abs(value - wanted_s))
        if all(abs(gap_s - wanted_s) < 0.05 * wanted_s for gap_s in recovered.values()):
            break
    assert list(recovered.values()) == pytest.approx([wanted_s] * 4, rel=0.05)
    assert [m.corrections[0].source for m in found] == [
        f"kernel_duration spin_ns={ns} tracer=cupti" for ns in (0, 2_000, 5_000, 20_000)
    ]
    # What it is made of is measured along, and kept.
    assert {m.name for m in result.measurements} == {"gap", "kernel_duration"}


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "json"])
def test_the_gap_is_shown_in_every_format(run: Run, form: str) -> None:
    status, out, err = run("--probe", "gap", "--format", form, *TINY)
    assert status == 0, err
    if form == "json":
        names = [m["name"] for m in json.loads(out)["measurements"]]
        assert names.count("gap") == 4
        return
    separator = {"table": "gap  ", "csv": "cuda:0,gap,", "markdown": "| gap |"}[form]
    assert out.count(separator) == 4
    if form != "csv":
        assert "in common; residuals by" in out


def test_rows_are_listed_with_their_tracer(run: Run) -> None:
    status, out, _ = run("--list")
    assert status == 0
    assert "begin_to_begin" in out
    assert "wait=spin tracer=cupti" in out
    assert "gap: what a full queue leaves" in out


# What can go wrong


@pytest.mark.parametrize(
    ("cupti", "reason"),
    [
        (
            "refuse=ERROR_INSUFFICIENT_PRIVILEGES",
            "CUPTI cannot trace here: ERROR_INSUFFICIENT_PRIVILEGES (35); the administrator",
        ),
        (
            "refuse=ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
            "CUPTI cannot trace here: ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39); another",
        ),
        ("import=1", "cupti-python cannot be imported: ImportError: libcupti.so.13"),
    ],
)
def test_a_tracer_that_cannot_work_skips_its_rows_alone(
    measure: Measure, cupti: str, reason: str
) -> None:
    result = measure("submit", "gap", "begin_to_begin", cupti=cupti)
    assert rows(result, "submit", traced=False)[0].status == "ok"
    traced = [m for m in result.measurements if "tracer" in m.setting]
    assert {m.name for m in traced} == {"submit", "begin_to_begin", "kernel_duration"}
    assert {m.status for m in traced} == {"skipped"}
    assert all(str(m.reason).startswith(reason) for m in traced)
    for each in rows(result, "gap", traced=False):
        assert each.status == "skipped"
        assert reason in str(each.reason)


HIDDEN = """
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "cupti" else find_spec(name, *more)
"""


def test_without_the_package_the_extra_is_named(measure: Measure, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDDEN)
    result = measure("begin_to_begin", "gap", PYTHONPATH=f"{tmp_path}:{PATH}")
    assert {m.status for m in result.measurements} == {"skipped"}
    assert {m.name for m in result.measurements} == {"begin_to_begin", "gap", "kernel_duration"}
    extra = "cupti-python is not installed: pip install 'ftax-micro[trace]'"
    assert all(str(m.reason).endswith(extra) for m in result.measurements)


def test_a_tracer_that_fails_at_work_fails_its_rows(measure: Measure) -> None:
    result = measure("begin_to_begin", cupti="late=ERROR_INVALID_OPERATION", code=1)
    failed = of_api(rows(result, "begin_to_begin", traced=True), "kernel")
    assert failed.status == "failed"
    assert failed.reason == "CUPTI failed: ERROR_INVALID_OPERATION (7)"


def test_a_tracer_that_ends_its_process_costs_one_row(measure: Measure) -> None:
    result = measure("launch_sync", "begin_to_begin", cupti="crash=2", code=1)
    assert rows(result, "launch_sync", traced=False)[0].status == "ok"
    reasons = {m.reason for m in result.measurements if m.status == "failed"}
    assert reasons == {"its process was killed by signal 11 (SIGSEGV)"}


def test_a_tracer_that_hangs_is_ended(run: Run) -> None:
    arguments = ("--probe", "begin_to_begin", "--format", "csv", "--watchdog", "2s", *TINY)
    status, out, _ = run(*arguments, cupti="hang=1")
    assert status == 1
    assert "its process did not answer for 2.1 s: the device hangs" in out


def test_dropped_records_are_told(measure: Measure) -> None:
    found = of_api(
        rows(measure("begin_to_begin", cupti="drop=2"), "begin_to_begin", traced=True), "kernel"
    )
    assert found.status == "ok"
    dropped = found.facts["records_dropped"]
    assert isinstance(dropped, int)
    assert dropped >= 4
    assert [v.sentence for v in found.verdicts] == [f"the tracer lost {dropped} records"]


@pytest.mark.parametrize("cupti", ["lose=kernels:3", "lose=calls:3", "untimed=3"])
def test_launches_that_cannot_be_matched_are_counted(measure: Measure, cupti: str) -> None:
    """Which ones go missing is chance: of 200 some do."""
    result = measure("begin_to_begin", cupti=cupti, plan=SMALL)
    found = of_api(rows(result, "begin_to_begin", traced=True), "kernel")
    wanted_s = (TRACED_CALL_NS + SUBMIT_NS + CHEAP["start_active_ns"]) * 1e-9
    assert value(found) == pytest.approx(wanted_s, abs=2e-9)
    assert found.data is not None
    assert found.data.censored > 0


def test_kernels_before_their_launch_are_kept_and_told(measure: Measure) -> None:
    cost_ns = TRACED_CALL_NS + SUBMIT_NS + CHEAP["start_active_ns"]
    found = of_api(
        rows(
            measure("begin_to_begin", cupti=f"shift={-cost_ns - 3_000}"),
            "begin_to_begin",
            traced=True,
        ),
        "kernel",
    )
    assert value(found) == pytest.approx(-3e-6, abs=2e-9)
    assert found.data is not None
    assert found.facts["negative_values"] == len(found.data.samples)
    assert [v.code for v in found.verdicts] == ["begins_before_call"]


def test_traced_rows_are_repeated_in_every_process(measure: Measure) -> None:
    """Each process starts one for its tracer; what is subtracted is of the same repetition."""
    result = measure("begin_to_begin", "gap", plan=(*TINY, "--processes", "2"))
    assert (result.processes, result.complete) == (2, True)
    wanted_s = (TRACED_CALL_NS + SUBMIT_NS + CHEAP["start_active_ns"]) * 1e-9
    for process in (0, 1):
        own = [m for m in result.measurements if m.process == process]
        found = of_api([m for m in own if m.name == "begin_to_begin"], "kernel")
        assert value(found) == pytest.approx(wanted_s, abs=2e-9)
        assert found.facts["own_process"] is True
        assert {(m.name, m.status) for m in own if m.name != "begin_to_begin"} == {
            ("gap", "ok"),
            ("kernel_duration", "ok"),
        }
    both = [row for row in summarise(result.measurements) if row.name == "gap"]
    assert [row.processes for row in both] == [2] * 4
