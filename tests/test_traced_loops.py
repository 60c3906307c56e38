"""What is read off a tracer's records, and when they are taken."""

from __future__ import annotations

import math

import pytest

from ftax_micro.devices.cuda import traced_loops
from ftax_micro.devices.cuda.loops import Loops
from ftax_micro.devices.cuda.traced_loops import TracedLoops, begins_to_begins, durations
from ftax_micro.devices.tracing import Trace, TracedCall, TracedOperation

LAUNCH = TracedCall(1, 1_000, 2_000)


def kernel(correlation: int, start_ns: int, end_ns: int = 0, name: str = "k") -> TracedOperation:
    return TracedOperation(correlation, name, start_ns, end_ns or start_ns + 500)


def test_calls_and_kernels_belong_together_by_their_correlation() -> None:
    calls = [TracedCall(2, 5_000, 6_000), LAUNCH, TracedCall(9, 0, 10)]
    trace = Trace(calls, [kernel(2, 9_500), kernel(1, 4_000)])
    assert begins_to_begins(trace, "k", 2) == pytest.approx([3e-6, 4.5e-6])


def test_the_outermost_call_counts() -> None:
    trace = Trace([LAUNCH, TracedCall(1, 700, 2_100), TracedCall(1, 900, 1)], [kernel(1, 1_700)])
    assert begins_to_begins(trace, "k", 1) == pytest.approx([1e-6])


def test_a_kernel_that_began_before_its_call_is_kept() -> None:
    assert begins_to_begins(Trace([LAUNCH], [kernel(1, 800)]), "k", 1) == pytest.approx([-2e-7])


@pytest.mark.parametrize(
    "trace",
    [
        Trace([LAUNCH], []),
        Trace([], [kernel(1, 4_000)]),
        Trace([LAUNCH], [kernel(2, 4_000)]),
        Trace([LAUNCH], [kernel(1, 4_000, name="another")]),
    ],
)
def test_a_launch_without_its_kernel_or_call_is_censored(trace: Trace) -> None:
    (value,) = begins_to_begins(trace, "k", 1)
    assert math.isnan(value)


def test_durations_are_those_of_the_kernels_of_that_name() -> None:
    kernels = [kernel(1, 10, 2_010), kernel(2, 10, 99, "another"), kernel(3, 3_000, 3_700)]
    found = durations(Trace([], kernels), "k", 3)
    assert found[:2] == pytest.approx([2e-6, 0.7e-6])
    assert math.isnan(found[2])


class Lossy:
    """A tracer that drops a record each time; counts how often it is asked."""

    name = "lossy"
    facts = {"tracer": "lossy 1"}  # noqa: RUF012 - the protocol's

    def __init__(self) -> None:
        self.taken = 0

    def take(self) -> Trace:
        self.taken += 1
        return Trace([], [], 1)

    def now_ns(self) -> int:
        return 0

    def stop(self) -> None: ...


def test_records_are_let_go_between_bursts_before_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Loops, "submit", lambda *_: 1.0)
    monkeypatch.setattr(Loops, "launch_sync", lambda *_: [2.0])
    monkeypatch.setattr(Loops, "to_start", lambda *_: [3.0])
    monkeypatch.setattr(traced_loops, "_RELIEVE_AFTER", 10)
    tracer = Lossy()
    loops = TracedLoops(0, tracer)
    assert loops.submit({}, 4) == 1.0
    assert loops.launch_sync({}, 4) == [2.0]
    assert (tracer.taken, loops.dropped) == (0, 0)
    assert loops.to_start({}, 2) == [3.0]
    assert (tracer.taken, loops.dropped) == (1, 1)
    loops.submit({}, 9)
    assert (tracer.taken, loops.dropped) == (1, 1)
    loops.begin()
    assert (tracer.taken, loops.dropped) == (2, 0)
    loops.submit({}, 9)
    assert tracer.taken == 2
