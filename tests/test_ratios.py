"""Ratios of what may be zero or less."""

from __future__ import annotations

import numpy as np
import pytest

from ftax_micro import stats
from ftax_micro.analysis.comparing.ratios import quotient
from ftax_micro.analysis.quantities.tax import stretched
from ftax_micro.stats import Estimate


def test_of_positive_estimates_it_is_their_ratio() -> None:
    a, b = Estimate(3.0, 2.5, 3.8), Estimate(2.0, 1.9, 2.2)
    assert quotient(a, b) == stats.ratio_interval(a, b)


def test_over_a_sure_number_the_interval_is_that_of_the_other() -> None:
    sure = Estimate(10.0, 10.0, 10.0)
    for value in (2.0, 0.0, -1.0):
        found = quotient(Estimate(value, value - 3, value + 4), sure)
        assert found == pytest.approx((value / 10, (value - 3) / 10, (value + 4) / 10))


@pytest.mark.parametrize("base", [Estimate(1.0, 0.0, 2.0), Estimate(1.0, -1.0, 3.0)])
def test_over_what_may_be_nothing_there_is_no_interval(base: Estimate) -> None:
    assert quotient(Estimate(0.0, -1.0, 1.0), base) == Estimate(0.0, None, None)


def test_an_unsure_base_widens_it() -> None:
    tax = Estimate(1.0, -1.0, 3.0)
    narrow = quotient(tax, Estimate(10.0, 9.0, 11.0))
    wide = quotient(tax, Estimate(10.0, 5.0, 15.0))
    assert narrow.low is not None
    assert narrow.high is not None
    assert wide.low is not None
    assert wide.high is not None
    assert wide.low < narrow.low < -0.1
    assert wide.high > narrow.high > 0.3


def test_it_covers_a_ratio_near_zero() -> None:
    rng = np.random.default_rng(0)
    true = 0.2 / 5.0
    covered = 0
    for a, b in rng.normal((0.2, 5.0), (1.0, 0.5), (2000, 2)):
        one = Estimate(float(a), float(a) - 1.96, float(a) + 1.96)
        two = Estimate(float(b), float(b) - 0.98, float(b) + 0.98)
        found = quotient(one, two)
        covered += found.low is not None and found.high is not None
        covered -= not (found.low or 0) <= true <= (found.high or 0)
    assert 0.93 <= covered / 2000 <= 0.97


def test_an_interval_is_stretched_to_another_confidence() -> None:
    found = stretched(Estimate(5.0, 5 - 1.96, 5 + 3.92), 0.95, 0.99)
    assert found == pytest.approx((5.0, 5 - 2.576, 5 + 5.152), abs=1e-3)
    assert stretched(Estimate(5.0, None, None), 0.95, 0.99) == (5.0, None, None)
