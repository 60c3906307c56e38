"""Estimators on synthetic data whose answer is known: medians, correlation, percentiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from random_series import Array, ar1, fraction_covered, sample_lists, scales, skewed
from scipy.stats import binom, spearmanr

from ftax_micro import stats

# Ranks of the median


@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999])
def test_ranks_are_those_of_the_binomial_distribution(confidence: float) -> None:
    tail = (1 - confidence) / 2
    for n in [*range(1, 300), 1000, 1999, 2000, 2001, 5000, 20_000]:
        misses = binom.cdf(np.arange(n + 1), n, 0.5)
        within = np.flatnonzero(misses <= tail * (1 + 1e-9))
        expected = (int(within[-1]), n - 1 - int(within[-1])) if within.size else None
        assert stats.median_ranks(n, confidence) == expected, n


def test_a_tail_met_with_equality_is_not_lost_to_rounding() -> None:
    # 2 · (1/2)³ = 1 − 0.75 exactly: the extremes of three samples enclose the median in 75 %.
    assert stats.median_ranks(3, 0.75) == (0, 2)
    assert stats.median_ranks(2, 0.5) == (0, 1)


@pytest.mark.parametrize(("n", "ranks"), [(0, None), (5, None), (6, (0, 5)), (100, (39, 60))])
def test_known_ranks_at_95_percent(n: int, ranks: tuple[int, int] | None) -> None:
    # n = 100: the textbook's 40th and 61st order statistics.
    assert stats.median_ranks(n, 0.95) == ranks


# Median and its interval


@pytest.mark.parametrize("size", [25, 100, 301])
def test_the_median_interval_covers_as_often_as_it_says(size: int) -> None:
    rng = np.random.default_rng(size)
    trials = 1000
    intervals = [stats.median_interval(skewed(rng, size)) for _ in range(trials)]
    ranks = stats.median_ranks(size, 0.95)
    assert ranks is not None
    # Ranks are whole numbers, so the exact coverage lies a little above 95 %. Autocorrelation that
    # is significant by chance (one series in 40) only widens.
    exact = 1 - 2 * binom.cdf(ranks[0], size, 0.5)
    low, high = binom.ppf([0.001, 0.999], trials, exact) / trials
    assert low <= fraction_covered(intervals, 1.0) <= high


@pytest.mark.parametrize("r", [0.3, 0.6, 0.9])
def test_autocorrelated_samples_are_still_covered_where_the_naive_interval_fails(r: float) -> None:
    rng = np.random.default_rng(7)
    size, trials = 400, 400
    ranks = stats.median_ranks(size, 0.95)
    assert ranks is not None
    intervals, naive = [], []
    for _ in range(trials):
        samples = ar1(rng, size, r)
        ordered = np.sort(samples)
        intervals.append(stats.median_interval(samples))
        naive.append(stats.Estimate(1.0, ordered[ranks[0]], ordered[ranks[1]]))
    least = binom.ppf(0.001, trials, 0.95) / trials
    assert fraction_covered(intervals, 1.0) >= least
    assert fraction_covered(naive, 1.0) < least
    # Wide enough is not enough: compare with the true spread of such medians. The effective size is
    # that of the mean, which correlation costs more than it costs the median.
    spread = 2 * 1.96 * float(np.std([estimate.value for estimate in intervals]))
    widths = [e.high - e.low for e in intervals if e.high is not None and e.low is not None]
    assert float(np.median(widths)) <= 1.5 * spread


def test_few_samples_have_a_median_but_no_interval() -> None:
    assert stats.median_interval([3.0, 1.0, 2.0]) == stats.Estimate(2.0, None, None)
    assert stats.median_interval([3.0, 1.0, 2.0]).half_width is None


def test_the_interval_of_constant_samples_is_a_point() -> None:
    estimate = stats.median_interval([2.0] * 50)
    assert estimate == stats.Estimate(2.0, 2.0, 2.0)
    assert estimate.half_width == 0.0


def test_no_samples_are_an_error() -> None:
    with pytest.raises(ValueError, match="no samples"):
        stats.median_interval([])


def test_the_half_width_is_relative_and_undefined_at_zero() -> None:
    assert stats.Estimate(10.0, 9.0, 12.0).half_width == pytest.approx(0.15)
    assert stats.Estimate(-10.0, -11.0, -9.0).half_width == pytest.approx(0.1)
    assert stats.Estimate(0.0, -1.0, 1.0).half_width is None


@given(sample_lists)
def test_the_interval_contains_the_median_and_consists_of_samples(samples: list[float]) -> None:
    estimate = stats.median_interval(samples)
    assert estimate.value == np.median(samples)
    if estimate.low is not None and estimate.high is not None:
        assert estimate.low <= estimate.value <= estimate.high
        assert {estimate.low, estimate.high} <= set(samples)


@given(sample_lists, scales)
def test_the_interval_scales_with_its_samples(samples: list[float], scale: float) -> None:
    scaled = stats.median_interval([scale * s for s in samples])
    expected = [None if v is None else scale * v for v in stats.median_interval(samples)]
    assert list(scaled) == expected


@given(sample_lists)
def test_more_confidence_never_narrows(samples: list[float]) -> None:
    some = stats.median_interval(samples, 0.8)
    more = stats.median_interval(samples, 0.99)
    if some.low is not None and more.low is not None:
        assert some.high is not None
        assert more.high is not None
        assert more.low <= some.low <= some.high <= more.high


# Autocorrelation


def test_autocorrelation_is_that_of_the_ranks() -> None:
    samples = ar1(np.random.default_rng(3), 5000, 0.6)
    rank_correlation = spearmanr(samples[:-1], samples[1:]).statistic
    assert stats.lag1_autocorrelation(samples) == pytest.approx(rank_correlation, abs=0.002)


def test_one_hiccup_does_not_pose_as_independence() -> None:
    samples = ar1(np.random.default_rng(3), 1000, 0.6)
    before = stats.lag1_autocorrelation(samples)
    samples[500] = 1e6
    assert stats.lag1_autocorrelation(samples) == pytest.approx(before, abs=0.01)


@pytest.mark.parametrize("samples", [[], [1.0] * 100, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]])
def test_too_few_or_constant_samples_have_no_autocorrelation(samples: list[float]) -> None:
    assert stats.lag1_autocorrelation(samples) == 0.0


def test_the_effective_size_is_that_of_an_ar1_series() -> None:
    samples = ar1(np.random.default_rng(11), 20_000, 0.5)
    # (1 − r) / (1 + r) = 1/3 at r = 0.5; the ranks' r is a little below that of the values.
    assert 20_000 / 3 <= stats.effective_size(samples) <= 20_000 / 2.6


def test_alternating_and_independent_samples_count_in_full() -> None:
    assert stats.effective_size([1.0, 2.0] * 50) == 100
    assert stats.effective_size(np.random.default_rng(2).random(100)) == 100


def test_a_pure_trend_counts_as_hardly_anything() -> None:
    assert stats.effective_size(np.arange(100.0)) <= 3


# Noise, percentiles, outliers


def test_noise_is_the_interquartile_range_over_the_median() -> None:
    assert stats.noise([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 3)
    assert stats.noise([0.0, 0.0, 0.0]) is None


@pytest.mark.parametrize(
    ("q", "size", "defined"),
    [
        (5, 99, False),
        (5, 100, True),
        (95, 99, False),
        (95, 100, True),
        (99, 499, False),
        (99, 500, True),
        (50, 9, False),
        (50, 10, True),
        (95, 0, False),
    ],
)
def test_a_percentile_needs_samples_beyond_it(q: float, size: int, defined: bool) -> None:
    value = stats.percentile(np.arange(float(size)), q)
    assert (value is not None) == defined
    if value is not None:
        assert value == pytest.approx(q / 100 * (size - 1))


def test_outliers_are_counted_on_both_sides() -> None:
    samples = [10.0, 11.0, 12.0, 13.0] * 10
    assert stats.outliers(samples) == 0
    assert stats.outliers([*samples, 100.0, -100.0, 14.0]) == 2
    # With two more the quartiles are 10.25 and 12.75, and three times 2.5 off them lies the border.
    assert stats.outliers([*samples, 20.0, 3.0]) == 0
    assert stats.outliers([*samples, 20.5, 2.5]) == 2


# Everything at once


@pytest.mark.parametrize(
    "estimator",
    [
        lambda x: stats.median_interval(x).value,
        stats.noise,
        stats.outliers,
        lambda x: stats.percentile(x, 95),
    ],
)
def test_no_estimator_changes_its_samples(estimator: Callable[[Array], object]) -> None:
    samples = skewed(np.random.default_rng(1), 200)
    before = samples.copy()
    assert estimator(samples) is not None
    np.testing.assert_array_equal(samples, before)


def test_the_resolution_is_the_step_of_tied_samples() -> None:
    tick = 40e-9
    ticks = np.random.default_rng(0).integers(2, 6, 300)
    assert stats.resolution(ticks * tick) == pytest.approx(tick)
    assert stats.resolution(ticks * tick / 1000) == pytest.approx(tick / 1000)
    assert stats.resolution(skewed(np.random.default_rng(0), 300)) == 0.0
    assert stats.resolution([1e-6] * 10) == 0.0  # without a second value the step is unknown
