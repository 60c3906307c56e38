"""Estimators on synthetic data whose answer is known. All random numbers are seeded."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import binom, spearmanr

from ftax_micro import stats

Array = NDArray[np.float64]

sample_lists = st.lists(st.floats(1e-9, 1e-3), min_size=8, max_size=60)
scales = st.sampled_from([0.5, 2.0, 4.0, 1024.0])  # powers of two: scaling is exact


def skewed(rng: np.random.Generator, size: int) -> Array:
    """Values with median 1, bounded below and with a long upper tail, as launch times have."""
    return 0.7 + 0.3 * np.exp(rng.standard_normal(size))


def ar1(rng: np.random.Generator, size: int, r: float) -> Array:
    """A stationary skewed AR(1) series with median 1."""
    noise = rng.standard_normal(size) * math.sqrt(1 - r * r)
    noise[0] /= math.sqrt(1 - r * r)
    series: Array = np.exp(0.3 * lfilter([1.0], [1.0, -r], noise))
    return series


def fraction_covered(intervals: list[stats.Estimate], truth: float) -> float:
    inside = [
        e.low is not None and e.high is not None and e.low <= truth <= e.high for e in intervals
    ]
    return sum(inside) / len(inside)


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


# Paired ratios


@given(st.lists(st.tuples(st.floats(1e-9, 1e-3), st.floats(1e-9, 1e-3)), min_size=1, max_size=40))
def test_a_over_b_is_the_inverse_of_b_over_a(pairs: list[tuple[float, float]]) -> None:
    a, b = zip(*pairs, strict=True)
    forth, back = stats.paired_ratio(a, b), stats.paired_ratio(b, a)
    assert forth.value == pytest.approx(1 / back.value)
    if forth.low is None:
        assert back.high is None
    else:
        assert back.low is not None
        assert back.high is not None
        assert (forth.low, forth.high) == pytest.approx((1 / back.high, 1 / back.low))


@given(sample_lists, scales)
def test_a_constant_ratio_is_found_exactly_whatever_the_drift(
    blocks: list[float], ratio: float
) -> None:
    estimate = stats.paired_ratio([ratio * b for b in blocks], blocks)
    assert list(estimate) == pytest.approx([ratio] * 3, rel=1e-14)


def test_the_paired_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(9)
    trials, blocks = 500, 40
    intervals = []
    for _ in range(trials):
        drift = np.exp(np.cumsum(0.1 * rng.standard_normal(blocks)))
        a, b = 1.25 * drift * skewed(rng, blocks), drift * skewed(rng, blocks)
        intervals.append(stats.paired_ratio(a, b))
    assert fraction_covered(intervals, 1.25) >= binom.ppf(0.001, trials, 0.95) / trials


def test_more_comparisons_widen_every_interval() -> None:
    rng = np.random.default_rng(4)
    a, b = skewed(rng, 100), skewed(rng, 100)
    alone, of_many = stats.paired_ratio(a, b), stats.paired_ratio(a, b, comparisons=50)
    assert alone.low is not None
    assert alone.high is not None
    assert of_many.low is not None
    assert of_many.high is not None
    assert of_many.low < alone.low <= alone.value == of_many.value <= alone.high < of_many.high


def test_a_whole_table_holds_with_the_confidence_asked_for() -> None:
    assert stats.familywise(0.95, 20) ** 20 == pytest.approx(0.95)
    assert stats.familywise(0.95, 1) == stats.familywise(0.95, 0) == 0.95


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0], [1.0, 2.0]),
        ([], []),
        ([1.0, 0.0], [1.0, 1.0]),
        ([1.0, 1.0], [1.0, -1.0]),
        ([1.0, math.nan], [1.0, 1.0]),
        ([1.0, 1.0], [1.0, math.inf]),
    ],
)
def test_what_cannot_be_paired_is_an_error(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="equally many positive values"):
        stats.paired_ratio(a, b)


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


def test_the_resolution_is_the_step_of_tied_samples() -> None:
    tick = 40e-9
    ticks = np.random.default_rng(0).integers(2, 6, 300)
    assert stats.resolution(ticks * tick) == pytest.approx(tick)
    assert stats.resolution(ticks * tick / 1000) == pytest.approx(tick / 1000)
    assert stats.resolution(skewed(np.random.default_rng(0), 300)) == 0.0
    assert stats.resolution([1e-6] * 10) == 0.0  # without a second value the step is unknown


def test_a_ratio_joins_both_intervals_on_the_logarithmic_scale() -> None:
    a, b = stats.Estimate(2.0, 1.0, 4.0), stats.Estimate(1.0, 1.0, 1.0)
    assert stats.ratio_interval(a, b) == pytest.approx((2.0, 1.0, 4.0))
    assert stats.ratio_interval(b, a) == pytest.approx((0.5, 0.25, 1.0))
    both = stats.ratio_interval(a, a)
    reach = 2 ** math.sqrt(2)  # ln 2 on either side, in quadrature
    assert both == pytest.approx((1.0, 1 / reach, reach))


@pytest.mark.parametrize(
    ("low", "high"), [(None, None), (0.0, 2.0), (-1.0, 2.0), (5e-324, 2.0), (1.0, None)]
)
def test_a_ratio_has_no_interval_without_both_or_at_zero(
    low: float | None, high: float | None
) -> None:
    loose, tight = stats.Estimate(1.0, low, high), stats.Estimate(2.0, 1.9, 2.1)
    assert stats.ratio_interval(loose, tight) == stats.Estimate(0.5, None, None)
    assert stats.ratio_interval(tight, loose) == stats.Estimate(2.0, None, None)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_a_value_that_is_not_positive_has_no_ratio(value: float) -> None:
    bad, good = stats.Estimate(value, None, None), stats.Estimate(1.0, 0.9, 1.1)
    for pair in ((bad, good), (good, bad)):
        with pytest.raises(ValueError, match="positive"):
            stats.ratio_interval(*pair)


@pytest.mark.parametrize("sizes", [(40, 400), (200, 200)])
def test_the_ratio_interval_covers_as_often_as_it_says(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    # Of medians: the same distribution at another scale, so the truth is that scale.
    intervals = [
        stats.ratio_interval(
            stats.median_interval(1.3 * skewed(rng, sizes[0])),
            stats.median_interval(skewed(rng, sizes[1])),
        )
        for _ in range(400)
    ]
    assert fraction_covered(intervals, 1.3) > 0.93
