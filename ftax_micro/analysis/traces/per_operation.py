"""What each op of a framework costs: host time, launches, device time, and its part of the tax.

Every moment of a host thread belongs to the op it was in, the innermost one (`nesting`); so do the
launches made in it and what they had the device do. What belongs to no op has rows of its own, so
that every column adds up to the figures of the steps (`steps`), to the nanosecond.

Share of the tax. While a device is idle because what comes next was not launched or is being
launched (`timeline`), the latency grows with whatever the thread does that ends up launching it.
That is *exposed* host time. With D the moments in which a device waits so, θ(t) the thread whose
call ends the wait and op(θ, t) what θ is in at t:

    exposed(o) = ∫_D [op(θ(t), t) = o] dt        Σ_o exposed(o) = |D|        share = exposed / |D|

So not the op that launches at last has all of the wait, but each one the time it took of it; host
time that hides behind the device's work has no part. |D| is no tax yet: a host that does nothing
but launch has some of it as well, which the launch-limited bound takes off. The share says how much
of what could be gained is spent in which op.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftax_micro.analysis.traces.correlation import Correlation, correlate
from ftax_micro.analysis.traces.events import NS, SpanKind, Trace
from ftax_micro.analysis.traces.operation_sums import HostParts, OperationSums
from ftax_micro.analysis.traces.steps import Step

OUTSIDE = "outside any op"
UNRECORDED = "nothing recorded"
WITHOUT_CALL = "without a call"
# In the order of the last rows of `OperationSums`.
_APART = (OUTSIDE, UNRECORDED, WITHOUT_CALL)


@dataclass(frozen=True)
class OperationRow:
    """The sums of one op over all steps, on one device; times in seconds.

    `op` is its name. What is in no op has `apart` instead: `OUTSIDE` for Python frames, launches
    and annotations, each of these with a row and its name as `annotation`, unless there are very
    many; `UNRECORDED` where a device waited for a thread in nothing at all; `WITHOUT_CALL` for
    device operations whose host call is not in the trace. `calls` counts the times it began,
    `launches` the calls in it that gave the device something to do, `operations` what that did.
    Host time in the steps, of all threads: `dispatch_s` its own code, less ops and calls in it;
    `python_s` Python frames (`host_time`); `launch_s` in calls that launch, `other_call_s` in other
    calls, `blocked_s` in calls that wait for the device.

    `delay_s` is the median time from a launch call's end to its first operation's start (None: no
    launch), `negative_delays` how many are below 0. `device_s` sums the durations of its
    operations, which may run side by side; `library_s` those of kernels of `libraries`.
    `exposed_s`: see the module's head.
    """

    device: int | None
    op: str | None
    apart: str | None
    annotation: str | None
    calls: int
    launches: int
    operations: int
    dispatch_s: float
    python_s: float
    launch_s: float
    other_call_s: float
    blocked_s: float
    delay_s: float | None
    negative_delays: int
    device_s: float
    kernel_s: float
    library_s: float
    libraries: tuple[str, ...]
    exposed_s: float

    @property
    def host_s(self) -> float:
        """All its host time but waits for the device."""
        return self.dispatch_s + self.python_s + self.launch_s + self.other_call_s

    @property
    def library_share(self) -> float | None:
        """The part of its kernels' time that is of libraries; None without kernels."""
        return self.library_s / self.kernel_s if self.kernel_s > 0 else None


@dataclass(frozen=True)
class OperationTable:
    """All rows of some steps, the largest share of the tax first.

    `exposed_s` and `latency_s` are sums over the steps of a device; `python` says whether the trace
    has Python frames, `crossing` counts spans that outlast the one they began in.
    """

    rows: tuple[OperationRow, ...]
    steps: int
    exposed_s: float
    latency_s: float
    python: bool
    crossing: int


def per_operation(
    trace: Trace, steps: Sequence[Step], correlation: Correlation | None = None
) -> OperationTable:
    """The table of some steps of a trace, as `analyse_steps` found them on all devices.

    An event in two steps that overlap counts twice, as it does in their figures. Host time has no
    device: where there are several, it counts for the one that its thread launched to next. Linear
    in events, sorting aside.
    """
    sums = OperationSums(trace, steps, correlation or correlate(trace))
    rows = [_row(sums, place) for place in sums.used()]
    return OperationTable(
        rows=tuple(sorted(rows, key=lambda row: (-row.exposed_s, -row.host_s))),
        steps=len(sums.windows),
        exposed_s=sum(row.exposed_s for row in rows),
        latency_s=sum(each.latency.value for each in steps),
        python=bool((trace.spans.kind == SpanKind.PYTHON).any()),
        crossing=sums.nesting.crossing,
    )


def _row(sums: OperationSums, place: int) -> OperationRow:
    device, number = divmod(place, sums.rows)
    name = sums.names[number] if number < len(sums.names) else None
    apart = OUTSIDE if name is not None else _APART[number - len(sums.names)]
    is_op = number < sums.ops

    def seconds(values: HostParts, part: int | None = None) -> float:
        return int(values[place] if part is None else values[part, place]) * NS

    delay_ns = sums.delay_ns.get(place)
    parts = (seconds(sums.host_ns, part) for part in range(len(sums.host_ns)))
    dispatch_s, python_s, launch_s, other_call_s, blocked_s = parts
    return OperationRow(
        device=sums.devices[device],
        op=name if is_op else None,
        apart=None if is_op else apart,
        annotation=None if is_op else name,
        calls=int(sums.calls[place]),
        launches=int(sums.launches[place]),
        operations=int(sums.operations[place]),
        dispatch_s=dispatch_s,
        python_s=python_s,
        launch_s=launch_s,
        other_call_s=other_call_s,
        blocked_s=blocked_s,
        delay_s=None if delay_ns is None else delay_ns * NS,
        negative_delays=int(sums.negative_delays[place]),
        device_s=seconds(sums.device_ns),
        kernel_s=seconds(sums.kernel_ns),
        library_s=seconds(sums.library_ns),
        libraries=tuple(sorted(sums.libraries.get(place, ()))),
        exposed_s=seconds(sums.exposed_ns),
    )
