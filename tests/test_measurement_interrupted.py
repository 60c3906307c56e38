"""Interrupted measurements on replayed time: what was sampled is kept."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from replayed_time import CLOCK, INTERRUPTION, PLAN, Clock, Looped, Shots, interrupting

from ftax_micro import stats
from ftax_micro.errors import Interrupted
from ftax_micro.measurement import (
    ResolutionError,
    measure,
    measure_counts,
    measure_shots,
    measure_slope,
)
from ftax_micro.records import Plan

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
