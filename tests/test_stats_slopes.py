"""Slopes, intercepts and their bootstrap on synthetic data whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_series import Array, ar1, fraction_covered, scales, skewed

from ftax_micro import stats

# Slopes

COUNTS = [64, 128, 192, 256, 320, 384]


SLOPE_S, INTERCEPT_S = 30e-9, 1e-6


def burst_noise(kind: str, rng: np.random.Generator, burst_s: float, size: int) -> Array:
    """`size` bursts whose median is `burst_s`, with right-skewed noise."""
    if kind == "multiplicative":
        values: Array = burst_s * np.exp(0.05 * rng.standard_normal(size))
    elif kind == "exponential":
        values = burst_s + 200e-9 * (rng.exponential(1.0, size) - math.log(2))
    else:  # 3 % of the bursts meet an interrupt
        hit = rng.random(size) < 0.03
        values = burst_s * np.exp(0.02 * rng.standard_normal(size)) + 5e-6 * hit
    return values


@pytest.mark.parametrize("size", [17, 60])
@pytest.mark.parametrize("kind", ["multiplicative", "exponential", "interrupted"])
def test_the_slope_interval_covers_and_is_not_wider_than_it_must(kind: str, size: int) -> None:
    rng = np.random.default_rng(size)
    lines = [
        stats.slope_interval(
            COUNTS,
            [burst_noise(kind, rng, INTERCEPT_S + SLOPE_S * n, size) for n in COUNTS],
            resamples=400,
            seed=program,
        )
        for program in range(200)
    ]
    slopes = [line.slope for line in lines]
    assert fraction_covered(slopes, SLOPE_S) >= 182 / 200
    # The ideal interval is that of the estimator's true sampling spread.
    ideal_s = 2 * 1.96 * float(np.std([slope.value for slope in slopes]))
    widths = [slope.high - slope.low for slope in slopes if slope.high and slope.low]
    assert len(widths) == 200
    assert float(np.mean(widths)) <= 1.3 * ideal_s
    assert float(np.median([slope.value for slope in slopes])) == pytest.approx(SLOPE_S, rel=0.01)
    assert fraction_covered([line.intercept for line in lines], INTERCEPT_S) >= 182 / 200


def test_autocorrelated_bursts_widen_the_slope_interval() -> None:
    rng = np.random.default_rng(5)
    size, programs = 100, 200
    lines = [
        stats.slope_interval(
            COUNTS,
            [(INTERCEPT_S + SLOPE_S * n) * ar1(rng, size, 0.7) ** 0.1 for n in COUNTS],
            resamples=200,
            seed=program,
        )
        for program in range(programs)
    ]
    slopes = [line.slope for line in lines]
    assert fraction_covered(slopes, SLOPE_S) >= 182 / 200
    # Taken as independent, 100 samples would give an interval √((1 + r) / (1 − r)) = 2.4 times as
    # narrow, which is less than the true spread.
    spread_s = 2 * 1.96 * float(np.std([slope.value for slope in slopes]))
    width_s = float(
        np.mean([slope.high - slope.low for slope in slopes if slope.high and slope.low])
    )
    assert width_s / 2.4 < 0.9 * spread_s


def test_a_line_without_noise_is_found_exactly() -> None:
    counts = [1, 2, 3, 4]
    line = stats.slope_interval(counts, [[2.0 + 0.5 * n] * 10 for n in counts])
    assert line.slope == stats.Estimate(0.5, 0.5, 0.5)
    assert line.intercept == stats.Estimate(2.0, 2.0, 2.0)
    assert line.worst_residual == 0.0


def test_a_bent_line_shows_in_its_residual() -> None:
    line = stats.slope_interval([1, 2, 3], [[1.0] * 9, [2.0] * 9, [6.0] * 9])
    # The fit is −2 + 2.5 n: residuals 0.5, −1 and 0.5 on medians of 1, 2 and 6.
    assert line.slope.value == pytest.approx(2.5)
    assert line.worst_residual == pytest.approx(0.5)


def test_one_sample_a_level_gives_a_slope_without_an_interval() -> None:
    line = stats.slope_interval([1, 2], [[3.0], [5.0]])
    assert line.slope == stats.Estimate(2.0, None, None)
    assert line.intercept == stats.Estimate(1.0, None, None)


def test_one_count_has_no_slope() -> None:
    with pytest.raises(ValueError, match="two distinct counts"):
        stats.slope_interval([3, 3], [[1.0, 1.0], [1.0, 1.0]])


def test_the_same_seed_gives_the_same_interval() -> None:
    rng = np.random.default_rng(0)
    levels = [burst_noise("exponential", rng, n * 1e-6, 20) for n in (1, 2, 3)]
    first = stats.slope_interval([1, 2, 3], levels)
    assert stats.slope_interval([1, 2, 3], levels) == first
    assert stats.slope_interval([1, 2, 3], levels, seed=1) != first


levels_of_samples = st.lists(
    st.lists(st.floats(1e-9, 1e-3), min_size=8, max_size=20), min_size=3, max_size=3
)


@given(levels_of_samples, scales)
def test_the_slope_scales_with_its_samples(levels: list[list[float]], scale: float) -> None:
    line = stats.slope_interval([1, 2, 3], levels, resamples=50)
    scaled = stats.slope_interval([1, 2, 3], [[scale * s for s in x] for x in levels], resamples=50)
    for estimate, expected in ((scaled.slope, line.slope), (scaled.intercept, line.intercept)):
        assert list(estimate) == [v * scale for v in expected if v is not None]


@given(levels_of_samples)
def test_the_slope_interval_is_ordered(levels: list[list[float]]) -> None:
    line = stats.slope_interval([1, 2, 3], levels, resamples=50)
    for estimate in (line.slope, line.intercept):
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low <= estimate.value <= estimate.high


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=6), st.floats(-10, 10))
def test_fitted_lines_agree_with_least_squares(values: list[float], shift: float) -> None:
    counts = np.arange(len(values)) + 1.0
    slope, intercept = stats.fit_line(counts, values)
    expected = np.polyfit(counts, values, 1)
    assert slope == pytest.approx(expected[0], abs=1e-9)
    assert intercept == pytest.approx(expected[1], abs=1e-8)


# Bootstrap medians, resolution and ratios of unpaired estimates


@pytest.mark.parametrize("size", [1, 2, 5, 10, 51])
def test_bootstrap_medians_are_distributed_as_if_they_were_drawn(size: int) -> None:
    rng = np.random.default_rng(size)
    samples = skewed(rng, size)
    short = np.sort(stats.bootstrap_medians(samples, 40_000, rng))
    drawn = np.sort(np.median(rng.choice(samples, (40_000, size)), axis=1))
    # Kolmogorov-Smirnov at 0.1 %: sqrt(ln(2 / 0.001) / 40000) = 0.0138.
    every = np.union1d(short, drawn)
    ranks = [np.searchsorted(x, every, side="right") / x.size for x in (short, drawn)]
    assert np.max(np.abs(ranks[0] - ranks[1])) < 0.0138


def test_no_samples_have_no_bootstrap_median() -> None:
    with pytest.raises(ValueError, match="no samples"):
        stats.bootstrap_medians([], 10, np.random.default_rng(0))


def test_more_confidence_takes_more_resamples_up_to_a_cap() -> None:
    assert stats.resamples_for(0.5) == 1000
    assert stats.resamples_for(0.999) == pytest.approx(20_000, rel=1e-9, abs=1)
    assert stats.resamples_for(1 - 1e-12) == 100_000
