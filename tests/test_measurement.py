"""The measuring core on replayed time: calibration, looped probes, shots and counts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from replayed_time import CLOCK, PLAN, Clock, Looped, Shots

from ftax_micro.measurement import (
    ResolutionError,
    calibrate,
    measure,
    measure_counts,
    measure_shots,
)
from ftax_micro.records import ClockFacts, Plan

# Calibration


@pytest.mark.parametrize("each_s", [0.5e-9, 20e-9, 3e-6, 40e-6])
def test_samples_are_calibrated_to_the_length_aimed_at(clock: Clock, each_s: float) -> None:
    loops = calibrate(Looped(clock, each_s), CLOCK)
    assert loops * each_s == pytest.approx(100e-6, rel=0.25)


def test_calibration_grows_so_that_a_slow_operation_runs_once(clock: Clock) -> None:
    probe = Looped(clock, 2.0)
    assert calibrate(probe, CLOCK) == 1
    assert probe.calls == [1]
    fast = Looped(clock, 1e-9)
    calibrate(fast, CLOCK)
    ratios = [b / a for a, b in zip(fast.calls, fast.calls[1:], strict=False)]
    assert ratios
    assert max(ratios) <= 10.0


def test_a_coarse_clock_gets_longer_samples(clock: Clock) -> None:
    coarse = ClockFacts(name="coarse", tick_s=10e-6, read_cost_s=20e-9)
    loops = calibrate(Looped(clock, 1e-6), coarse)
    assert loops * 1e-6 >= 100 * coarse.tick_s * 0.99


def test_a_slow_clock_read_gets_longer_samples(clock: Clock) -> None:
    slow = ClockFacts(name="slow", tick_s=1e-9, read_cost_s=5e-6)
    assert calibrate(Looped(clock, 1e-6), slow) * 1e-6 >= 100 * slow.read_cost_s * 0.99


def test_an_operation_without_a_duration_is_refused(clock: Clock) -> None:
    with pytest.raises(ResolutionError, match="no measurable time"):
        calibrate(Looped(clock, 0.0), CLOCK)


def test_a_fixed_entry_cost_does_not_mislead_calibration(clock: Clock) -> None:
    # At one loop the entry is nearly all of the time; scaled from there, samples were too short.
    loops = calibrate(Looped(clock, 10e-9, once_s=3e-6), CLOCK)
    assert 3e-6 + loops * 10e-9 >= 50e-6


# Looped probes


def test_a_looped_probe_gives_seconds_per_operation(clock: Clock) -> None:
    probe = Looped(clock, 2e-6)
    data = measure(probe, PLAN, CLOCK)
    assert data.estimate == "median"
    assert data.unit == "s"
    assert data.loops == 50
    assert data.samples == pytest.approx([2e-6] * len(data.samples))
    assert data.stop_reason == "interval"
    assert len(data.samples) >= PLAN.min_samples
    # 100 samples of 100 µs fill the minimum time exactly.
    assert data.elapsed_s == pytest.approx(0.01, rel=0.02)
    assert data.elapsed_s == pytest.approx(len(data.samples) * 100e-6)


def test_given_loops_are_not_calibrated(clock: Clock) -> None:
    probe = Looped(clock, 2e-6)
    data = measure(probe, PLAN, CLOCK, loops=7)
    assert data.loops == 7
    assert set(probe.calls) == {7}


def test_warm_up_is_kept_apart_and_lasts_as_long_as_planned(clock: Clock) -> None:
    # The first 12 samples are slow, as those of a cold machine are; warm-up takes 1 ms of them.
    slow = iter([3.0] * 12)

    def probe(loops: int) -> float:
        return clock.pass_(loops * 1e-6 * next(slow, 1.0))

    data = measure(probe, PLAN, CLOCK, loops=100)
    assert data.warmup == pytest.approx([3e-6] * 4)
    assert data.samples[:8] == pytest.approx([3e-6] * 8)
    assert set(np.round(data.samples[8:], 9)) == {1e-6}


def test_one_warm_up_sample_is_taken_even_without_warm_up_time(clock: Clock) -> None:
    plan = Plan(min_samples=5, min_time_s=0.0, warmup_time_s=0.0)
    assert len(measure(Looped(clock, 1e-3), plan, CLOCK).warmup) == 1


def test_noise_ends_with_its_reason_and_all_samples(clock: Clock) -> None:
    rng = np.random.default_rng(0)

    def probe(loops: int) -> float:
        return clock.pass_(loops * 1e-6 * math.exp(rng.standard_normal()))

    plan = Plan(min_samples=30, min_time_s=0.01, timeout_s=60.0, patience_s=0.05, max_samples=10**6)
    data = measure(probe, plan, CLOCK, loops=100)
    assert data.stop_reason == "noise_stable"
    assert data.elapsed_s >= 0.05
    # Stable with 1/√n means that the wanted 1 % was still out of reach.
    assert len(data.samples) < (1.25 / 0.01) ** 2 * 1.96**2


def test_the_timeout_cuts_a_slow_probe_short(clock: Clock) -> None:
    data = measure(Looped(clock, 0.3), PLAN, CLOCK)
    assert data.stop_reason == "timeout"
    assert len(data.samples) == 4  # 1.2 s: the first end of a sample past 1.0 s


@pytest.mark.parametrize(("loops", "refused"), [(99, True), (100, False)])
def test_a_looped_sample_needs_100_ticks(clock: Clock, loops: int, refused: bool) -> None:
    probe = Looped(clock, 1.001e-9)
    if refused:
        with pytest.raises(ResolutionError, match="under 100 ticks of the test clock"):
            measure(probe, PLAN, CLOCK, loops=loops)
    else:
        assert measure(probe, PLAN, CLOCK, loops=loops).loops == loops


@pytest.mark.parametrize(("value_s", "refused"), [(9.9e-9, True), (10.1e-9, False)])
def test_one_operation_a_sample_needs_10_ticks(clock: Clock, value_s: float, refused: bool) -> None:
    probe = Looped(clock, value_s)
    if refused:
        with pytest.raises(ResolutionError, match="under 10 ticks"):
            measure(probe, PLAN, CLOCK, loops=1)
    else:
        assert measure(probe, PLAN, CLOCK, loops=1).samples[0] == value_s


def test_what_the_probe_raises_comes_through(clock: Clock) -> None:
    def probe(loops: int) -> float:
        raise RuntimeError("the device fell off the bus")

    with pytest.raises(RuntimeError, match="fell off"):
        measure(probe, PLAN, CLOCK)


# Shots


def test_shots_are_stored_as_they_come(clock: Clock) -> None:
    values = [1.00e-6, 1.01e-6, 1.02e-6, 1.03e-6]
    data = measure_shots(Shots(clock, values), PLAN, CLOCK, per_draw=4)
    assert data.loops == 1
    assert data.samples[:8] == values * 2
    assert data.censored == 0
    assert len(data.warmup) == 1000  # 1 ms of draws of 4 µs, 4 values each
    assert data.stop_reason == "interval"
    assert len(data.samples) in {10_000, 10_004}  # the minimum time of 10 ms


def test_no_draw_is_larger_than_the_minimum_asked_for(clock: Clock) -> None:
    few = Plan(min_samples=5, min_time_s=0.0, warmup_time_s=0.0)
    data = measure_shots(Shots(clock, [1e-6]), few, CLOCK)
    assert len(data.warmup) == 5


def test_censored_shots_are_counted_not_stored_and_do_not_count_as_samples(clock: Clock) -> None:
    plan = Plan(min_samples=100, min_time_s=0.0, warmup_time_s=0.0)
    values = [1e-6, math.nan, math.nan, math.nan]
    data = measure_shots(Shots(clock, values), plan, CLOCK, per_draw=4)
    assert data.stop_reason == "interval"
    assert data.samples == [1e-6] * 100
    assert data.censored == 300  # those of the warm-up are no samples' neighbours
    assert data.warmup == [1e-6]


def test_nothing_but_censored_shots_is_an_error_and_ends_by_the_timeout(clock: Clock) -> None:
    with pytest.raises(ResolutionError, match="every shot was censored"):
        measure_shots(Shots(clock, [math.nan]), PLAN, CLOCK)
    assert clock.perf_counter() == pytest.approx(PLAN.timeout_s, rel=0.01)


@pytest.mark.parametrize(("value_s", "refused"), [(9e-9, True), (11e-9, False)])
def test_a_shot_needs_10_ticks(clock: Clock, value_s: float, refused: bool) -> None:
    probe = Shots(clock, [value_s])
    if refused:
        with pytest.raises(ResolutionError, match="under 10 ticks"):
            measure_shots(probe, PLAN, CLOCK)
    else:
        assert measure_shots(probe, PLAN, CLOCK).samples[0] == value_s


# Counts


def test_counts_are_stored_as_counts(clock: Clock) -> None:
    def probe() -> int:
        clock.pass_(0.01)
        return 1024

    data = measure_counts(probe, 5, PLAN)
    assert (data.unit, data.estimate, data.stop_reason) == ("count", "median", "fixed_count")
    assert data.samples == [1024.0] * 5
    assert data.elapsed_s == pytest.approx(0.05)


def test_counts_that_could_not_be_observed_are_censored(clock: Clock) -> None:
    values: Iterator[int | None] = iter([7, None, 8, None])
    data = measure_counts(lambda: next(values), 4, PLAN)
    assert (data.samples, data.censored, data.stop_reason) == ([7.0, 8.0], 2, "fixed_count")
    with pytest.raises(ResolutionError, match="none of 3 counts"):
        measure_counts(lambda: None, 3, PLAN)


@pytest.mark.parametrize(
    ("took_s", "taken", "reason"), [(0.4, 3, "timeout"), (0.2, 5, "fixed_count")]
)
def test_the_timeout_cuts_counts_short(
    clock: Clock, took_s: float, taken: int, reason: str
) -> None:
    def probe() -> int:
        clock.pass_(took_s)
        return 1

    data = measure_counts(probe, 5, PLAN)
    assert (len(data.samples), data.stop_reason) == (taken, reason)


def test_fast_shots_are_spread_over_the_minimum_time(clock: Clock) -> None:
    plan = Plan(min_samples=30, max_samples=300, min_time_s=0.5, half_width=1e-9, warmup_time_s=0)
    data = measure_shots(Shots(clock, [1e-6, 1.1e-6]), plan, CLOCK, per_draw=30)
    assert data.stop_reason == "max_samples"
    assert len(data.samples) == 300
    assert data.elapsed_s == pytest.approx(0.5, rel=1e-3)


def test_slow_samples_are_not_held_up(clock: Clock) -> None:
    plan = Plan(min_samples=30, max_samples=300, min_time_s=0.5, half_width=1e-9, warmup_time_s=0)
    data = measure(Looped(clock, 10e-3), plan, CLOCK, loops=1)
    assert data.elapsed_s == pytest.approx(len(data.samples) * 10e-3)
