"""The loops of a device under a tracer, and what the tracer's records say about its launches.

A tracer asks Python for buffers and hands them back full, at moments of its own. So that this does
not fall into a timed burst, its buffers hold far more launches than a burst has, and records are
taken between bursts: rarely where nobody reads them, since the launch after it pays for a fresh
buffer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ftax_micro.devices.cuda.loops import Loops
from ftax_micro.devices.tracing import Trace, Tracer
from ftax_micro.records import FactValue, Setting

# A launch leaves a record of the call and one of the kernel, some 300 bytes together: so many are
# far below a buffer of some MB, and above what one burst launches.
_RELIEVE_AFTER = 4_096


class TracedLoops(Loops):
    """`Loops` that a tracer watches; `dropped` counts the records lost since `begin`."""

    def __init__(self, ordinal: int, tracer: Tracer) -> None:
        super().__init__(ordinal)
        self._tracer = tracer
        self._launched = 0
        self.dropped = 0

    @property
    def facts(self) -> Mapping[str, FactValue]:
        """The tracer's, for the rows measured under it."""
        return self._tracer.facts

    def begin(self) -> None:
        """Forget what was recorded so far: a row begins."""
        self.take()
        self.dropped = 0

    def take(self) -> Trace:
        """What was recorded since the last call; the stream must be drained."""
        self._launched = 0
        trace = self._tracer.take()
        self.dropped += trace.dropped
        return trace

    def submit(self, setting: Setting, burst: int) -> float:
        """As of `Loops`, and records are let go where many have come together."""
        seconds = super().submit(setting, burst)
        self._relieve(burst)
        return seconds

    def launch_sync(self, setting: Setting, shots: int) -> list[float]:
        """As of `Loops`, and records are let go where many have come together."""
        seconds = super().launch_sync(setting, shots)
        self._relieve(shots)
        return seconds

    def to_start(self, setting: Setting, shots: int) -> list[float]:
        """As of `Loops`, and records are let go where many have come together."""
        seconds = super().to_start(setting, shots)
        self._relieve(shots)
        return seconds

    def _relieve(self, launches: int) -> None:
        self._launched += launches
        if self._launched >= _RELIEVE_AFTER:
            self.take()


def durations(trace: Trace, kernel: str, expected: int) -> list[float]:
    """Seconds from begin to end of every kernel of that name; NaN for those `expected` that are not
    in the trace.
    """
    found = [
        (each.end_ns - each.start_ns) * 1e-9 for each in trace.operations if each.name == kernel
    ]
    return [*found, *[math.nan] * (expected - len(found))]


def begins_to_begins(trace: Trace, kernel: str, expected: int) -> list[float]:
    """Seconds from the begin of the outermost launch call to the begin of the kernel, in the order
    of the calls, for every kernel of that name.

    Calls and kernels belong together by their correlation. A kernel that began before its call, by
    clocks that do not agree, has a negative value. NaN, at the end, for each of the `expected`
    launches without a kernel or without a call in the trace.
    """
    begins: dict[int, int] = {}
    for call in trace.calls:
        known = begins.get(call.correlation, call.start_ns)
        begins[call.correlation] = min(known, call.start_ns)
    matched = sorted(
        (begins[each.correlation], each.start_ns)
        for each in trace.operations
        if each.name == kernel and each.correlation in begins
    )
    found = [(start - begin) * 1e-9 for begin, start in matched]
    return [*found, *[math.nan] * (expected - len(found))]
