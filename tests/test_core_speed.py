"""Which rows met a slower core: from recorded works, and on the real cores."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from ftax_micro.analysis.core_speed import CODE, slowdowns, slowed_verdict
from ftax_micro.analysis.summary import summarise
from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cpu.placed import placed
from ftax_micro.records import Data, DeviceState, FactValue, Measurement, Plan, Setting

DATA = Data(estimate="median", stop_reason="interval", samples=[1e-6] * 20)


def measured(
    before: dict[str, float] | None, after: dict[str, float] | None, cores: str = "", **more: str
) -> Measurement:
    facts: dict[str, FactValue] = {"cores": cores} if cores else {}
    return Measurement(
        device=more.get("device", "cpu"),
        name=more.get("name", "row"),
        status="ok",
        data=DATA,
        facts=facts,
        state_before=DeviceState(fixed_work_s=before),
        state_after=DeviceState(fixed_work_s=after),
    )


def test_a_row_is_as_slow_as_its_slowest_moment_against_the_fastest_of_the_run() -> None:
    quiet = measured({"0": 1e-9, "1": 1e-9}, {"0": 1e-9, "1": 1.01e-9})
    slow_after = measured({"0": 1e-9, "1": 1e-9}, {"0": 1e-9, "1": 2e-9})
    assert slowdowns([quiet, slow_after]) == pytest.approx([1.01, 2.0])


def test_only_the_cores_a_row_used_count() -> None:
    works = {"0": 1e-9, "1": 1e-9}, {"0": 1e-9, "1": 3e-9}
    assert slowdowns([measured(*works, cores="0"), measured(*works, cores="0,1")]) == pytest.approx(
        [1.0, 3.0]
    )


def test_cores_of_one_machine_may_differ_in_kind() -> None:
    assert slowdowns([measured({"0": 1e-9, "8": 4e-9}, {"0": 1e-9, "8": 4e-9})]) == [1.0]


def test_another_device_s_cores_are_no_measure() -> None:
    rows = [measured({"0": 1e-9}, None), measured({"0": 2e-9}, None, device="other")]
    assert slowdowns(rows) == [1.0, 1.0]


def test_what_was_not_recorded_is_unknown() -> None:
    assert slowdowns([measured(None, None)]) == [None]
    assert slowed_verdict(None) == []


@pytest.mark.parametrize(("slowdown", "told"), [(1.0, 0), (1.09, 0), (1.2, 1), (2.0, 1)])
def test_a_verdict_begins_beyond_what_a_quiet_core_varies(slowdown: float, told: int) -> None:
    assert [each.code for each in slowed_verdict(slowdown)] == [CODE] * told


def test_a_summary_carries_the_worst_of_its_processes() -> None:
    rows = [measured({"0": work_s}, {"0": 1e-9}) for work_s in (1e-9, 1.5e-9, 1.2e-9)]
    (summary,) = summarise(rows, Plan())
    assert summary.slowdown == pytest.approx(1.5)
    assert [verdict.code for verdict in summary.verdicts] == [CODE]


def test_fixed_work_takes_time_on_any_core_and_leaves_the_thread_where_it_was() -> None:
    before = core().host.allowed_cores()
    works_s = core().host.fixed_work([-1, *before[:2]])
    assert len(works_s) == 1 + len(before[:2])
    assert all(0 < work_s < 1e-3 for work_s in works_s)
    assert core().host.fixed_work([]) == []
    assert core().host.allowed_cores() == before


def row_that(measure: Callable[[Setting, Plan], Outcome]) -> FloorRow:
    return FloorRow("row", "a row", measure)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
def test_a_pinned_row_stays_on_its_core_and_no_longer_than_it_lasts() -> None:
    seen: list[set[int]] = []

    def measure(_: Setting, __: Plan) -> Outcome:
        seen.append(os.sched_getaffinity(0))
        return Outcome(DATA, facts={"own": 1})

    before = os.sched_getaffinity(0)
    first = min(before)
    outcome = placed(row_that(measure), lambda _: (first,), pinned=True).measure({}, Plan())
    assert seen == [{first}]
    assert os.sched_getaffinity(0) == before
    assert outcome.facts == {"own": 1, "cores": str(first)}


def test_a_row_without_cores_of_its_own_says_nothing() -> None:
    row = placed(row_that(lambda *_: Outcome(DATA)), lambda _: (-1, -1), pinned=True)
    assert row.measure({}, Plan()).facts == {}
