"""Chains of recorded cases, of which the pipeline's parts are known."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from floor_results import GPU, US, floor_result
from test_case_bounds import FORWARDS, call, case, data, device_pass, on_cpu, operation

from ftax_micro.analysis.bounding.cases import case_bounds
from ftax_micro.analysis.bounding.chain_rows import Chains, case_chains
from ftax_micro.analysis.floor.values import FloorValues, floor_values
from ftax_micro.records import Case, DeviceOperation

FLOOR = floor_values(floor_result(spread=0.0), GPU)
HOST_US = 10.0
NAMES = ["norm", "mul", "copy HTOD", "norm", "mul", "gelu", "norm", "mul", "gelu"]


def named(names: list[str], streams: list[int] | None = None) -> Case:
    operations: list[DeviceOperation] = []
    for n, name in enumerate(names):
        kind = "copy" if name.startswith("copy") else "kernel"
        found = operation(HOST_US * n + 4, 2.0, n, kind)
        stream = streams[n] if streams else None
        operations.append(msgspec.structs.replace(found, name=name, stream=stream))
    calls = [call(HOST_US * n) for n in range(len(names))]
    latency_us = HOST_US * (len(names) - 1) + 4 + 2 + 3
    return case(
        device_pass=device_pass(operations, calls),
        latency=data(latency_us * US),
        host=None,
    )


def chains(found: Case, floor: FloorValues = FLOOR) -> Chains:
    return case_chains(case_bounds(found, floor), floor)


def test_a_chain_and_what_it_saves() -> None:
    found = chains(named(NAMES))
    (row,) = found.rows
    assert row.kernels == ("norm", "mul")
    assert (row.occurrences, row.launches_saved, row.op, row.ops) == (3, 3, None, ())
    # The host's 10 µs before each second kernel; a launch costs it 2 µs.
    assert row.saved == pytest.approx((30 * US,) * 3)
    assert row.counted_s == pytest.approx(6 * US)
    assert found.together == pytest.approx((30 * US,) * 3)
    assert found.latency is not None
    assert found.latency.value == pytest.approx(89 * US)
    assert found.reason is None
    assert found.notes == ()


def test_what_it_saves_has_the_noise_of_the_forwards() -> None:
    rng = np.random.default_rng(0)
    steady = named(NAMES)
    assert steady.device_pass is not None
    shaky = [
        msgspec.structs.replace(
            each, begin_s=[b * s for b, s in zip(each.begin_s, scale, strict=True)]
        )
        for scale in [rng.uniform(0.9, 1.1, FORWARDS).tolist()]
        for each in steady.device_pass.calls
    ]
    traced = msgspec.structs.replace(steady.device_pass, calls=shaky)
    (row,) = chains(msgspec.structs.replace(steady, device_pass=traced)).rows
    assert row.saved.low is not None
    assert row.saved.high is not None
    assert row.saved.low < 30 * US < row.saved.high


def test_copies_to_the_host_and_collectives_are_in_no_chain() -> None:
    for between in ("copy DTOH", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"):
        assert chains(named(["a", between] * 4)).rows == ()
    (row,) = chains(named(["a", "copy DTOD", "b"] * 3)).rows
    assert row.kernels == ("a", "copy DTOD", "b")


def test_streams_are_looked_at_one_by_one() -> None:
    found = chains(named(["a", "x", "b", "y"] * 3, streams=[1, 2] * 6))
    assert {row.kernels for row in found.rows} == {("a", "b"), ("x", "y")}
    assert "several streams" in found.notes[0]


def test_why_there_are_none() -> None:
    assert "nothing is launched one by one" in str(chains(on_cpu(100)).reason)
    nodes = [operation(8 + 3.5 * n, 3, 0) for n in range(9)]
    replay = case(device_pass=device_pass(nodes, [call(0, "cudaGraphLaunch_v10000")]))
    assert chains(replay).reason == (
        "its 9 operations come from 1 launch: nothing is launched one by one"
    )
    assert "comes often enough" in str(chains(named(list("abcdef"))).reason)
    assert chains(case(device_pass=None)).reason == "the device was not traced"
    unknown = FloorValues(reasons={"to_start": "no floor was measured"})
    assert chains(named(NAMES), unknown).reason == "no floor was measured"


def test_a_graph_among_launches_needs_its_cost() -> None:
    steady = named(NAMES)
    assert steady.device_pass is not None
    calls = [*steady.device_pass.calls[:-1], call(HOST_US * 8, "cudaGraphLaunch_v10000")]
    mixed = msgspec.structs.replace(
        steady, device_pass=msgspec.structs.replace(steady.device_pass, calls=calls)
    )
    bare = FloorValues(
        to_start=FLOOR.to_start,
        sync=FLOOR.sync,
        submit=FLOOR.submit,
        reasons={"graph_launch": "too old"},
    )
    assert chains(mixed, bare).reason == "too old"
    assert len(chains(mixed).rows) == 1
