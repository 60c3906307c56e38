"""Glances at the cores between samples, on replayed time and on the real cores."""

from __future__ import annotations

from itertools import count

import pytest
from replayed_time import CLOCK, INTERRUPTION, Clock, Looped, Shots, interrupting

from ftax_micro.devices._extension import core
from ftax_micro.devices.cpu import CpuDevice
from ftax_micro.glances import Sight
from ftax_micro.measurement import measure, measure_shots, measure_slope
from ftax_micro.records import Data, Plan, Setting

# One round of warm-up, then forty samples.
PLAN = Plan(
    min_samples=40,
    min_time_s=0.0,
    timeout_s=1.0,
    half_width=1e-9,
    max_samples=40,
    warmup_time_s=0.0,
)
# Rounds that take a little more than the time from a glance to the next.
ROUND_S = 1.1e-3
QUICK = Plan(
    min_samples=30, min_time_s=0.03, timeout_s=0.2, half_width=0.5, warmup_time_s=0.001, quick=True
)


class Glancing:
    """A glance that sees core 3 slower each time, further from another, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Sight:
        self.calls += 1
        return Sight({"3": self.calls * 1e-9}, self.calls * 1e-7)


def stretches(data: Data) -> list[int]:
    assert data.core_speeds is not None
    assert {len(works) for works in data.core_speeds.work_s.values()} == {
        len(data.core_speeds.samples) + 1
    }
    return data.core_speeds.samples


def test_rounds_of_a_millisecond_have_a_glance_each(clock: Clock) -> None:
    glance = Glancing()
    data = measure(Looped(clock, ROUND_S), PLAN, CLOCK, loops=1, glance=glance)
    assert stretches(data) == [1] * 40
    assert data.core_speeds is not None
    assert data.core_speeds.work_s["3"] == pytest.approx([1e-9 * n for n in range(1, 42)])
    assert data.core_speeds.hop_s == pytest.approx([1e-7 * n for n in range(1, 42)])


def test_short_rounds_share_a_glance_and_the_last_ends_the_row(clock: Clock) -> None:
    data = measure(Looped(clock, 4e-4), PLAN, CLOCK, loops=1, glance=Glancing())
    assert stretches(data) == [3] * 13 + [1]


def test_bursts_of_a_slope_are_counted_by_level(clock: Clock) -> None:
    data = measure_slope(Looped(clock, ROUND_S), [1, 2], PLAN, CLOCK, glance=Glancing())
    assert sum(stretches(data)) == len(data.levels[0].samples_s) == len(data.levels[1].samples_s)


def test_a_censored_shot_is_in_no_stretch(clock: Clock) -> None:
    shots = Shots(clock, [1e-6, float("nan")])
    data = measure_shots(shots, PLAN, CLOCK, per_draw=4, glance=Glancing())
    assert sum(stretches(data)) == len(data.samples)
    assert data.censored == len(data.samples)


def test_what_follows_the_last_glance_before_an_interruption_is_in_no_stretch(
    clock: Clock,
) -> None:
    probe = interrupting(Looped(clock, 4e-4), after=9)
    data = measure(probe, PLAN, CLOCK, loops=1, glance=Glancing())
    assert (data.stop_reason, len(data.samples)) == ("interrupted", 8)
    assert stretches(data) == [3, 3]


@pytest.mark.parametrize("strikes_at", range(1, 6))
def test_an_interrupted_glance_loses_nothing(clock: Clock, strikes_at: int) -> None:
    calls = count(1)

    def glance() -> Sight:
        if next(calls) == strikes_at + 1:
            raise INTERRUPTION
        return Sight({"0": 1e-9})

    data = measure(Looped(clock, ROUND_S), PLAN, CLOCK, loops=1, glance=glance)
    assert (data.stop_reason, len(data.samples)) == ("interrupted", strikes_at)
    seen = data.core_speeds.samples if data.core_speeds else []
    assert seen == [1] * (strikes_at - 1)


def test_without_a_glance_nothing_is_said(clock: Clock) -> None:
    assert measure(Looped(clock, ROUND_S), PLAN, CLOCK, loops=1).core_speeds is None


def test_a_glance_takes_a_moment_on_any_core() -> None:
    assert 0 < core().host.glance() < 1e-3


def test_rows_of_the_cpu_glance_at_the_cores_they_use() -> None:
    device = CpuDevice()
    if len(device.topology.cores) < 2:
        pytest.skip("one core only")
    rows = {row.name: row for row in device.rows()}
    points: list[tuple[str, Setting]] = [("call_direct", {}), ("submit", {"wait": "block"})]
    for name, setting in points:
        outcome = rows[name].measure(setting, QUICK)
        assert outcome.data.core_speeds is not None
        assert ",".join(outcome.data.core_speeds.work_s) == outcome.facts["cores"]
        hops = len(outcome.data.core_speeds.samples) + 1 if name == "submit" else 0
        assert len(outcome.data.core_speeds.hop_s) == hops
        assert all(0 < hop_s < 1e-3 for hop_s in outcome.data.core_speeds.hop_s)
        assert sum(outcome.data.core_speeds.samples) == len(outcome.data.samples)
        assert all(
            0 < work_s < 1e-3
            for works_s in outcome.data.core_speeds.work_s.values()
            for work_s in works_s
        )


def test_a_worker_that_nobody_placed_is_not_glanced_at() -> None:
    device = CpuDevice()
    if len(device.topology.cores) < 2:
        pytest.skip("one core only")
    (submit,) = (row for row in device.rows() if row.name == "submit")
    outcome = submit.measure({"wait": "spin", "placement": "unpinned"}, QUICK)
    assert outcome.data.core_speeds is None
