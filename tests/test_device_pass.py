"""Traced forwards, place by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ftax_micro.devices.tracing import Trace, TracedCall, TracedOperation
from ftax_micro.orchestration.workload.device_pass import (
    TracedForward,
    UnsteadyError,
    busy_ns,
    device_pass,
    trace_forwards,
)
from ftax_micro.records import Case, DevicePass
from ftax_micro.result_rules import check_case

SET = TracedOperation(3, "set", 9_000, 9_100, kind="set")


def kernel(correlation: int, start: int, duration: int = 100, **more: Any) -> TracedOperation:
    name = more.pop("name", "k")
    return TracedOperation(correlation, name, start, start + duration, **more)


def forward(begin: int, *operations: TracedOperation, dropped: int = 0) -> TracedForward:
    """A forward of three calls, the middle one of which causes nothing; all times from `begin`."""
    calls = [
        TracedCall(1, begin + 10, begin + 20, "cuLaunchKernel"),
        TracedCall(1, begin + 5, begin + 25, "cudaLaunchKernel"),
        TracedCall(2, begin + 30, begin + 40, "cudaStreamSynchronize"),
        TracedCall(3, begin + 50, begin + 60, "cudaGraphLaunch"),
    ]
    moved = [
        TracedOperation(
            each.correlation,
            each.name,
            each.start_ns + begin,
            each.end_ns + begin,
            each.kind,
            each.graph_node,
        )
        for each in operations
    ]
    return TracedForward(begin, begin + 70, begin + 900, Trace(calls, moved, dropped))


def test_every_place_has_a_value_of_each_forward() -> None:
    one = forward(1_000, kernel(1, 100), kernel(3, 300, 50, graph_node=1))
    two = forward(5_000, kernel(3, 320, 60, graph_node=1), kernel(1, 110))
    found = device_pass([one, two], {"tracer": "a"})
    assert [each.name for each in found.calls] == ["cudaLaunchKernel", "cudaGraphLaunch"]
    assert found.calls[0].begin_s == pytest.approx([5e-9, 5e-9])
    assert found.calls[0].duration_s == pytest.approx([20e-9, 20e-9])
    assert [each.call for each in found.operations] == [0, 1]
    assert found.operations[0].start_s == pytest.approx([100e-9, 110e-9])
    assert found.operations[1].duration_s == pytest.approx([50e-9, 60e-9])
    assert found.busy_s == pytest.approx([150e-9, 160e-9])
    assert found.latency_s == pytest.approx([900e-9, 900e-9])
    assert found.host_s == pytest.approx([70e-9, 70e-9])
    assert found.other_calls == {"cudaStreamSynchronize": 1}
    assert found.facts == {"tracer": "a"}


def test_a_graph_s_operations_keep_their_places_whatever_order_they_ran_in() -> None:
    nodes = {1: "first", 2: "second"}
    one = forward(0, *(kernel(3, 100 * n, name=nodes[n], graph_node=n) for n in nodes))
    two = forward(0, *(kernel(3, 500 - 100 * n, name=nodes[n], graph_node=n) for n in nodes))
    found = device_pass([one, two], {})
    assert [each.name for each in found.operations] == ["first", "second"]
    assert found.operations[0].start_s == pytest.approx([100e-9, 400e-9])


def test_an_operation_without_a_call_says_so_and_stands_last() -> None:
    found = device_pass([forward(0, kernel(77, 1), kernel(1, 200))], {})
    assert [each.call for each in found.operations] == [0, None]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ([kernel(1, 100)], "forward 2 ran 1 operations, the first 2"),
        ([kernel(1, 100), kernel(3, 300, name="other")], "operation 1 of forward 2 was other"),
        ([kernel(1, 100), kernel(1, 300)], "operation 1 of forward 2 was k, in the first k"),
        ([kernel(1, 100), SET], "operation 1 of forward 2 was set"),
    ],
)
def test_forwards_that_differ_are_no_pass(second: Sequence[TracedOperation], reason: str) -> None:
    first = forward(0, kernel(1, 100), kernel(3, 300))
    with pytest.raises(UnsteadyError, match=reason):
        device_pass([first, forward(0, *second)], {})


def test_nothing_recorded_and_records_lost_are_no_pass() -> None:
    with pytest.raises(UnsteadyError, match="no operation of the device"):
        device_pass([forward(0)], {})
    with pytest.raises(UnsteadyError, match="lost 5 records"):
        device_pass([forward(0, kernel(1, 1), dropped=2), forward(0, kernel(1, 1), dropped=3)], {})


def test_time_that_two_operations_share_is_busy_once() -> None:
    overlapping = [kernel(1, 0), kernel(1, 50), kernel(1, 60, 10), kernel(1, 400)]
    assert busy_ns(overlapping) == 250
    assert busy_ns([]) == 0


def test_a_stored_pass_must_have_one_value_per_forward_and_calls_that_exist() -> None:
    found = device_pass([forward(0, kernel(1, 100)), forward(0, kernel(1, 110))], {})
    check_case(case_with(found))
    (operation,) = found.operations
    wrong = {
        r"one value per forward - at `\$.device_pass.busy_s": replace(found, busy_s=[1e-9]),
        r"There is no call 9 - at `\$.device_pass.operations\[0\].call": replace(
            found, operations=[replace(operation, call=9)]
        ),
        r"Not a number below .* - at `\$.device_pass.operations\[0\].start_s": replace(
            found, operations=[replace(operation, start_s=[float("nan"), 1.0])]
        ),
        r"one value per forward - at `\$.device_pass.host_s`": replace(found, host_s=[]),
    }
    for message, broken in wrong.items():
        with pytest.raises(msgspec.ValidationError, match=message):
            check_case(case_with(broken))


def case_with(found: DevicePass) -> Case:
    return Case(
        model="m",
        mode="eager",
        device="cuda:0",
        dtype="fp32",
        status="failed",
        reason="only its device pass matters here",
        device_pass=found,
    )


class Device:
    """A tracer and what it traces: the device is done 5 ns after the call that asked it."""

    name = "fake"
    facts: dict[str, str] = {"tracer": "fake 1"}  # noqa: RUF012 - never written

    def __init__(self) -> None:
        self.time = self.forwards = 0
        self.waiting = Trace([], [])
        self.events: list[str] = []

    def now_ns(self) -> int:
        self.time += 1
        return self.time

    def forward(self) -> None:
        begin = self.now_ns()
        self.forwards += 1
        self.waiting.calls.append(TracedCall(1, begin, begin + 1, "launch"))
        self.waiting.operations.append(kernel(1, begin + 2, 3))
        self.events.append("forward")

    def synchronise(self) -> None:
        self.time += 5
        self.events.append("wait")

    def take(self) -> Trace:
        self.events.append("take")
        trace, self.waiting = self.waiting, Trace([], [])
        return trace

    def stop(self) -> None:
        raise AssertionError("the one who started it stops it")


def test_forwards_are_traced_one_by_one_after_a_warm_up() -> None:
    device = Device()
    found = trace_forwards(device.forward, device.synchronise, device, forwards=4)
    assert device.forwards == 14
    assert device.events[:20] == ["forward", "wait"] * 10
    assert device.events[20:] == ["take", *["forward", "wait", "take"] * 4]
    assert len(found.operations) == len(found.calls) == 1
    assert found.busy_s == pytest.approx([3e-9] * 4)
    assert all(busy < latency for busy, latency in zip(found.busy_s, found.latency_s, strict=True))
    assert found.facts == {"tracer": "fake 1"}
