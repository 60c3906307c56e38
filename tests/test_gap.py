"""What is between two kernels: taken off, and compared over kernels of several lengths."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from stand_in import StandIn, row

from ftax_micro.analysis.floor.gap import common_gaps, duration_correction
from ftax_micro.analysis.summary import Summary, summarise
from ftax_micro.devices.contract import FloorRow, Subtracted
from ftax_micro.orchestration.point.selection import Point
from ftax_micro.orchestration.subtraction import subtract
from ftax_micro.records import Data, Level, Measurement, Setting

US = 1e-6


def gap(spin_ns: int, value_us: float, half_us: float = 0.01, device: str = "cuda:0") -> Summary:
    value = value_us * US
    interval = (value - half_us * US, value + half_us * US)
    return Summary(
        device, "gap", {"spin_ns": spin_ns}, "ok", None, "s", value, *interval, *interval
    )


def test_the_common_gap_is_the_median_and_residuals_are_signed() -> None:
    rows = [gap(0, 1.00), gap(2_000, 1.01), gap(5_000, 0.99), gap(20_000, 1.01)]
    (found,) = common_gaps(rows)
    assert found.device == "cuda:0"
    assert found.value_s == pytest.approx(1.005 * US)
    assert [r.spin_s for r in found.residuals] == pytest.approx([0, 2 * US, 5 * US, 20 * US])
    assert [r.residual_s for r in found.residuals] == pytest.approx(
        [-0.005 * US, 0.005 * US, -0.015 * US, 0.005 * US]
    )
    assert not any(r.flagged for r in found.residuals)


def test_a_gap_that_is_another_for_long_kernels_is_flagged() -> None:
    rows = [gap(0, 1.0), gap(2_000, 1.0), gap(5_000, 1.0), gap(20_000, 1.5)]
    (found,) = common_gaps(rows)
    assert [r.flagged for r in found.residuals] == [False, False, False, True]


def test_a_negative_gap_stays_negative() -> None:
    (found,) = common_gaps([gap(0, -0.2), gap(2_000, -0.2)])
    assert found.value_s == pytest.approx(-0.2 * US)


def test_one_length_or_none_has_nothing_in_common() -> None:
    skipped = Summary("cuda:0", "gap", {"spin_ns": 0}, "skipped", "no tracer")
    assert common_gaps([]) == []
    assert common_gaps([gap(0, 1.0), skipped]) == []
    assert common_gaps([gap(0, 1.0), gap(2_000, 1.0, device="cuda:1")]) == []


def data(*samples_s: float) -> Data:
    return Data(estimate="median", stop_reason="interval", samples=list(samples_s))


def test_coarse_durations_are_averaged_and_the_interval_holds_the_median() -> None:
    """A clock of 1 µs shows 2.3 µs as 2 µs seven times of ten, and as 3 µs three times."""
    random = np.random.default_rng(0)
    coarse = np.where(random.random(4_000) < 0.3, 3 * US, 2 * US)
    found = duration_correction(data(*coarse), "x", 0.95)
    assert found.value_s == pytest.approx(2.3 * US, rel=0.03)
    assert found.low_s == pytest.approx(2 * US)
    assert found.value_s < found.high_s < 2.4 * US


def test_a_kernel_that_was_pre_empted_does_not_move_it() -> None:
    found = duration_correction(data(*[2 * US] * 99, 5e-3), "x", 0.95)
    assert (found.low_s, found.value_s, found.high_s) == pytest.approx((2 * US,) * 3)
    assert found.low_s == found.high_s


def test_one_duration_is_its_own_interval() -> None:
    found = duration_correction(data(3 * US), "x", 0.95)
    assert (found.low_s, found.value_s, found.high_s) == pytest.approx((3 * US,) * 3)


# Taking it off

TRACED: Setting = {"tracer": "cupti"}
SPACED = Data(
    estimate="slope",
    stop_reason="interval",
    levels=[Level(count=n, samples_s=[n * 5.5 * US] * 8) for n in (1, 2, 3, 4)],
)
ROW = FloorRow("gap", "", row("gap").measure, subtracted=Subtracted("kernel_duration", TRACED))
POINT: Point = (StandIn(ROW), ROW, {"spin_ns": 2_000})
WHOLE = Measurement(
    device="cpu", name="gap", setting={"spin_ns": 2_000}, status="ok", data=SPACED, process=3
)
PART = Measurement(
    device="cpu",
    name="kernel_duration",
    setting={"spin_ns": 2_000, "tracer": "cupti"},
    status="ok",
    data=data(*[4 * US] * 9),
)


def test_the_headline_is_the_spacing_less_the_duration() -> None:
    found = subtract(POINT, WHOLE, [WHOLE, PART], 0.95)
    (summary,) = summarise([found])
    assert summary.value == pytest.approx(1.5 * US)
    (correction,) = found.corrections
    assert correction.source == "kernel_duration spin_ns=2000 tracer=cupti"
    assert found.data is WHOLE.data


@pytest.mark.parametrize(
    ("others", "status", "reason"),
    [
        (
            [
                msgspec.structs.replace(PART, setting={"spin_ns": 0, "tracer": "cupti"}),
                msgspec.structs.replace(PART, device="cuda:1"),
            ],
            "skipped",
            "kernel_duration spin_ns=2000 tracer=cupti was not measured",
        ),
        (
            [msgspec.structs.replace(PART, status="failed", data=None, reason="it crashed")],
            "failed",
            "kernel_duration spin_ns=2000 tracer=cupti has no value: it crashed",
        ),
        (
            [msgspec.structs.replace(PART, status="skipped", data=None, reason="no tracer")],
            "skipped",
            "kernel_duration spin_ns=2000 tracer=cupti has no value: no tracer",
        ),
    ],
)
def test_without_the_duration_there_is_no_gap(
    others: list[Measurement], status: str, reason: str
) -> None:
    found = subtract(POINT, WHOLE, others, 0.95)
    assert (found.status, found.reason, found.data) == (status, reason, None)
    assert (found.device, found.name, found.setting, found.process) == (
        "cpu",
        "gap",
        {"spin_ns": 2_000},
        3,
    )


def test_other_rows_stay_as_they_are() -> None:
    plain = row("submit")
    assert subtract((StandIn(plain), plain, {}), WHOLE, [PART], 0.95) is WHOLE
