"""Slopes on replayed time: levels, their order, and what is asked of a line."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from replayed_time import CLOCK, PLAN, Clock, Looped

from ftax_micro.measurement import (
    ResolutionError,
    measure_slope,
    slope_counts,
)
from ftax_micro.records import Plan

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
