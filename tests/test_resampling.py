"""Drawing values anew from their samples."""

from __future__ import annotations

import numpy as np
import pytest
from fake_results import slope_row

from ftax_micro import stats
from ftax_micro.analysis.resampling import (
    draw_counts,
    drawn_places,
    headline_draw,
    median_draw,
    percentile_interval,
)
from ftax_micro.records import Data


def test_a_medians_drawings_have_its_interval() -> None:
    rng = np.random.default_rng(0)
    samples = rng.gamma(2.0, size=400)
    known = stats.median_interval(samples)
    drawn = median_draw(samples)(4000, rng)
    assert np.percentile(drawn, [2.5, 97.5]) == pytest.approx([known.low, known.high], rel=0.02)


def test_samples_that_follow_each_other_are_fewer_than_they_are() -> None:
    rng = np.random.default_rng(0)
    steps = rng.normal(size=400)
    series = np.zeros(400)
    for i in range(1, 400):
        series[i] = 0.8 * series[i - 1] + steps[i]
    shuffled = rng.permutation(series)
    wide, narrow = (np.std(median_draw(each)(4000, rng)) for each in (series, shuffled))
    assert wide / narrow == pytest.approx(3, rel=0.2)  # the root of (1 + 0.8) / (1 - 0.8)


def test_slopes_and_intercepts_are_about_theirs() -> None:
    data = slope_row("submit", 2e-6, intercept_s=5e-6).data
    assert data is not None
    line = Data(estimate="intercept", stop_reason="interval", levels=data.levels)
    rng = np.random.default_rng(0)
    assert np.mean(headline_draw(data)(500, rng)) == pytest.approx(2e-6, rel=0.01)
    assert np.mean(headline_draw(line)(500, rng)) == pytest.approx(5e-6, rel=0.1)


def test_what_made_a_forward_slow_made_all_its_places_slow() -> None:
    rng = np.random.default_rng(0)
    together = np.repeat(rng.normal(10, 1, (20, 1)), 50, axis=1)
    apart = rng.normal(10, 1, (20, 50))
    spreads = [np.std(drawn_places(each, 400, rng).sum(axis=1)) for each in (together, apart)]
    assert spreads[0] > 5 * spreads[1]


def test_drawing_in_pieces_is_drawing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = np.random.default_rng(0).normal(size=(20, 7))
    whole = drawn_places(samples, 50, np.random.default_rng(1))
    monkeypatch.setattr("ftax_micro.analysis.resampling._AT_ONCE", 100)
    assert np.array_equal(drawn_places(samples, 50, np.random.default_rng(1)), whole)
    assert drawn_places(samples[:, :0], 5, np.random.default_rng(1)).shape == (5, 0)


@pytest.mark.parametrize("forwards", [1, 2, 5, 20])
def test_places_are_the_medians_of_drawn_forwards(forwards: int) -> None:
    samples = np.random.default_rng(0).gamma(2.0, size=(forwards, 6))
    counts = np.tile(draw_counts(forwards), (40, 1))
    times = np.random.default_rng(1).permuted(counts, axis=1)
    wanted = np.array([np.median(np.repeat(samples, each, axis=0), axis=0) for each in times])
    found = drawn_places(samples, 40, np.random.default_rng(1))
    middle = wanted.mean(axis=0)
    # Spread by one factor about their mean.
    factor = (
        1.0 if forwards == 1 else np.max(np.abs(found - middle)) / np.max(np.abs(wanted - middle))
    )
    assert 1.0 <= factor < 5.0
    assert found == pytest.approx(middle + (wanted - middle) * factor)


@pytest.mark.parametrize("forwards", [1, 2, 3, 4, 20, 100, 1023])
def test_as_many_forwards_as_there_are_are_drawn(forwards: int) -> None:
    counts = draw_counts(forwards)
    assert counts.size == counts.sum() == forwards
    assert counts.min() == (0 if forwards > 1 else 1)
    # Of random draws, the variance of the counts is 1 - 1 / forwards.
    assert np.mean((counts - 1) ** 2) == pytest.approx(1 - 1 / forwards, abs=0.5)


def test_places_do_not_spread_together_by_how_far_they_are_off() -> None:
    """Resamples of any counts would spread 1.5 times as much."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(20):
        sums = drawn_places(rng.gamma(2.0, size=(20, 1000)), 400, rng).sum(axis=1)
        found.append(np.std(sums))
    real = [np.median(rng.gamma(2.0, size=(20, 1000)), axis=0).sum() for _ in range(400)]
    assert 1.0 <= np.mean(found) / np.std(real) <= 1.3


def test_an_interval_holds_its_value() -> None:
    drawn = np.linspace(1.0, 2.0, 101)
    assert percentile_interval(1.5, drawn, 0.9) == pytest.approx((1.5, 1.05, 1.95), rel=1e-3)
    # Off to one side by more than they spread: its end is the value.
    assert percentile_interval(2.2, drawn, 0.9) == pytest.approx((2.2, 2.2, 3.35), rel=1e-3)


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_draw([])


@pytest.mark.parametrize("size", [10, 31, 100])
def test_a_median_of_skewed_samples_is_in_its_interval(size: int) -> None:
    """Medians of resamples would hold it in 92 of 100 trials, of 31 samples."""
    rng = np.random.default_rng(2)
    held = 0
    for samples in rng.gamma(2.0, size=(1500, size)):
        value = float(np.median(samples))
        found = percentile_interval(value, median_draw(samples)(300, rng), 0.95)
        held += found.low <= 1.678347 <= found.high  # type: ignore[operator]
    assert 0.935 <= held / 1500 <= 0.99


def test_drawings_that_are_off_to_one_side_are_moved_back() -> None:
    drawn = np.random.default_rng(0).normal(0.5, 1.0, 20_000)
    found = percentile_interval(0.0, drawn, 0.95)
    # Normal about 0.5 where the value is 0: the truth is as far on the other side.
    assert found == pytest.approx((0.0, -0.5 - 1.96, -0.5 + 1.96), abs=0.06)
