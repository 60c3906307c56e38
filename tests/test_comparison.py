"""Ratios, intervals and verdicts, on results whose answer is known."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from comparing import pair, ratio_of, width
from fake_results import absent, around, correction, result, row, slope_row
from hypothesis import given
from hypothesis import strategies as st

from ftax_micro import compare_results
from ftax_micro.analysis.comparing.ratios import verdict_of
from ftax_micro.records import Measurement
from ftax_micro.results import Result

# Verdicts


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.1, "slower"), (1 / 1.1, "faster"), (1.0, "same"), (1.02, "ambiguous")],
)
def test_a_known_ratio_of_medians_is_found(factor: float, verdict: str) -> None:
    ratio = pair(row(samples=around(1e-6, 1)), row(samples=around(factor * 1e-6, 2)))
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < factor < ratio.high
    assert ratio.verdict == verdict
    assert ratio.firm
    assert not ratio.identical


def test_exchanging_two_results_inverts_ratios_and_verdicts() -> None:
    slow, fast = row(samples=around(1.2e-6, 1)), row(samples=around(1e-6, 2))
    there, back = pair(fast, slow), pair(slow, fast)
    assert (there.verdict, back.verdict) == ("slower", "faster")
    assert there.value == pytest.approx(1 / back.value)
    assert there.low == pytest.approx(1 / (back.high or 0))
    assert there.high == pytest.approx(1 / (back.low or 0))


@given(
    st.floats(0.5, 2.0), st.floats(1.0, 2.0), st.floats(0.0, 0.5), st.sampled_from(["s", "count"])
)
def test_verdicts_mirror_when_the_ratio_is_inverted(
    low: float, width: float, margin: float, unit: str
) -> None:
    mirror = {"slower": "faster", "faster": "slower"}
    verdict = verdict_of(low, low * width, margin, unit)
    inverse = verdict_of(1 / (low * width), 1 / low, margin, unit)
    at_a_border = any(
        math.isclose(abs(math.log(x)), math.log1p(margin), abs_tol=1e-12)
        for x in (low, low * width)
    )
    assert at_a_border or inverse == mirror.get(verdict, verdict)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.99, 1.01, "same"),
        (1.0, 1.0, "same"),
        (1.03, 1.2, "slower"),
        (1.01, 1.2, "ambiguous"),
        (0.9, 1.2, "ambiguous"),
        (0.9, 0.95, "faster"),
        (None, None, "ambiguous"),
    ],
)
def test_a_verdict_needs_the_whole_interval(
    low: float | None, high: float | None, verdict: str
) -> None:
    assert verdict_of(low, high, 0.02) == verdict


def test_a_margin_of_nothing_leaves_only_equal_values_the_same() -> None:
    assert verdict_of(1.0, 1.0, 0.0) == "same"
    assert verdict_of(1.0001, 1.0002, 0.0) == "slower"


def test_a_count_is_different_not_slower() -> None:
    knee: dict[str, Any] = {"unit": "count", "stop_reason": "fixed_count"}
    small, large = row("queue_knee", [1022.0] * 5, **knee), row("queue_knee", [4094.0] * 5, **knee)
    assert pair(small, large).verdict == "different"
    assert pair(large, small).verdict == "different"
    same = row("queue_knee", [1022.0, 1022.0, 1022.0], **knee)
    assert pair(small, same).verdict == "same"
    torn = row("queue_knee", [1022.0, 1022.0, 4094.0], **knee)
    assert pair(small, torn).verdict == "ambiguous"


# Intervals


def test_a_known_ratio_of_slopes_is_found_whatever_the_intercepts() -> None:
    base = slope_row("submit", 2e-6, 1, intercept_s=1e-6)
    ratio = pair(base, slope_row("submit", 2.6e-6, 2, intercept_s=9e-6))
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < 1.3 < ratio.high
    assert ratio.verdict == "slower"


def test_too_few_samples_are_ambiguous() -> None:
    ratio = pair(row(samples=[1e-6] * 4), row(samples=[3e-6] * 4))
    assert ratio.value == pytest.approx(3.0)
    assert (ratio.low, ratio.high, ratio.verdict) == (None, None, "ambiguous")


def test_an_interval_that_reaches_zero_leaves_none() -> None:
    unsure = row(samples=[(n % 7 - 2) * 1e-9 for n in range(20)])
    ratio = pair(row(samples=around(1e-9)), unsure)
    assert (ratio.low, ratio.high, ratio.verdict) == (None, None, "ambiguous")


def test_autocorrelation_widens() -> None:
    base = row(samples=around(1e-6, 1))
    sluggish = np.repeat(around(1e-6, 2, size=200), 4)
    shuffled = np.random.default_rng(0).permutation(sluggish)
    correlated, independent = (
        pair(base, row(samples=[float(x) for x in samples])) for samples in (sluggish, shuffled)
    )
    assert correlated.value == independent.value
    assert width(correlated) > 1.3 * width(independent)


def test_a_larger_table_widens_every_interval() -> None:
    few = compare_results([result(row("a", around(1e-6, 1))), result(row("a", around(1e-6, 2)))])
    names = [f"row{n}" for n in range(30)]
    many = compare_results(
        [result(*(row(name, around(1e-6, seed)) for name in names)) for seed in (1, 2)]
    )
    assert (few.comparisons, many.comparisons) == (1, 30)
    assert width(ratio_of(many)) > 1.2 * width(ratio_of(few))


def test_choosing_rows_narrows_what_is_compared() -> None:
    results = [
        result(row("a", around(1e-6, seed)), row("b", around(1e-6, seed + 5))) for seed in (1, 2)
    ]
    comparison = compare_results(results, probes=["b"])
    assert [each.name for each in comparison.rows] == ["b"]
    assert comparison.comparisons == 1


def test_all_ratios_of_a_table_hold_with_the_confidence_asked_for() -> None:
    held = 0
    for table in range(60):
        seeds = [[table * 20 + n + 10_000 * side for n in range(8)] for side in (0, 1)]
        results = [
            result(*(row(f"row{n}", around(1e-6, seed, size=60)) for n, seed in enumerate(each)))
            for each in seeds
        ]
        ratios = [each.ratios[1] for each in compare_results(results).rows]
        held += all(r and r.low and r.high and r.low <= 1 <= r.high for r in ratios)
    assert held >= 54  # 57 expected; a binomial of 60 at 95 % is below 54 once in 60 times


def test_a_coarse_clock_is_not_more_certain_than_its_tick() -> None:
    # A median of 5 ticks against one of 6: 20 %, but each is known to a tick only.
    ticks = np.array([5] * 300 + [6] * 100) * 40e-9
    later = np.array([6] * 300 + [5] * 100) * 40e-9
    ratio = pair(row(samples=list(ticks)), row(samples=list(later)))
    assert ratio.value == pytest.approx(1.2)
    assert ratio.verdict == "ambiguous"


def test_processes_are_joined_before_they_are_compared() -> None:
    def runs(medians: list[float], seed: int) -> Result:
        rows = [row(samples=around(m, seed + n), process=n) for n, m in enumerate(medians)]
        return result(*rows, processes=len(medians))

    calm = compare_results([runs([1e-6] * 5, 1), runs([1.3e-6] * 5, 11)])
    wild = compare_results([runs([0.8e-6, 1e-6, 1e-6, 1e-6, 1.4e-6], 1), runs([1.3e-6] * 5, 11)])
    assert ratio_of(calm).verdict == "slower"
    assert ratio_of(wild).verdict == "ambiguous"  # the processes of one side differ by more
    assert not any("single process" in note for note in calm.notes)


# Corrections


def test_corrections_are_subtracted_and_their_uncertainty_is_kept_apart() -> None:
    def corrected(total_s: float, seed: int) -> Measurement:
        leg = correction(1e-6, 0.0, 2e-6)
        return row(samples=around(total_s, seed, spread=0.001), corrections=[leg])

    ratio = pair(corrected(5e-6, 1), corrected(9e-6, 2))
    assert ratio.value == pytest.approx(2.0, rel=0.01)
    assert ratio.systematic_low == pytest.approx(7 / 5, rel=0.01)
    assert ratio.systematic_high == pytest.approx(9 / 3, rel=0.01)
    assert (ratio.verdict, ratio.firm) == ("slower", True)
    close = pair(corrected(5e-6, 1), corrected(5.5e-6, 2))
    assert (close.verdict, close.firm) == ("slower", False)


def test_a_correction_that_could_be_everything_leaves_no_firm_verdict() -> None:
    def corrected(total_s: float, seed: int) -> Measurement:
        return row(samples=around(total_s, seed), corrections=[correction(1e-6, 0.0, 3e-6)])

    ratio = pair(corrected(2e-6, 1), corrected(3e-6, 2))
    assert (ratio.systematic_low, ratio.systematic_high) == (None, None)
    assert (ratio.verdict, ratio.firm) == ("slower", False)


# The same file


def _noisy() -> Result:
    rows = [row(samples=around(1e-6, 3, spread=0.5, size=30)), row("sync", [1e-6] * 3)]
    counts = row("queue_knee", [1.0, 2.0], unit="count")
    return result(*rows, counts, slope_row("spacing", 1e-7), absent("launch_sync"))


def test_a_result_is_the_same_as_itself_however_noisy() -> None:
    one = _noisy()
    comparison = compare_results([one, msgspec.convert(msgspec.to_builtins(one), Result)])
    ratios = [each.ratios[1] for each in comparison.rows if each.ratios[1]]
    assert {(r.value, r.low, r.high, r.verdict, r.identical) for r in ratios} == {
        (1.0, 1.0, 1.0, "same", True)
    }
    assert comparison.count("same") == comparison.comparisons == 4
    assert any("with itself" in note for note in comparison.notes)
