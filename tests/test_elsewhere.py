"""What a run measures in other processes, and how it comes together with the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from cuda_command import CHEAP, settings
from fake_cuda import FakeCuda
from fake_cuda.client import Client
from fake_results import result
from stand_in import StandIn, row

from ftax_micro.analysis.comparing.comparison import compare_results
from ftax_micro.analysis.floor.closure import closure_check
from ftax_micro.analysis.summary import Summary
from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow, Subtracted
from ftax_micro.errors import NeedsOwnProcess
from ftax_micro.orchestration import elsewhere, floor
from ftax_micro.orchestration.elsewhere import measure_elsewhere, part_points
from ftax_micro.orchestration.floor import measure_launch_floor
from ftax_micro.orchestration.point.job import PointJob
from ftax_micro.orchestration.point.measure import absent
from ftax_micro.orchestration.point.process import Begins, Ends, PointProcess
from ftax_micro.orchestration.point.selection import Point, Selection, select_points
from ftax_micro.profilers.cupti import CUPTI
from ftax_micro.records import Measurement, Plan, Setting

YIELD_FLAG = 2
PLAN = Plan(min_samples=5, min_time_s=0.0, timeout_s=0.3)
TRACED: Setting = {"tracer": "cupti"}


def with_settings(name: str, *each: Setting, subtracted: Subtracted | None = None) -> FloorRow:
    return FloorRow(name, "", row(name).measure, settings=each, subtracted=subtracted)


GAP = with_settings("gap", {"n": 1}, {"n": 2}, subtracted=Subtracted("duration", TRACED))
DURATION = with_settings("duration", {"n": 1, **TRACED}, {"n": 2, **TRACED})
SUBMIT = with_settings("submit", {}, TRACED)


def names(points: Sequence[Point]) -> list[tuple[str, Setting]]:
    return [(each.name, setting) for _, each, setting in points]


# Selection and parting


def test_what_a_row_subtracts_is_selected_with_it() -> None:
    device = StandIn(GAP, SUBMIT, DURATION)
    points = select_points([device], Selection(["cpu"], ["gap"]))
    assert names(points) == [
        ("gap", {"n": 1}),
        ("gap", {"n": 2}),
        ("duration", {"n": 1, "tracer": "cupti"}),
        ("duration", {"n": 2, "tracer": "cupti"}),
    ]


def test_what_is_selected_anyway_is_not_selected_twice() -> None:
    points = select_points([StandIn(GAP, SUBMIT, DURATION)], Selection(["cpu"]))
    assert len(points) == len({str(point) for point in names(points)}) == 6


def points_of(*rows: FloorRow) -> list[Point]:
    return select_points([StandIn(*rows)], Selection(["cpu"]))


def test_traced_points_are_for_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CUPTI, "missing", lambda: None)
    parting = part_points(points_of(GAP, SUBMIT, DURATION))
    assert names(parting.here) == [("gap", {"n": 1}), ("gap", {"n": 2}), ("submit", {})]
    deferred = names([each.point for each in parting.deferred])
    assert [name for name, _ in deferred] == ["submit", "duration", "duration"]
    assert all(each.why is None for each in parting.deferred)
    assert parting.absences == []


def broken() -> str | None:
    raise ValueError("cupti.__spec__ is None")


@pytest.mark.parametrize(
    ("missing", "reason"),
    [(lambda: "not here", "not here"), (broken, "ValueError: cupti.__spec__ is None")],
)
def test_without_the_tracer_all_that_needs_it_is_skipped(
    monkeypatch: pytest.MonkeyPatch, missing: Callable[[], str | None], reason: str
) -> None:
    monkeypatch.setattr(CUPTI, "missing", missing)
    parting = part_points(points_of(GAP, SUBMIT, DURATION))
    assert names(parting.here) == [("submit", {})]
    assert parting.deferred == []
    assert {(m.status, m.process) for m in parting.absences} == {("skipped", 0)}
    reasons = {(m.name, m.setting.get("n")): m.reason for m in parting.absences}
    assert reasons["submit", None] == reasons["duration", 1] == reason
    assert reasons["gap", 2] == f"duration n=2 tracer=cupti has no value: {reason}"


class Jobs(PointProcess):
    """Measures nothing; keeps what it was to measure."""

    def __init__(self) -> None:
        super().__init__(limit_s=1.0)
        object.__setattr__(self, "jobs", [])

    def measure(self, job: PointJob, begins: Begins, ends: Ends) -> None:
        self.jobs.append(job)  # type: ignore[attr-defined]
        for index, point in enumerate(job.points):
            begins(index)
            place = (StandIn(), row(point.name), point.setting)
            ends(index, absent(place, job.process, "failed", "not measured"))


def test_points_of_a_device_and_a_tracer_share_a_process() -> None:
    other = StandIn(SUBMIT)
    other.name = "cuda:1"
    points = [*points_of(SUBMIT, DURATION), *select_points([other], Selection(["cuda:1"]))]
    deferred = [elsewhere.Deferred(point) for point in points]
    process, told = Jobs(), list[tuple[int, str]]()
    measure_elsewhere(
        deferred, process, PLAN, lambda _: None, lambda i, m: told.append((i, m.name))
    )
    jobs = process.jobs  # type: ignore[attr-defined]
    assert [(job.device, job.tracer, len(job.points)) for job in jobs] == [
        ("cpu", None, 1),
        ("cpu", "cupti", 3),
        ("cuda:1", None, 1),
        ("cuda:1", "cupti", 1),
    ]
    assert {(job.process, job.plan.timeout_s) for job in jobs} == {(0, 0.3)}
    assert sorted(told) == [(i, point[1].name) for i, point in enumerate(points)]


# A whole run


def refuses() -> None:
    raise NeedsOwnProcess("somebody else is here")


def test_a_row_that_needs_its_own_process_gets_one_once_the_devices_are_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in = StandIn(row("first"), row("shy", refuses), row("last"))
    monkeypatch.setattr(floor, "open_device", stand_in.open)
    asked: list[tuple[str | None, int]] = []

    def measure(self: PointProcess, job: PointJob, begins: Begins, ends: Ends) -> None:
        asked.append((job.points[0].why, stand_in.closed))
        begins(0)
        place = (stand_in, row("shy"), job.points[0].setting)
        ends(0, absent(place, 0, "skipped", "nor there"))

    monkeypatch.setattr(PointProcess, "measure", measure)
    found = measure_launch_floor("cpu", plan=PLAN)
    assert asked == [("somebody else is here", 1)]
    assert [(m.name, m.status) for m in found.measurements] == [
        ("first", "ok"),
        ("shy", "skipped"),
        ("last", "ok"),
    ]
    assert found.complete


@pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")
@pytest.mark.parametrize("fake_cuda", ["12.0"], indirect=True)
def test_wait_styles_that_somebody_keeps_here_are_measured_elsewhere(
    fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another part of this process uses the context, waits by yielding, and that cannot be changed.

    Each style must come out with its own cost, which only a context of its own can have.
    """
    # So far apart that no scheduler makes one look like the next.
    costs = {"sync_spin_ns": 50_000, "sync_yield_ns": 4_000_000, "sync_blocking_ns": 9_000_000}
    fake_cuda.configure(**{**CHEAP, **costs})
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    monkeypatch.setenv("FAKE_CUDA", settings(**costs))
    other = Client(fake_cuda, flags=YIELD_FLAG)
    try:
        found = measure_launch_floor("cuda:0", probes=["sync"], plan=PLAN)
    finally:
        other.ok("cuDevicePrimaryCtxRelease_v2", 0)
        fake_cuda.reset()
    by_style = {str(m.setting["wait"]): m for m in found.measurements}
    assert list(by_style) == ["spin", "yield", "blocking", "event_query"]
    assert [m.status for m in by_style.values()] == ["ok"] * 4
    why = "the context waits by yield and cannot be changed: another part of this process uses it"
    facts = {style: m.facts.get("own_process") for style, m in by_style.items()}
    assert facts == {"spin": why, "yield": None, "blocking": why, "event_query": None}
    least = {style: min(m.data.samples) for style, m in by_style.items() if m.data}
    assert least["spin"] < 3.8e-3 < least["yield"] < 8.8e-3 < least["blocking"]


# What reads the rows


def summary(name: str, value_s: float, setting: Setting) -> Summary:
    ends = (value_s, value_s, value_s, value_s)
    return Summary("cuda:0", name, setting, "ok", None, "s", value_s, *ends)


def test_the_closure_check_leaves_traced_rows_out() -> None:
    wait: Setting = {"wait": "spin"}
    parts = [
        summary("submit", 2e-6, {}),
        summary("to_start", 5e-6, {"idle_ns": 0}),
        summary("spacing", 1e-6, {}),
        summary("sync", 3e-6, wait),
        summary("stream_sync_idle", 1e-6, {}),
        summary("launch_sync", 8.5e-6, wait),
    ]
    traced = [
        summary("submit", 20e-6, {**TRACED}),
        summary("to_start", 50e-6, {"idle_ns": 0, **TRACED}),
        summary("launch_sync", 80e-6, {**wait, **TRACED}),
    ]
    alone = closure_check(parts)
    assert len(alone) == 1
    assert closure_check([*traced, *parts]) == closure_check([*parts, *traced]) == alone
    # Not even where every part has a traced twin.
    twins = [summary(p.name, 10 * (p.value or 0), {**p.setting, **TRACED}) for p in parts]
    assert closure_check([*twins, *parts]) == alone


def test_traced_and_untraced_rows_are_never_one() -> None:
    rows = [
        Measurement(device="cpu", name="submit", status="skipped", reason="x", setting=setting)
        for setting in ({}, TRACED)
    ]
    compared = compare_results([result(*rows), result(*rows)]).rows
    assert [each.title for each in compared] == ["cpu submit", "cpu submit tracer=cupti"]
    assert [value is not None for each in compared for value in each.values] == [True] * 4
