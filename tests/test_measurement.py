"""The measuring core on replayed time: a fake clock advances by what the probes say they took."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from ftax_micro import measurement, stats
from ftax_micro.errors import Interrupted
from ftax_micro.measurement import (
    ResolutionError,
    calibrate,
    measure,
    measure_counts,
    measure_shots,
    measure_slope,
    slope_counts,
)
from ftax_micro.records import ClockFacts, Plan

CLOCK = ClockFacts(name="test", tick_s=1e-9, read_cost_s=20e-9)
PLAN = Plan(min_samples=30, min_time_s=0.01, timeout_s=1.0, patience_s=0.5, warmup_time_s=0.001)
INTERRUPTION = Interrupted("SIGINT", 130)


class Clock:
    """Stands for the `time` module of the code under test; whole picoseconds add up exactly.

    Reading costs nothing, except where the code under test spins: a microsecond a read there.
    """

    def __init__(self) -> None:
        self._now_ps = 0
        self._reads = 0

    def perf_counter(self) -> float:
        self._reads += 1
        if self._reads > 4:
            self._now_ps += 1_000_000
        return self._now_ps / 1e12

    def pass_(self, seconds: float) -> float:
        self._reads = 0
        self._now_ps += round(seconds * 1e12)
        return seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(measurement, "time", fake)
    return fake


class Looped:
    """A looped or burst probe: a fixed time once, and one for each operation; keeps its calls."""

    def __init__(self, clock: Clock, each_s: float, once_s: float = 0.0) -> None:
        self._clock, self._each_s, self._once_s = clock, each_s, once_s
        self.calls: list[int] = []

    def __call__(self, count: int) -> float:
        self.calls.append(count)
        return self._clock.pass_(self._once_s + count * self._each_s)


class Shots:
    """A shot probe that replays `values`, over and over."""

    def __init__(self, clock: Clock, values: Sequence[float]) -> None:
        self._clock, self._values, self.draws = clock, values, 0

    def __call__(self, count: int) -> list[float]:
        self.draws += 1
        self._clock.pass_(1e-6 * count)
        return [self._values[i % len(self._values)] for i in range(count)]


def interrupting(probe: Callable[[int], object], after: int) -> Callable[[int], float]:
    """`probe`, but the call after `after` good ones raises `Interrupted`."""
    calls = iter(range(after))

    def wrapped(count: int) -> float:
        if next(calls, None) is None:
            raise INTERRUPTION
        return probe(count)  # type: ignore[return-value]

    return wrapped


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


# Slopes


def test_a_slope_keeps_whole_bursts_by_level(clock: Clock) -> None:
    counts = [10, 20, 30]
    data = measure_slope(Looped(clock, 1e-6, once_s=5e-6), counts, PLAN, CLOCK)
    assert data.estimate == "slope"
    assert data.samples == []
    assert [level.count for level in data.levels] == counts
    for level in data.levels:
        assert level.samples_s == pytest.approx([5e-6 + level.count * 1e-6] * len(level.samples_s))
    sizes = {len(level.samples_s) for level in data.levels}
    assert len(sizes) == 1
    assert data.stop_reason == "interval"
    assert sum(len(level.samples_s) for level in data.levels) >= PLAN.min_samples
    assert data.elapsed_s == pytest.approx(len(data.levels[0].samples_s) * 75e-6)


def test_levels_are_taken_up_and_down_in_turn(clock: Clock) -> None:
    plan = Plan(min_samples=12, min_time_s=0.0, warmup_time_s=0.0)
    probe = Looped(clock, 1e-6)
    measure_slope(probe, [1, 2, 3], plan, CLOCK)
    warmup, sampled = probe.calls[:3], probe.calls[3:]
    assert warmup == [1, 2, 3]
    assert sampled == [1, 2, 3, 3, 2, 1] * 2


def test_warm_up_bursts_are_stored_level_by_level(clock: Clock) -> None:
    plan = Plan(min_samples=12, min_time_s=0.0, warmup_time_s=10e-6)
    data = measure_slope(Looped(clock, 1e-6), [1, 2, 3], plan, CLOCK)
    # Two rounds of 6 µs.
    assert data.warmup == pytest.approx([1e-6, 1e-6, 2e-6, 2e-6, 3e-6, 3e-6])


def test_a_line_is_sampled_until_what_is_asked_for_is_known(clock: Clock) -> None:
    def noisy(seed: int) -> Callable[[int], float]:
        rng = np.random.default_rng(seed)
        return lambda count: clock.pass_(
            (10e-6 + count * 1e-6) * math.exp(0.02 * rng.standard_normal())
        )

    plan = Plan(min_samples=30, min_time_s=0.0, timeout_s=60.0, patience_s=60.0, half_width=0.02)
    slope = measure_slope(noisy(1), [10, 20, 30], plan, CLOCK)
    intercept = measure_slope(noisy(1), [10, 20, 30], plan, CLOCK, estimate="intercept")
    assert slope.stop_reason == intercept.stop_reason == "interval"
    assert intercept.estimate == "intercept"
    # The intercept's relative error is 2.2 times the slope's here: it takes 4.7 times the samples.
    ratio = len(intercept.levels[0].samples_s) / len(slope.levels[0].samples_s)
    assert 2 < ratio < 10


def test_a_slope_whose_longest_burst_is_short_is_refused(clock: Clock) -> None:
    with pytest.raises(ResolutionError, match=r"99\.0 ns is under 100 ticks"):
        measure_slope(Looped(clock, 1e-9), [33, 66, 99], PLAN, CLOCK)
    assert measure_slope(Looped(clock, 1e-9), [1, 2, 101], PLAN, CLOCK).levels


def test_a_slope_needs_two_distinct_counts(clock: Clock) -> None:
    with pytest.raises(ValueError, match="two distinct counts"):
        measure_slope(Looped(clock, 1e-6), [5, 5], PLAN, CLOCK)


@pytest.mark.parametrize(
    ("step", "most", "counts"),
    [
        (64, 512, [64, 128, 192, 256, 320, 384]),
        (50, 300, [50, 100, 150, 200, 250, 300]),
        (64, 100, [16, 32, 48, 64, 80, 96]),
        (64, 3, [1, 2, 3]),
        (1, 2, [1, 2]),
    ],
)
def test_burst_sizes_are_multiples_that_fit(step: int, most: int, counts: list[int]) -> None:
    assert slope_counts(step, most) == counts


def test_one_operation_leaves_no_slope() -> None:
    with pytest.raises(ValueError, match="leave no slope"):
        slope_counts(64, 1)


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


# Interruption


def test_an_interrupted_row_keeps_its_samples(clock: Clock) -> None:
    plan = Plan(min_samples=100, min_time_s=10.0, warmup_time_s=0.0)
    data = measure(interrupting(Looped(clock, 1e-3), after=4), plan, CLOCK, loops=1)
    assert data.stop_reason == "interrupted"
    assert data.samples == pytest.approx([1e-3] * 3)
    assert len(data.warmup) == 1
    assert data.elapsed_s == pytest.approx(3e-3)


@pytest.mark.parametrize("after", [0, 1])
def test_without_a_single_sample_the_interruption_propagates(clock: Clock, after: int) -> None:
    # After 0 calls it strikes in the warm-up, after 1 before the first sample.
    plan = Plan(warmup_time_s=0.0)
    with pytest.raises(Interrupted) as caught:
        measure(interrupting(Looped(clock, 1e-3), after=after), plan, CLOCK, loops=1)
    assert caught.value is INTERRUPTION


def test_an_interruption_while_calibrating_propagates(clock: Clock) -> None:
    with pytest.raises(Interrupted):
        measure(interrupting(Looped(clock, 1e-9), after=2), PLAN, CLOCK)


def test_interrupted_shots_keep_whole_draws(clock: Clock) -> None:
    shots = Shots(clock, [1e-6, math.nan])
    plan = Plan(min_samples=100, min_time_s=10.0, warmup_time_s=0.0)
    draws = iter(range(3))

    def probe(count: int) -> list[float]:
        if next(draws, None) is None:
            raise INTERRUPTION
        return shots(count)

    data = measure_shots(probe, plan, CLOCK, per_draw=2)
    assert (data.stop_reason, data.samples, data.censored) == ("interrupted", [1e-6] * 2, 2)


@pytest.mark.parametrize("after", [3, 4, 5])
def test_an_interrupted_slope_without_every_level_propagates(clock: Clock, after: int) -> None:
    plan = Plan(warmup_time_s=0.0)  # three bursts of warm-up, then 0, 1 or 2 samples
    with pytest.raises(Interrupted):
        measure_slope(interrupting(Looped(clock, 1e-3), after), [1, 2, 3], plan, CLOCK)


def test_an_interrupted_slope_keeps_what_every_level_has(clock: Clock) -> None:
    plan = Plan(min_samples=100, min_time_s=10.0, warmup_time_s=0.0)
    data = measure_slope(interrupting(Looped(clock, 1e-3), after=7), [1, 2, 3], plan, CLOCK)
    assert data.stop_reason == "interrupted"
    # One round upwards, and the first burst of the way down.
    assert [len(level.samples_s) for level in data.levels] == [1, 1, 2]


def test_an_interruption_between_samples_is_caught_too(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([0.5, 0.5])

    def interval(*_: object) -> stats.Estimate:
        if next(looks, None) is None:
            raise INTERRUPTION
        return stats.Estimate(1.0, 0.5, 1.5)

    monkeypatch.setattr(stats, "median_interval", interval)
    plan = Plan(min_samples=10, min_time_s=0.0, warmup_time_s=0.0, timeout_s=1e9, patience_s=1e9)
    data = measure(Looped(clock, 1e-3), plan, CLOCK)
    assert data.stop_reason == "interrupted"
    assert len(data.samples) > 10


def test_interrupted_counts_keep_what_they_have(clock: Clock) -> None:
    values: Iterator[int] = iter([7, 8])

    def probe() -> int:
        value = next(values, None)
        if value is None:
            raise INTERRUPTION
        return value

    data = measure_counts(probe, 5, PLAN)
    assert (data.samples, data.stop_reason) == ([7.0, 8.0], "interrupted")
    with pytest.raises(Interrupted):
        measure_counts(probe, 5, PLAN)


@pytest.mark.parametrize("after", [0, 3])
def test_a_keyboard_interrupt_is_never_swallowed(clock: Clock, after: int) -> None:
    calls = iter(range(after))

    def probe(count: int) -> float:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return clock.pass_(1e-3 * count)

    with pytest.raises(KeyboardInterrupt):
        measure(probe, PLAN, CLOCK, loops=1)


def test_an_interrupted_row_is_refused_like_any_other_where_it_is_too_short(clock: Clock) -> None:
    plan = Plan(min_samples=100, warmup_time_s=0.0)
    with pytest.raises(ResolutionError):
        measure(interrupting(Looped(clock, 1e-9), after=4), plan, CLOCK, loops=1)


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
