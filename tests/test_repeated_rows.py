"""Rows of which one process tells too little: measured again in others, in the time of one."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from commands import Run, runner
from stand_in import TINY, StandIn, Watched, outcome, row

from ftax_micro import measure_launch_floor, summarise
from ftax_micro.analysis.summary import count_rows
from ftax_micro.environment import capture_environment
from ftax_micro.errors import Interrupted, Skip
from ftax_micro.launch_floor import command
from ftax_micro.orchestration import floor
from ftax_micro.orchestration.floor import FloorRun
from ftax_micro.orchestration.plans import shared_plan
from ftax_micro.orchestration.point.measure import absent
from ftax_micro.orchestration.point.process import PointProcess, Task
from ftax_micro.orchestration.point.selection import Selection
from ftax_micro.records import QUICK_PLAN, Measurement, Plan, Setting, Status
from ftax_micro.results import Result

PLAN = Plan(min_samples=30, min_time_s=0.3, timeout_s=2.0, max_samples=100)


class Others:
    """Stands for the other processes; keeps their jobs. Each measures `values_s` by its number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *values_s: float | Exception) -> None:
        self.tasks: list[Task] = []
        self.closed: list[int] = []
        self._values_s = values_s
        others = self

        def measure_all(_: PointProcess, tasks: Sequence[Task]) -> None:
            others.measure_all(tasks)

        monkeypatch.setattr(PointProcess, "measure_all", measure_all)

    def measure_all(self, tasks: Sequence[Task]) -> None:
        self.tasks += tasks
        for job, begins, ends in tasks:
            for index, point in enumerate(job.points):
                value = self._values_s[job.process - 1]
                if isinstance(value, Interrupted):
                    raise value
                begins(index)
                place = (StandIn(), row(point.name), point.setting)
                if isinstance(value, Exception):
                    ends(index, absent(place, job.process, "failed", str(value)))
                    continue
                data = outcome(*[value] * 9).data
                ends(
                    index,
                    Measurement(
                        device=job.device,
                        name=point.name,
                        setting=point.setting,
                        process=job.process,
                        status="ok",
                        data=data,
                    ),
                )


def floor_of(monkeypatch: pytest.MonkeyPatch, stand_in: StandIn, **options: Any) -> Result:
    monkeypatch.setattr(floor, "open_device", stand_in.open)
    environment = capture_environment(command=["a test"], build_id="none")
    return FloorRun(Selection(["cpu"]), PLAN, environment, **options).run()


def test_a_row_is_measured_again_in_as_many_processes_as_it_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others, progress = Others(monkeypatch, 9e-6, 11e-6), Watched()
    stand_in = StandIn(row("once"), replace(row("thrice"), processes=3), row("last"))
    found = floor_of(monkeypatch, stand_in, progress=progress)
    jobs = [job for job, _, _ in others.tasks]
    assert [(job.process, [point.name for point in job.points]) for job in jobs] == [
        (1, ["thrice"]),
        (2, ["thrice"]),
    ]
    assert stand_in.closed == 1
    assert [(m.name, m.process) for m in found.measurements] == [
        ("once", 0),
        ("thrice", 0),
        ("thrice", 1),
        ("thrice", 2),
        ("last", 0),
    ]
    assert progress.begun == [
        (0, 5, "once"),
        (1, 5, "thrice"),
        (2, 5, "last"),
        (3, 5, "thrice"),
        (4, 5, "thrice"),
    ]
    thrice = summarise(found.measurements)[1]
    assert thrice.processes == 3
    assert thrice.value == pytest.approx(9e-6)  # of 4, 9 and 11 µs
    assert (found.complete, found.processes) == (True, 1)


def test_its_processes_share_the_time_and_the_samples_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans: dict[str, Plan] = {}

    def noted(name: str, processes: int) -> Any:
        def measure(_: Setting, plan: Plan) -> Any:
            plans[name] = plan
            return outcome(1e-6, 2e-6, 3e-6)

        return replace(row(name), measure=measure, processes=processes)

    others = Others(monkeypatch, 1e-6, 1e-6)
    floor_of(monkeypatch, StandIn(noted("once", 1), noted("thrice", 3)))
    assert plans["once"] == PLAN
    assert {job.plan for job, _, _ in others.tasks} == {plans["thrice"]}
    shared = plans["thrice"]
    assert (shared.min_samples, shared.max_samples) == (10, 34)
    assert shared.min_time_s == pytest.approx(0.1)
    assert shared.timeout_s == pytest.approx(PLAN.timeout_s / 3)
    assert shared.patience_s == pytest.approx(PLAN.patience_s / 3)
    assert (shared.half_width, shared.quick) == (PLAN.half_width, PLAN.quick)


def test_a_share_is_never_nothing() -> None:
    least = shared_plan(Plan(min_samples=1, max_samples=2, min_time_s=0.0), 3)
    assert (least.min_samples, least.max_samples, least.min_time_s) == (1, 1, 0.0)
    assert shared_plan(PLAN, 1) == PLAN


def test_processes_share_a_warm_up_down_to_that_of_a_quick_run() -> None:
    shared = {n: shared_plan(Plan(warmup_time_s=0.05), n).warmup_time_s for n in (1, 2, 5, 25)}
    assert shared == pytest.approx({1: 0.05, 2: 0.025, 5: 0.01, 25: 0.01})
    assert shared_plan(QUICK_PLAN, 5).warmup_time_s == QUICK_PLAN.warmup_time_s
    assert shared_plan(Plan(warmup_time_s=0), 5).warmup_time_s == 0


@pytest.mark.parametrize("error", [Skip("not on this machine"), ValueError("broken")])
def test_what_has_no_value_here_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuses() -> None:
        raise error

    others = Others(monkeypatch, 1e-6, 1e-6)
    found = floor_of(monkeypatch, StandIn(replace(row("thrice", refuses), processes=3)))
    assert others.tasks == []
    assert len(found.measurements) == 1


def test_whoever_asks_for_one_process_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    others, progress = Others(monkeypatch, 1e-6, 1e-6), Watched()
    stand_in = StandIn(replace(row("thrice"), processes=3))
    found = floor_of(monkeypatch, stand_in, processes=1, progress=progress)
    assert others.tasks == []
    assert [m.process for m in found.measurements] == [0]
    assert progress.begun == [(0, 1, "thrice")]


def test_one_process_that_fails_fails_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    Others(monkeypatch, 9e-6, ValueError("it was killed"))
    found = floor_of(monkeypatch, StandIn(replace(row("thrice"), processes=3)))
    summary = summarise(found.measurements)[0]
    assert (summary.status, summary.reason) == ("failed", "it was killed")
    assert [m.status for m in found.measurements] == ["ok", "ok", "failed"]


def test_an_interruption_leaves_what_the_first_process_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Others(monkeypatch, 9e-6, Interrupted("SIGINT", 130))
    found = floor_of(monkeypatch, StandIn(replace(row("thrice"), processes=3), row("last")))
    assert [(m.name, m.process, m.status) for m in found.measurements] == [
        ("thrice", 0, "ok"),
        ("thrice", 1, "ok"),
        ("last", 0, "ok"),
    ]
    assert not found.complete
    assert found.incomplete_reason == "stopped by SIGINT"


def test_calls_from_python_are_measured_in_five_processes() -> None:
    plan = Plan(min_samples=9, min_time_s=0.0, timeout_s=0.3)
    found = measure_launch_floor("cpu", probes=["call_python", "call_direct"], plan=plan)
    assert [(m.name, m.process, m.status) for m in found.measurements] == [
        ("call_direct", 0, "ok"),
        *[("call_python", number, "ok") for number in range(5)],
    ]
    values = [summary.value for summary in summarise(found.measurements)]
    assert all(value is not None and math.isfinite(value) and value > 0 for value in values)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(command, capsys)


@pytest.mark.parametrize(
    ("options", "processes"), [((), 5), (("--processes", "1"), 1), (("--processes", "2"), 2)]
)
def test_the_table_says_of_how_many_processes_a_row_is(
    run: Run, options: Sequence[str], processes: int
) -> None:
    code, out, err = run(
        "--device", "cpu", "--probe", "call_python", "--format", "csv", *TINY, *options
    )
    assert code == 0, err
    (told,) = csv.DictReader(io.StringIO(out))
    assert (told["status"], told["processes"]) == ("ok", str(processes))


def test_rows_are_counted_once_however_many_processes_measured_them() -> None:
    told: list[tuple[str, int, Status]] = [
        ("thrice", 0, "ok"),
        ("thrice", 1, "ok"),
        ("thrice", 2, "failed"),
        ("once", 0, "ok"),
        ("never", 0, "skipped"),
    ]
    rows = [
        Measurement(
            device="cpu",
            name=name,
            process=process,
            status=status,
            data=outcome(1e-6).data if status == "ok" else None,
        )
        for name, process, status in told
    ]
    assert count_rows(rows) == (3, 2, 1)
