"""Which bound explains a latency, from bounds whose answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from synthetic_pipelines import US, given_floor, launches, noisy, operations, work_of

from ftax_micro.analysis.bounding.bounds import Bound, Bounds, cuda_bounds
from ftax_micro.analysis.bounding.regime import Regime, RooflineUse, regime, roofline_use
from ftax_micro.records import Case, Data, Roofline
from ftax_micro.stats import Estimate


def bound(share: float, half: float | None = 0.01, systematic: float = 0.0) -> Bound:
    """Of a latency of one second."""

    def about(value: float) -> Estimate:
        if half is None:
            return Estimate(value, None, None)
        return Estimate(value, value - half, value + half)

    range_s = (share - systematic, share + systematic)
    return Bound(about(share), about(share), about(1 - share), range_s)


def found(device: Bound | None, own: Bound | None, **changes: Any) -> Regime | None:
    values: dict[str, Any] = {"path": "stream", "device": device, "own": own}
    return regime(Bounds(Estimate(1.0, 0.99, 1.01), **{**values, **changes}))


def named(device: float, own: float, **changes: Any) -> str:
    answer = found(bound(device), bound(own), **changes)
    assert answer is not None
    return answer.name


@pytest.mark.parametrize(
    ("device", "own", "name", "paper"),
    [
        (0.95, 0.97, "device-bound", "compute-bound"),
        (0.50, 0.97, "launch-bound", "framework-bound"),
        (0.30, 0.60, "framework-bound", "framework-bound"),
        (0.895, 0.97, "ambiguous", None),
        (0.30, 0.905, "ambiguous", None),
        (0.50, 1.02, "invalid", None),
        (1.02, 1.02, "invalid", None),
        (1.005, 1.005, "device-bound", "compute-bound"),
        (-0.02, 0.5, "invalid", None),
    ],
)
def test_a_regime(device: float, own: float, name: str, paper: str | None) -> None:
    answer = found(bound(device), bound(own))
    assert answer is not None
    assert (answer.name, answer.paper, answer.text) == (name, paper, name)


def test_the_candidates_are_told() -> None:
    answer = found(bound(0.895), bound(0.97))
    assert answer is not None
    assert answer.candidates == ("device-bound", "launch-bound")
    assert answer.reason == (
        "device-bound or launch-bound: the bound is between 88.5% and 90.5% of the latency, the "
        "line at 90%"
    )
    answer = found(bound(0.3), bound(0.905))
    assert answer is not None
    assert answer.candidates == ("launch-bound", "framework-bound")


def test_without_an_interval_nothing_is_decided() -> None:
    answer = found(bound(0.3, None), bound(0.5, None))
    assert answer is not None
    assert answer.name == "ambiguous"
    assert answer.reason.endswith("too few samples for an interval")


def test_what_corrections_could_be_is_part_of_the_interval() -> None:
    answer = found(bound(0.3, systematic=0.2), bound(0.8, systematic=0.2))
    assert answer is not None
    assert answer.name == "ambiguous"
    assert named(0.3, 0.8) == "framework-bound"


def test_nothing_on_the_cpu_is_launch_bound() -> None:
    assert named(0.5, 0.95, path="inline") == "framework-bound"
    answer = found(bound(0.895), bound(0.97), path="inline")
    assert answer is not None
    assert answer.candidates == ("device-bound", "framework-bound")


def test_what_is_not_known_is_not_decided() -> None:
    assert found(None, None) is None
    assert found(bound(0.5), None) is None
    assert found(bound(0.895), None) is None
    answer = found(bound(0.95), None)
    assert answer is not None
    assert answer.name == "device-bound"
    answer = found(bound(0.5), None, path="inline")
    assert answer is not None
    assert answer.name == "framework-bound"


@pytest.mark.parametrize(
    ("compute_s", "memory_s", "kind"),
    [
        (0.8, 0.2, "compute-bound"),
        (0.2, 0.8, "memory-bound"),
        (0.2, 0.4, "kernel-latency-bound"),
        (0.8, None, "compute-bound"),
        (0.2, None, None),
    ],
)
def test_what_is_device_bound_has_a_kind(
    compute_s: float, memory_s: float | None, kind: str | None
) -> None:
    use = RooflineUse(compute_s, memory_s, busy_s=1.0)
    bounds = Bounds(Estimate(1.0, 0.9, 1.1), "stream", device=bound(0.95), own=bound(0.95))
    answer = regime(bounds, use)
    assert answer is not None
    assert answer.kind == kind
    assert answer.text == kind or answer.text == "device-bound"
    other = regime(Bounds(bounds.latency, "stream", device=bound(0.3), own=bound(0.4)), use)
    assert other is not None
    assert other.kind is None


def _peak(operation: Any, dtype: str, work: float, **changes: Any) -> Roofline:
    data = Data(estimate="median", stop_reason="interval", samples=[1.0] * 10)
    values: dict[str, Any] = {"device": "cuda:0", "status": "ok", "data": data}
    return Roofline(operation=operation, dtype=dtype, work=work, **{**values, **changes})


def test_work_at_its_peak() -> None:
    case = Case(
        model="bert",
        mode="eager",
        device="cuda:0",
        dtype="fp16",
        status="ok",
        macs=10,
        weight_bytes=100,
        activation_bytes=50,
    )
    products = [_peak("matmul", "fp32", 1.0), _peak("matmul", "fp16", 40.0)]
    other = _peak("copy", "fp32", 1.0, device="cpu")
    copy = _peak("copy", "fp32", 400.0)
    assert roofline_use(case, [*products, other, copy], 2.0) == RooflineUse(0.5, 0.5, 2.0)
    assert roofline_use(case, [*products, other], 2.0) == RooflineUse(0.5, None, 2.0)
    assert roofline_use(case, [copy], 2.0) is None
    assert roofline_use(case, products, None) is None
    failed = _peak("matmul", "fp16", 40.0, status="failed", reason="no memory", data=None)
    assert roofline_use(case, [failed, copy], 2.0) is None


def test_regimes_of_measured_forwards_are_right_away_from_the_line() -> None:
    """Wrong in under 1 % of the cases that are five points and two half-widths from every line."""
    rng = np.random.default_rng(0)
    floor = given_floor()
    wrong = judged = 0
    for _ in range(120):
        number = int(rng.integers(3, 15))
        kernel_us = float(rng.choice([0.2, 3.0, 20.0]))
        ops, asked = operations([kernel_us] * number), launches(number)
        exact = cuda_bounds(work_of(ops, asked), [1.0] * 7, floor)
        assert exact.device is not None
        assert exact.own is not None
        device, own = exact.device.seconds.value, exact.own.seconds.value
        latency = own * float(rng.uniform(1.0, 1.5))
        samples = noisy(ops.duration_s, rng, 20, 0.02)
        measured = cuda_bounds(
            work_of(ops, asked, samples=samples), list(noisy(latency, rng, 60, 0.02)), floor
        )
        shares = (device / latency, own / latency)
        if any(abs(share - 0.9) < 0.05 for share in shares) or not _far(measured):
            continue
        truth = "launch-bound" if shares[1] >= 0.9 else "framework-bound"
        truth = "device-bound" if shares[0] >= 0.9 else truth
        answer = regime(measured)
        assert answer is not None
        judged += 1
        wrong += answer.name != truth
    assert judged > 60
    assert wrong / judged < 0.01


def _far(bounds: Bounds) -> bool:
    for each in (bounds.device, bounds.own):
        assert each is not None
        assert each.share.low is not None
        assert each.share.high is not None
        if abs(each.share.value - 0.9) < each.share.high - each.share.low:
            return False
    return bounds.latency.value > 2 * US
