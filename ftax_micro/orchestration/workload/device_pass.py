"""What the device does in a forward: steady forwards under a tracer, place by place.

The problem: one trace of one forward has a single duration for each kernel, with the noise of one
sample, and a profiler that was switched on between the launches has its own start in it.
  wrong:  one traced forward, its kernels' times taken as they are
  right:  a tracer that was there before the device was, many forwards after the warm-up, the same
          operations required of each, and each place's duration sampled over all of them
Records are taken between forwards, when the device is idle, so each forward's are known to be its.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ftax_micro.devices.tracing import Trace, TracedCall, TracedOperation, Tracer
from ftax_micro.errors import FtaxError
from ftax_micro.records import DeviceOperation, DevicePass, HostCall

# Design §5: at least twenty.
FORWARDS = 20
_WARMUPS = 10
_NS = 1e-9


class UnsteadyError(FtaxError):
    """Forwards that do not run the same operations, or whose trace is not whole."""


@dataclass(frozen=True)
class TracedForward:
    """One forward on the tracer's clock: begin, return of the call, device done; and its trace."""

    begin_ns: int
    returned_ns: int
    end_ns: int
    trace: Trace


def trace_forwards(
    forward: Callable[[], Any],
    synchronise: Callable[[], None],
    tracer: Tracer,
    forwards: int = FORWARDS,
) -> DevicePass:
    """The device pass of `forward`, over so many forwards after ten to warm up.

    Errors: those of `device_pass`, of the tracer and of the forward.
    """
    for _ in range(_WARMUPS):
        forward()
        synchronise()
    tracer.take()
    found = []
    for _ in range(forwards):
        begin_ns = tracer.now_ns()
        output = forward()
        returned_ns = tracer.now_ns()
        synchronise()
        end_ns = tracer.now_ns()
        del output
        found.append(TracedForward(begin_ns, returned_ns, end_ns, tracer.take()))
    return device_pass(found, dict(tracer.facts))


def device_pass(forwards: Sequence[TracedForward], facts: dict[str, Any]) -> DevicePass:
    """The operations and calls of `forwards`, place by place.

    Operations stand in the order of their calls, those of one graph launch in the order of their
    start in the first forward. Errors: `UnsteadyError` where a forward ran other operations than
    the first, where there are none, and where records were dropped.
    """
    lost = sum(each.trace.dropped for each in forwards)
    if lost:
        raise UnsteadyError(f"the tracer lost {lost} records: the operations are not all there")
    laid = [_laid_out(each.trace) for each in forwards]
    first = laid[0]
    if not first.operations:
        raise UnsteadyError("no operation of the device was recorded")
    for number, other in enumerate(laid[1:], start=2):
        _check_same(first, other, number)
    return DevicePass(
        operations=_operations(forwards, laid),
        calls=_calls(forwards, laid),
        busy_s=[busy_ns(each.operations) * _NS for each in laid],
        latency_s=[(each.end_ns - each.begin_ns) * _NS for each in forwards],
        host_s=[(each.returned_ns - each.begin_ns) * _NS for each in forwards],
        other_calls=first.other_calls,
        facts=facts,
    )


def busy_ns(operations: Sequence[TracedOperation]) -> int:
    """How long at least one of `operations` ran, in nanoseconds."""
    busy, until = 0, 0
    for each in sorted(operations, key=lambda one: one.start_ns):
        busy += max(0, each.end_ns - max(each.start_ns, until))
        until = max(until, each.end_ns)
    return busy


@dataclass(frozen=True)
class _Forward:
    """A forward's calls that caused operations, its operations in order, and whose they are."""

    calls: list[TracedCall]
    operations: list[TracedOperation]
    causes: list[int | None]
    other_calls: dict[str, int]


def _laid_out(trace: Trace) -> _Forward:
    outermost: dict[int, TracedCall] = {}
    for call in trace.calls:  # the runtime's call holds the driver's, under one correlation
        known = outermost.get(call.correlation)
        if known is None or call.start_ns < known.start_ns:
            outermost[call.correlation] = call
    causing = {each.correlation for each in trace.operations}
    calls = sorted(
        (call for number, call in outermost.items() if number in causing),
        key=lambda call: call.start_ns,
    )
    index = {call.correlation: place for place, call in enumerate(calls)}
    # What has no call is put where it began, after everything that has one.
    operations = sorted(
        trace.operations,
        key=lambda each: (index.get(each.correlation, len(calls)), each.graph_node, each.start_ns),
    )
    others = Counter(call.name for number, call in outermost.items() if number not in causing)
    causes = [index.get(each.correlation) for each in operations]
    return _Forward(calls, operations, causes, dict(others))


def _check_same(first: _Forward, other: _Forward, number: int) -> None:
    if len(first.operations) != len(other.operations):
        raise UnsteadyError(
            f"forward {number} ran {len(other.operations)} operations, the first "
            f"{len(first.operations)}"
        )
    places = zip(first.operations, first.causes, other.operations, other.causes, strict=True)
    for place, (one, cause, two, its_cause) in enumerate(places):
        if (one.kind, one.name, cause) != (two.kind, two.name, its_cause):
            raise UnsteadyError(
                f"operation {place} of forward {number} was {two.name}, in the first {one.name}"
            )


def _operations(
    forwards: Sequence[TracedForward], laid: Sequence[_Forward]
) -> list[DeviceOperation]:
    return [
        DeviceOperation(
            kind=first.kind,
            name=first.name,
            call=laid[0].causes[place],
            start_s=[
                (each.operations[place].start_ns - forward.begin_ns) * _NS
                for forward, each in zip(forwards, laid, strict=True)
            ],
            duration_s=[
                (each.operations[place].end_ns - each.operations[place].start_ns) * _NS
                for each in laid
            ],
            shape=first.shape,
            stream=first.stream,
        )
        for place, first in enumerate(laid[0].operations)
    ]


def _calls(forwards: Sequence[TracedForward], laid: Sequence[_Forward]) -> list[HostCall]:
    return [
        HostCall(
            name=first.name,
            begin_s=[
                (each.calls[place].start_ns - forward.begin_ns) * _NS
                for forward, each in zip(forwards, laid, strict=True)
            ],
            duration_s=[
                (each.calls[place].end_ns - each.calls[place].start_ns) * _NS for each in laid
            ],
        )
        for place, first in enumerate(laid[0].calls)
    ]
