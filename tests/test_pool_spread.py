"""Robust statistics of machines: small exact numbers, and what they estimate in the long run."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ftax_micro.analysis.pools.spread import (
    FEWEST_FOR_OUTLIERS,
    OUTLIER_SCORE,
    deviation,
    median_estimate,
    middle,
    repeat_spread,
    scores,
    spread,
)
from ftax_micro.stats import median_interval

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 199, 200, 201, 1000])
def test_the_middle_is_the_median(size: int) -> None:
    values = RANDOM.normal(size=size).tolist()
    assert middle(values) == median_interval(values).value


def test_nothing_has_no_middle() -> None:
    with pytest.raises(ValueError, match="no values"):
        middle([])


def test_an_interval_does_not_ask_in_which_order_machines_were_read() -> None:
    """A sorted series would pass for one that is autocorrelated, and its interval be wide."""
    values = RANDOM.normal(size=101).tolist()
    assert median_estimate(sorted(values), 0.95) == median_estimate(values, 0.95)
    assert median_estimate(values, 0.95).low is not None
    assert median_estimate(values[:5], 0.95)[1:] == (None, None)


@pytest.mark.parametrize("size", [2, 3, 5, 6, 9, 10, 11, 50])
def test_the_deviation_of_few_is_neither_too_small_nor_too_large(size: int) -> None:
    found = [deviation(values.tolist()) for values in RANDOM.normal(size=(4000, size))]
    assert np.mean(found) == pytest.approx(1.0, abs=0.04)


def test_where_most_are_equal_the_mean_deviation_stands_in() -> None:
    assert deviation([1.0] * 9) == 0.0
    assert deviation([1.0] * 9 + [2.0]) == pytest.approx(0.1 / math.sqrt(2 / math.pi))


def test_the_spread_is_a_share_of_the_median() -> None:
    values = (1e-6 * (1 + 0.05 * RANDOM.normal(size=2001))).tolist()
    assert spread(values) == pytest.approx(0.05, rel=0.1)
    assert spread([1.0]) is None
    assert spread([-1.0, 0.0, 1.0]) is None


def test_repeats_of_one_machine_tell_nothing_of_another() -> None:
    """Machines ten times as far apart as their repeats, of two runs each."""
    series = [
        (centre * (1 + 0.01 * RANDOM.normal(size=2))).tolist()
        for centre in RANDOM.uniform(1, 100, size=3000)
    ]
    assert repeat_spread(series) == pytest.approx(0.01, rel=0.1)
    assert repeat_spread([[1.0], [2.0]]) is None
    assert repeat_spread([[0.0, 0.0, 1.0]]) is None


def test_scores_are_those_of_iglewicz_and_hoaglin() -> None:
    values = [2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3]  # the source's own example
    found = scores(values)
    few = 10 / 9.2
    assert found[8] * few == pytest.approx(0.6745 * (8.2 - 2.45) / 0.15)
    assert [abs(score) > OUTLIER_SCORE for score in found] == [False] * 8 + [True] * 2


def test_too_few_or_all_equal_have_no_outlier() -> None:
    few = [1.0] * (FEWEST_FOR_OUTLIERS - 2) + [9.0]
    assert scores(few) == [0.0] * len(few)
    assert scores([1.0] * 20) == [0.0] * 20
    assert scores([*few, 1.0])[-2] > OUTLIER_SCORE / 2
