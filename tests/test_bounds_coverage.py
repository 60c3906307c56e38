"""Whether the tax's interval holds the truth as often as it says, and is no wider than it must be.

A thousand forwards of known host times, durations and floors; each is measured with noise, and its
floor and durations with theirs. `bench/coverage.py` has more set-ups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from synthetic_pipelines import US, launches, noisy, operations, work_of

from ftax_micro.analysis.bounding.bounds import cpu_bounds, cuda_bounds
from ftax_micro.analysis.bounding.pipeline import (
    CallKind,
    Floor,
    least_begins,
    pipeline_latency,
)
from ftax_micro.analysis.floor.values import FloorValue, FloorValues, sampled_value
from ftax_micro.analysis.resampling import median_draw
from ftax_micro.stats import Estimate

_TRIALS = 1000
_FORWARDS = 20
_SAMPLES = 100
TRUE = Floor(to_start=4 * US, gap=1 * US, sync=3 * US, submit={CallKind.LAUNCH: 2 * US})


def measured_floor(rng: np.random.Generator, spread: float) -> FloorValues:
    """`TRUE` from noisy samples."""

    def noised(value: ArrayLike) -> FloorValue:
        samples = noisy(value, rng, _SAMPLES, spread)
        middle = float(np.median(samples))
        return FloorValue(Estimate(middle, None, None), (middle, middle), median_draw(samples))

    return FloorValues(
        to_start=noised(TRUE.to_start),
        gap=noised(TRUE.gap),
        sync=noised(TRUE.sync),
        submit={CallKind.LAUNCH: noised(TRUE.submit[CallKind.LAUNCH])},
    )


def judged(found: list[Estimate], truth: float) -> tuple[float, float]:
    """The share of intervals that hold the truth, and their median width over the ideal one: the
    95 % range of normal errors as large as those of the values.
    """
    values = np.array([each.value for each in found])
    lows, highs = (np.array([each[end] for each in found], dtype=float) for end in (1, 2))
    held = float(np.mean((lows <= truth) & (truth <= highs)))
    ideal = 2 * 1.96 * float(np.std(values))
    return held, float(np.median(highs - lows)) / ideal


def test_a_tax_on_cuda_is_within_its_interval() -> None:
    """With noise of the latency, of the floor and of the durations in equal parts."""
    ops, asked = operations([6.0] * 10), launches(10)
    latency = float(pipeline_latency(ops, asked, np.arange(10) * 8 * US, TRUE))
    bound = float(pipeline_latency(ops, asked, least_begins(ops, asked, TRUE), TRUE))
    rng = np.random.default_rng(0)
    found = []
    for _ in range(_TRIALS):
        work = work_of(ops, asked, samples=noisy(ops.duration_s, rng, _FORWARDS, 0.01))
        samples = list(noisy(latency, rng, _SAMPLES, 0.005))
        bounds = cuda_bounds(work, samples, measured_floor(rng, 0.05))
        assert bounds.tax is not None
        found.append(bounds.tax)
    held, width = judged(found, latency - bound)
    assert 0.93 <= held <= 0.99
    assert width <= 1.3


def test_many_medians_of_few_forwards_are_off_to_one_side_and_allowed_for() -> None:
    """Each by a fortieth of its spread, three hundred together by more than theirs: an interval by
    shares of the drawings has next to none of these left, and holds the truth in a third.
    """
    ops, asked = operations([6.0] * 300), launches(300)
    bound = float(pipeline_latency(ops, asked, least_begins(ops, asked, TRUE), TRUE))
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(40):
        work = work_of(ops, asked, samples=noisy(ops.duration_s, rng, _FORWARDS, 0.3))
        latency = list(noisy(3e-3, rng, _SAMPLES, 1e-5))
        tax = cuda_bounds(work, latency, measured_floor(rng, 0.0)).tax
        assert tax is not None
        assert tax.low is not None
        assert tax.high is not None
        held += tax.low <= 3e-3 - bound <= tax.high
    assert held >= 36


def test_a_tax_on_the_cpu_is_within_its_interval() -> None:
    twin, call, operations_ = 50 * US, 2e-9, 400
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        direct = sampled_value(list(noisy(call, rng, _SAMPLES, 0.5)))
        bounds = cpu_bounds(
            list(noisy(300 * US, rng, _SAMPLES, 0.02)),
            list(noisy(twin, rng, _SAMPLES, 0.02)),
            operations_,
            FloorValues(call_direct=direct),
        )
        assert bounds.tax is not None
        found.append(bounds.tax)
    held, width = judged(found, twin - operations_ * call)
    assert 0.93 <= held <= 0.99
    assert width <= 1.3
