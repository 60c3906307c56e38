"""Which rows met a slower core: from recorded works, and on the real cores."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec
import pytest
from fake_results import result
from msgspec.structs import replace

from ftax_micro.analysis.core_speed import CODE, slowdowns, slowed_verdict
from ftax_micro.analysis.floor.view import floor_view
from ftax_micro.analysis.summary import Summary, summarise, with_undisturbed
from ftax_micro.analysis.undisturbed import undisturbed
from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cpu.placed import placed
from ftax_micro.records import (
    CoreSpeeds,
    Correction,
    Data,
    DeviceState,
    FactValue,
    Level,
    Measurement,
    Plan,
    Setting,
)
from ftax_micro.reporters import FLOOR_REPORTERS
from ftax_micro.result_rules import check_measurement

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


def test_a_summary_carries_the_speed_of_its_median_process() -> None:
    """Its value is the median over them, to which one beside a neighbour does nothing."""

    def of(*works_s: float) -> Summary:
        rows = [measured({"0": work_s}, {"0": 1e-9}) for work_s in works_s]
        (summary,) = summarise(rows, Plan())
        return summary

    assert of(1e-9, 1.5e-9, 1.05e-9).slowdown == pytest.approx(1.05)
    assert of(1e-9, 1.5e-9, 1.05e-9).verdicts == ()
    assert of(1e-9, 1.5e-9, 1.2e-9).slowdown == pytest.approx(1.2)
    assert [each.code for each in of(1e-9, 1.5e-9, 1.2e-9).verdicts] == [CODE]
    assert of(1e-9, 1.5e-9).slowdown == pytest.approx(1.5)  # neither is the middle one
    assert of(1e-9, 1.5e-9, 1.05e-9).disturbed_processes == 1


def test_a_table_tells_of_how_many_processes_were_disturbed_where_most_were_not() -> None:
    def told(*works_s: float) -> str:
        rows = [
            replace(measured({"0": work_s}, {"0": 1e-9}), process=number)
            for number, work_s in enumerate(works_s)
        ]
        return " ".join(FLOOR_REPORTERS.open("table")(floor_view(result(*rows))).split())

    some = "beside some processes of these rows a core was slowed"
    assert some not in told(1e-9, 1.05e-9, 1e-9)
    assert f"{some}, or two were far apart" in told(1e-9, 1.5e-9, 1e-9)
    assert "(1 of 3)" in told(1e-9, 1.5e-9, 1e-9)
    most = told(1e-9, 1.5e-9, 1.5e-9)
    assert some not in most
    assert "a core was up to 1.5 times slower" in most


# Watched between samples


def watched(works: dict[str, list[float]], stretches: list[int], data: Data) -> Measurement:
    speeds = CoreSpeeds(work_s=works, samples=stretches)
    return replace(measured({"0": 1e-9}, {"0": 1e-9}), data=replace(data, core_speeds=speeds))


# Ten quiet stretches of `EACH` samples, then one beside which the core was slow.
WORKS, EACH = {"0": [*[1e-9] * 11, 2e-9]}, 4


def stretches(slow: int) -> list[int]:
    return [EACH] * 10 + [slow]


def samples_of(*parts: tuple[float, int]) -> Data:
    samples = [value for value, number in parts for _ in range(number)]
    return Data(estimate="median", stop_reason="interval", samples=samples)


def test_a_watched_row_is_as_slow_as_a_core_was_beside_its_median_sample() -> None:
    works = {"0": [1e-9, 1e-9, 3e-9, 3e-9]}
    most_quiet = watched(works, [60, 10, 20], samples_of((1e-6, 90)))
    most_slow = watched(works, [30, 10, 50], samples_of((1e-6, 90)))
    assert slowdowns([most_quiet, most_slow]) == pytest.approx([1.0, 3.0])


def test_any_core_of_a_watched_row_can_slow_it_and_a_glance_sets_the_mark() -> None:
    row = watched({"0": [1e-9, 1e-9], "1": [2e-9, 2e-9]}, [40], samples_of((1e-6, 40)))
    faster = watched({"1": [0.5e-9, 2e-9]}, [40], samples_of((1e-6, 40)))
    assert slowdowns([row]) == pytest.approx([1.0])
    assert slowdowns([row, faster]) == pytest.approx([4.0, 4.0])


def test_a_clock_that_rises_for_a_moment_sets_no_mark() -> None:
    row = watched({"0": [1e-9] * 150 + [0.7e-9]}, [1] * 150, samples_of((1e-6, 150)))
    assert slowdowns([row]) == pytest.approx([1.0])
    rows = [row, watched({"0": [0.7e-9] * 150}, [1] * 149, samples_of((1e-6, 149)))]
    assert slowdowns(rows) == pytest.approx([1 / 0.7, 1.0])


def test_undisturbed_samples_lie_between_two_quiet_glances() -> None:
    works = {"0": [*[1e-9] * 9, 1.05e-9, 2e-9, 1e-9, 1e-9]}
    data = samples_of((1e-6, 27), (2e-6, 20), (3e-6, 20), (1.5e-6, 10), (9e-6, 5))
    (found,) = undisturbed([watched(works, [*[3] * 9, 20, 20, 10], data)])
    assert found is not None
    assert found.samples == [1e-6] * 27 + [1.5e-6] * 10  # the last five nobody watched


def test_bursts_of_every_level_are_left_out_alike() -> None:
    levels = [Level(count=n, samples_s=[n * 1e-6] * 40 + [n * 1e-3] * 35) for n in (1, 2)]
    data = Data(estimate="slope", stop_reason="interval", levels=levels)
    (found,) = undisturbed([watched(WORKS, stretches(35), data)])
    assert found is not None
    assert [level.samples_s for level in found.levels] == [[1e-6] * 40, [2e-6] * 40]


def test_where_too_little_is_left_nothing_is_said() -> None:
    few = [watched(WORKS, [*[2] * 9, 11, 61], samples_of((1e-6, 90)))]
    assert undisturbed(few) == [None]  # 29 samples
    enough = [watched(WORKS, [*[2] * 9, 12, 60], samples_of((1e-6, 90)))]
    assert undisturbed(enough) != [None]


@pytest.mark.parametrize("empty", [0, 1])
def test_what_a_neighbour_may_have_come_and_gone_within_is_not_enough(empty: int) -> None:
    works = {"0": [*[1e-9] * (10 + empty), 2e-9]}
    row = watched(works, [*[9] * 9, *[0] * empty, 9], samples_of((1e-6, 90)))
    assert undisturbed([row]) == [None]  # nine stretches, and perhaps one without a sample


def test_data_that_nothing_disturbed_is_left_as_it_is() -> None:
    row = watched({"0": [1e-9, 1e-9]}, [40], samples_of((1e-6, 40)))
    unwatched = measured({"0": 1e-9}, {"0": 1e-9})
    slowed = measured({"0": 2e-9}, {"0": 1e-9})
    unknown = measured(None, None)
    found = undisturbed([row, unwatched, slowed, unknown])
    assert found[0] is row.data
    assert found[1] is unwatched.data
    assert found[2] is None
    assert found[3] is unknown.data


def test_a_row_tells_what_its_undisturbed_samples_give_less_its_corrections() -> None:
    row = watched(WORKS, stretches(50), samples_of((3e-6, 40), (8e-6, 50)))
    taken_off = Correction(name="entry", value_s=1e-6, low_s=1e-6, high_s=1e-6, source="test")
    rows = [replace(row, corrections=[taken_off])]
    (told,) = with_undisturbed(summarise(rows), rows, 0.95)
    assert told.value == pytest.approx(7e-6)
    assert told.undisturbed is not None
    assert told.undisturbed.value == pytest.approx(2e-6)
    assert [each.code for each in told.verdicts] == [CODE]


def test_a_row_without_a_disturbance_tells_nothing_twice() -> None:
    rows = [watched({"0": [1e-9, 1e-9]}, [40], samples_of((1e-6, 40)))]
    (told,) = with_undisturbed(summarise(rows), rows, 0.95)
    assert told.undisturbed is None


def test_processes_of_a_row_are_joined_undisturbed_too() -> None:
    rows = [
        replace(watched(WORKS, stretches(50), samples_of((value, 40), (9e-6, 50))), process=number)
        for number, value in enumerate([1e-6, 2e-6, 4e-6])
    ]
    (told,) = with_undisturbed(summarise(rows), rows, 0.95)
    assert told.undisturbed is not None
    assert told.undisturbed.value == pytest.approx(2e-6)


@pytest.mark.parametrize(
    ("works", "stretches", "complaint"),
    [
        ({}, [], "two glances"),
        ({"0": [1e-9]}, [], "two glances"),
        ({"0": [1e-9, 1e-9]}, [20, 20], "each glance"),
        ({"0": [1e-9, 1e-9], "1": [1e-9]}, [20], "each glance"),
        ({"0": [1e-9, 0.0]}, [20], "takes no time"),
        ({"0": [1e-9, float("nan")]}, [20], "Not a number"),
        ({"0": [1e-9] * 3}, [20, -1], "samples between"),
        ({"0": [1e-9, 1e-9]}, [21], "samples between"),
    ],
)
def test_a_file_whose_glances_make_no_sense_is_refused(
    works: dict[str, list[float]], stretches: list[int], complaint: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=complaint):
        check_measurement(watched(works, stretches, DATA))


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
