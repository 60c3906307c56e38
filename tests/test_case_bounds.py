"""Recorded cases whose operations, calls and floor are known."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from fake_results import result, row
from floor_results import COSTS, GPU, US, floor_result, floor_rows

from ftax_micro.analysis.bounding.cases import (
    TRACED_PACE,
    CaseBounds,
    case_bounds,
    device_work,
    result_bounds,
)
from ftax_micro.analysis.bounding.pipeline import CallKind
from ftax_micro.analysis.bounding.rows import rows_of_cases
from ftax_micro.analysis.floor.values import FloorValues, floor_values, given_value
from ftax_micro.records import Case, Data, DeviceOperation, DevicePass, HostCall, Roofline

FORWARDS = 20
FLOOR = floor_values(floor_result(spread=0.0), GPU)
# Kernels of 3 µs, 10 µs of the host apart; the last starts at 40 + 4 and ends 3 µs before y.
NUMBER, KERNEL_US, HOST_US = 5, 3.0, 10.0
LATENCY_US = (NUMBER - 1) * HOST_US + 4 + KERNEL_US + 3

ONE_ZERO = Data(estimate="median", stop_reason="interval", samples=[1e-3, 0.0, 1e-3])


def data(seconds: float, count: int = 30) -> Data:
    return Data(estimate="median", stop_reason="interval", samples=[seconds] * count)


def operation(
    start_us: float, duration_us: float, call: int | None, kind: Any = "kernel"
) -> DeviceOperation:
    return DeviceOperation(
        kind=kind,
        name=kind,
        call=call,
        start_s=[start_us * US] * FORWARDS,
        duration_s=[duration_us * US] * FORWARDS,
    )


def call(begin_us: float, name: str = "cudaLaunchKernel_v7000") -> HostCall:
    return HostCall(name=name, begin_s=[begin_us * US] * FORWARDS, duration_s=[US] * FORWARDS)


def device_pass(
    operations: list[DeviceOperation], calls: list[HostCall], slower: float = 1.0
) -> DevicePass:
    busy_s = sum(each.duration_s[0] for each in operations)
    return DevicePass(
        operations=operations,
        calls=calls,
        busy_s=[busy_s] * FORWARDS,
        latency_s=[LATENCY_US * slower * US] * FORWARDS,
        host_s=[42 * slower * US] * FORWARDS,
    )


def launched(slower: float = 1.0) -> DevicePass:
    """A kernel for each launch, under a tracer that slows the host so much."""
    begins = [HOST_US * slower * n for n in range(NUMBER)]
    operations = [operation(begin + 4, KERNEL_US, n) for n, begin in enumerate(begins)]
    return device_pass(operations, [call(each) for each in begins], slower)


def case(**changes: Any) -> Case:
    values: dict[str, Any] = {
        "model": "bert_tiny",
        "mode": "eager",
        "device": GPU,
        "dtype": "fp32",
        "status": "ok",
        "latency": data(LATENCY_US * US),
        "host": data(42 * US),
        "blocks": [30],
        "executed": {"aten::add": 100, "aten::mm": 100},
        "device_pass": launched(),
    }
    return Case(**{**values, **changes})


def on_cpu(latency_us: float, **changes: Any) -> Case:
    values = {"device": "cpu", "device_pass": None, "latency": data(latency_us * US), "host": None}
    return case(**{**values, **changes})


def micro(value: float | None) -> Any:
    assert value is not None
    return pytest.approx(value * US)


def regime_of(found: CaseBounds) -> str:
    assert found.regime is not None
    return found.regime.name


def test_a_case_on_a_gpu() -> None:
    found = case_bounds(case(), FLOOR)
    assert found.reason is None
    assert found.bounds is not None
    assert found.bounds.tax is not None
    assert found.bounds.device is not None
    # Device bound 4 + 15 + 4 + 3, and the host's floor hides behind it.
    assert found.bounds.device.seconds.value == micro(26)
    assert found.bounds.tax.value == micro(LATENCY_US - 26)
    assert regime_of(found) == "framework-bound"
    assert (found.launches, found.operations) == (5, 5)
    assert found.busy is not None
    assert found.idle is not None
    assert (found.busy.value, found.idle.value) == (micro(15), micro(LATENCY_US - 15))
    assert found.predicted is not None
    assert found.predicted.model.value == micro(LATENCY_US)
    assert found.prediction_error == pytest.approx(0, abs=1e-9)
    assert found.traced_ratio == pytest.approx(1)
    assert found.notes == rows_of_cases("a.json", [found])[0].notes == ()


def test_what_the_tracer_slows_is_taken_at_the_hosts_own_pace() -> None:
    found = case_bounds(case(device_pass=launched(slower=2.0)), FLOOR)
    assert found.prediction_error == pytest.approx(0, abs=1e-9)
    assert found.traced_ratio == pytest.approx(2)
    waits = case_bounds(case(device_pass=launched(slower=2.0), host=None), FLOOR)
    assert waits.prediction_error == pytest.approx(40 / LATENCY_US)
    assert waits.notes == (TRACED_PACE,)


def test_a_replay() -> None:
    operations = [operation(8 + 3.5 * n, 3, 0) for n in range(NUMBER)]
    replayed = device_pass(operations, [call(0, "cudaGraphLaunch_v10000")])
    latency_us = COSTS["graph_launch"] / US + 0.5 * NUMBER + 3 * NUMBER
    found = case_bounds(
        case(mode="cuda_graph", device_pass=replayed, latency=data(latency_us * US)), FLOOR
    )
    assert found.bounds is not None
    assert found.bounds.path == "graph"
    assert found.bounds.tax is not None
    # Replays end when they end: a + Σ k + N g', by the graph's own costs.
    assert found.bounds.tax.value == micro(0)
    assert found.bounds.taxed is False
    (row,) = rows_of_cases("a.json", [found])
    assert row.notes == ("its tax is not distinguishable from zero",)


def test_operations_stand_in_the_order_of_their_starts() -> None:
    operations = [operation(4, 3, 0), operation(20, 1, 1, "copy"), operation(8, 2, None, "set")]
    calls = [call(0), call(9, "cudaMemcpyAsync_v3020")]
    work = device_work(device_pass(operations, calls))
    assert work.operations.duration_s == pytest.approx([3 * US, 2 * US, US])
    assert list(work.operations.call) == [0, -1, 1]
    assert list(work.calls.kind) == [CallKind.LAUNCH, CallKind.COPY]
    assert list(work.kind) == [CallKind.LAUNCH, CallKind.SET, CallKind.COPY]
    assert work.begins.shape == (FORWARDS, 2)
    found = case_bounds(case(device_pass=device_pass(operations, calls)), FLOOR)
    assert any(note.startswith("1 of 3 operations have no call") for note in found.notes)


def test_what_runs_side_by_side_is_not_chained() -> None:
    found = device_pass([operation(4, 9, 0), operation(6, 3, 1)], [call(0), call(1)])
    assert list(device_work(found).operations.chained) == [True, False]
    notes = case_bounds(case(device_pass=found), FLOOR).notes
    assert notes[0].startswith("1 of 2 operations overlap")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"status": "failed", "reason": "it crashed", "latency": None}, "it crashed"),
        ({"status": "skipped", "latency": None}, "it has no latency"),
        ({"latency": data(0.0)}, "its latency is not positive"),
        (
            {"latency": Data(estimate="median", stop_reason="interval", samples=[1.0, 0.0, 1.0])},
            "its latency is not positive",
        ),
        ({"device_pass": None}, "the device was not traced"),
        ({"device_pass": None, "reasons": {"device_pass": "no CUPTI"}}, "no CUPTI"),
    ],
)
def test_why_a_case_has_no_bounds(changes: dict[str, Any], why: str) -> None:
    found = case_bounds(case(**changes), FLOOR)
    assert found.reason == why
    assert found.bounds is None
    assert found.regime is None


def test_without_a_floor_what_the_device_did_is_told_all_the_same() -> None:
    found = case_bounds(case(), FloorValues(reasons={"to_start": "no floor was measured"}))
    assert found.reason == "no floor was measured"
    assert found.bounds is None
    assert found.regime is None
    assert found.predicted is None
    assert found.busy is not None
    assert found.launches == 5


def test_a_replay_on_a_floor_without_graphs_has_a_device_bound_alone() -> None:
    replayed = device_pass([operation(8, 3, 0)], [call(0, "cuGraphLaunch")])
    bare = FloorValues(
        to_start=given_value(4 * US), sync=given_value(3 * US), reasons={"submit_graph": "too old"}
    )
    found = case_bounds(case(device_pass=replayed), bare)
    assert found.reason is None
    assert found.bounds is not None
    assert found.bounds.reasons["own"] == "too old"
    assert found.predicted is None
    assert found.regime is None


def test_a_case_on_the_cpu_has_its_twin() -> None:
    floor = FloorValues(call_direct=given_value(0.01 * US))
    found = case_bounds(on_cpu(100), floor, on_cpu(30, twin=True))
    assert found.bounds is not None
    assert found.bounds.tax is not None
    assert found.bounds.tax.value == micro(30 - 2)
    assert found.operations == 200
    assert found.busy is not None
    assert found.busy.value == micro(70)
    assert regime_of(found) == "framework-bound"
    busy = case_bounds(on_cpu(1000), floor, on_cpu(30, twin=True))
    assert regime_of(busy) == "device-bound"


@pytest.mark.parametrize(
    ("twin", "why"),
    [
        (None, "its zero-work twin was not measured"),
        (on_cpu(30, twin=True, executed={"aten::add": 90, "aten::mm": 100}), "other operations"),
        (on_cpu(30, twin=True, executed={}), "were not counted"),
        (
            on_cpu(30, twin=True, status="skipped", reason="no time", latency=None),
            "its zero-work twin was skipped: no time",
        ),
    ],
)
def test_a_case_on_the_cpu_without_a_twin_has_no_bounds(twin: Case | None, why: str) -> None:
    found = case_bounds(on_cpu(100), FLOOR, twin)
    assert found.reason is not None
    assert why in found.reason


def test_what_is_device_bound_has_its_peak() -> None:
    peaks = [
        Roofline(device="cpu", operation=kind, dtype="fp32", work=1e9, status="ok", data=data(1.0))
        for kind in ("matmul", "copy")
    ]
    worked = on_cpu(1000, macs=400_000, weight_bytes=1000, activation_bytes=1000)
    floor = FloorValues(call_direct=given_value(0.0))
    found = case_bounds(worked, floor, on_cpu(10, twin=True), peaks)
    assert found.regime is not None
    assert (found.regime.name, found.regime.kind) == ("device-bound", "compute-bound")
    assert found.use is not None
    assert found.use.share == pytest.approx(800 / 990)


def test_a_results_cases_have_its_floor_or_that_of_another() -> None:
    direct = row("call_direct", [2e-9] * 30)
    cases = [case(), on_cpu(100), on_cpu(30, twin=True)]
    together = msgspec.structs.replace(result(direct, *floor_rows(spread=0.0)), cases=cases)
    found = result_bounds(together)
    assert [each.case.device for each in found] == [GPU, "cpu"]
    assert all(each.bounds is not None for each in found)
    absent = on_cpu(30, twin=True, status="failed", reason="no memory", latency=None)
    failed = result_bounds(msgspec.structs.replace(together, cases=[*cases[:2], absent]))[1]
    assert failed.reason == "its zero-work twin failed: no memory"
    alone = msgspec.structs.replace(together, measurements=[])
    assert result_bounds(alone)[0].reason == "to_start was not measured on cuda:0"
    other = result_bounds(alone, floor_result(spread=0.0))
    assert other[0].bounds == found[0].bounds


def test_intervals_have_the_noise_of_all() -> None:
    rng = np.random.default_rng(0)
    samples = [float(x) for x in LATENCY_US * US * np.exp(rng.normal(0, 0.02, 100))]
    noisy = case(latency=Data(estimate="median", stop_reason="interval", samples=samples))
    found = case_bounds(noisy, floor_values(floor_result(), GPU)).bounds
    assert found is not None
    assert found.tax is not None
    assert found.tax.low is not None
    assert found.tax.high is not None
    assert found.tax.low < LATENCY_US * US - 26 * US < found.tax.high
