"""Ratios, paired and not, on synthetic data whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_series import fraction_covered, sample_lists, scales, skewed
from scipy.stats import binom

from ftax_micro import stats

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
