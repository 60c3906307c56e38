"""From raw samples to a row: the headline, its interval, corrections, processes."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from fake_results import absent, around, correction, row, slope_row
from hypothesis import given
from hypothesis import strategies as st

from ftax_micro import stats, summarise
from ftax_micro.analysis.summary import Summary, estimate_of, setting_text
from ftax_micro.records import Data, Level, Measurement, Plan, Verdict


def only(*measurements: Measurement) -> Summary:
    (summary,) = summarise(measurements)
    return summary


def test_a_median_row_says_everything_of_its_samples() -> None:
    samples = around(1e-6, 1, size=600)
    found = only(row(samples=[*samples, 1e-3], censored=3))
    assert found.status == "ok"
    assert found.value == np.median([*samples, 1e-3])
    assert (found.low, found.high) == stats.median_interval([*samples, 1e-3])[1:]
    assert found.minimum == min(samples)
    assert found.p5 is not None
    assert found.p95 is not None
    assert found.p99 is not None
    assert found.value is not None
    assert found.p5 < found.value < found.p95 < found.p99
    assert (found.count, found.censored) == (601, 3)
    assert found.outliers == stats.outliers(samples) + 1
    assert found.half_width == pytest.approx(((found.high or 0) - (found.low or 0)) / 2)
    assert not found.is_slope
    assert found.worst_residual is None
    assert found.stop_reason == "interval"


def test_percentiles_without_enough_samples_are_undefined() -> None:
    found = only(row(samples=around(1e-6, size=99)))
    assert (found.p5, found.p95, found.p99) == (None, None, None)


def test_few_samples_have_a_value_without_an_interval() -> None:
    found = only(row(samples=[1.0, 2.0, 3.0]))
    assert (found.value, found.low, found.high, found.half_width) == (2.0, None, None, None)


def test_a_slope_row_has_no_single_samples() -> None:
    found = only(slope_row("submit", 2e-6))
    assert found.value == pytest.approx(2e-6, rel=0.01)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 2e-6 < found.high
    assert found.is_slope
    assert (found.p5, found.p95, found.minimum, found.noise, found.outliers) == (None,) * 5
    assert found.count == 400
    assert found.worst_residual is not None
    assert found.worst_residual < 0.01


def test_an_intercept_is_an_estimate_of_its_own() -> None:
    levels = [Level(count=n, samples_s=[5.0 + 2.0 * n] * 10) for n in (1, 2, 3)]
    data = Data(estimate="intercept", stop_reason="interval", levels=levels)
    assert estimate_of(data, 0.95).value == pytest.approx(5.0)


def test_the_confidence_asked_for_comes_first_then_the_plans() -> None:
    measured = row(samples=around(1e-6, 2))
    widths = [
        found.half_width or 0.0
        for found in (
            *summarise([measured], Plan(confidence=0.99)),
            *summarise([measured]),
            *summarise([measured], Plan(confidence=0.99), confidence=0.8),
        )
    ]
    assert widths[0] > widths[1] > widths[2]


# Corrections


def test_corrections_shift_everything_and_span_the_systematic_range() -> None:
    samples = around(5e-6, 3)
    raw = only(row(samples=samples))
    legs = [correction(1e-6, 0.0, 2e-6), correction(0.5e-6, 0.4e-6, 0.8e-6, name="body")]
    found = only(row(samples=samples, corrections=legs))
    assert found.value == pytest.approx((raw.value or 0) - 1.5e-6)
    assert found.low == pytest.approx((raw.low or 0) - 1.5e-6)
    assert found.minimum == pytest.approx((raw.minimum or 0) - 1.5e-6)
    assert found.p95 == pytest.approx((raw.p95 or 0) - 1.5e-6)
    # The truth lies between the raw value less all highs and less all lows.
    assert found.systematic_low == pytest.approx((raw.value or 0) - 2.8e-6)
    assert found.systematic_high == pytest.approx((raw.value or 0) - 0.4e-6)


def test_without_corrections_there_is_no_systematic_range() -> None:
    found = only(row(samples=around(1e-6)))
    assert found.systematic_low == found.systematic_high == found.value


def test_a_negative_value_is_shown_not_clipped() -> None:
    found = only(row(samples=[1e-6] * 20, corrections=[correction(3e-6, 0.0, 6e-6)]))
    assert found.value == pytest.approx(-2e-6)


def test_each_process_is_corrected_by_its_own_correction() -> None:
    runs = [
        row(samples=[5e-6] * 20, process=0, corrections=[correction(1e-6, 0.5e-6, 1.5e-6)]),
        row(samples=[7e-6] * 20, process=1, corrections=[correction(3e-6, 1e-6, 5e-6)]),
    ]
    found = only(*runs)
    assert found.value == pytest.approx(4e-6)
    assert found.minimum == pytest.approx(4e-6)
    assert found.systematic_low == pytest.approx(2e-6)
    assert found.systematic_high == pytest.approx(6e-6)


# Processes


def test_processes_are_joined_by_the_median_and_span_their_differences() -> None:
    runs = [row(samples=around(m, n), process=n) for n, m in enumerate([1e-6, 3e-6, 1.1e-6])]
    alone = [only(run) for run in runs]
    found = only(*runs)
    assert found.value == alone[2].value
    assert (found.low, found.high) == (alone[0].low, alone[1].high)
    assert found.processes == 3
    assert found.count == 1200


def test_many_processes_leave_out_the_extreme_ones() -> None:
    runs = [row(samples=[float(n)] * 9, process=n) for n in range(1, 10)]
    found = only(*runs)
    low, high = stats.median_ranks(9, 0.95) or (0, 0)
    assert (found.value, found.low, found.high) == (5.0, low + 1.0, high + 1.0)
    assert low > 0


def test_one_process_without_a_number_fails_the_row() -> None:
    failed = msgspec.structs.replace(absent("submit", "failed", "CUDA error"), process=1)
    found = only(row(samples=around(1e-6)), failed)
    assert (found.status, found.reason, found.value) == ("failed", "CUDA error", None)


def test_reasons_and_verdicts_of_all_processes_are_kept() -> None:
    fell = Verdict(code="clock_fell", sentence="the SM clock fell by 9 % during this row")
    runs = [
        row(samples=around(1e-6, 1), process=0, stop_reason="timeout"),
        row(samples=around(1e-6, 2), process=1, verdicts=[fell]),
    ]
    found = only(*runs)
    assert found.stop_reason == "interval timeout"
    assert found.verdicts == (fell,)


# Which measurements make a row


def test_rows_keep_their_order_and_are_told_apart_by_device_name_and_setting() -> None:
    found = summarise(
        [
            row("b", around(1e-6)),
            row("a", around(1e-6), setting={"wait": "spin"}),
            row("a", around(1e-6), setting={"wait": "block"}),
            row("b", around(1e-6), device="cuda:0"),
        ]
    )
    assert [(each.device, each.name, each.setting_text) for each in found] == [
        ("cpu", "b", ""),
        ("cpu", "a", "wait=spin"),
        ("cpu", "a", "wait=block"),
        ("cuda:0", "b", ""),
    ]


def test_an_absent_row_has_its_reason_and_no_number() -> None:
    found = only(absent("sync"))
    assert (found.status, found.reason) == ("skipped", "one core only")
    assert (found.value, found.systematic_low, found.count) == (None, None, 0)


def test_settings_as_text() -> None:
    assert setting_text({"wait": "spin", "idle_ns": 0}) == "wait=spin idle_ns=0"
    assert setting_text({}) == ""


@given(st.lists(st.floats(1e-9, 1e-3), min_size=1, max_size=80))
def test_the_interval_holds_the_value(samples: list[float]) -> None:
    found = only(row(samples=samples))
    assert found.value is not None
    assert found.low is None or found.low <= found.value
    assert found.high is None or found.value <= found.high
    assert found.minimum is not None
    assert found.minimum <= found.value
