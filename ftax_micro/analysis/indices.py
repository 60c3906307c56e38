"""Indices that other tools give for the same question, computed as they define them.

They are theirs, not ours: each lies under a name of its own with its source, so that figures can be
set beside published ones. None of them is a bound or a tax of this package.

* TKLQT, total kernel launch and queuing time (SKIP: Vellaisamy et al., arXiv 2504.11750, ISPASS
  2025, its section on metrics): over all kernels, the sum of kernel start less the begin of the
  call that launched it. With it come AKD, the mean duration of a kernel, and GPU idle time, the
  inference latency less the sum of kernel durations.
* HDBI, host-device balance index (TaxBreak: Vellaisamy et al., arXiv 2603.12465, ISPASS 2026, Eq. 6
  as its authors' tool writes it): T_DeviceActive / (T_DeviceActive + T_Orchestration), the first
  the sum of kernel durations, the second the sum over kernels of framework translation, of library
  translation where a library is between, and of the launch path, which is the null kernel's launch
  (begin of the call to begin of the kernel) times the number of kernels. Their translation times
  come from replaying each kernel alone; ours (`translation_time`) from the forward itself.
* Idle-time breakdown (Holistic Trace Analysis, facebookresearch/HolisticTraceAnalysis,
  hta/analyzers/breakdown_analysis.py, `get_idle_time_breakdown`): per stream, the time from one
  operation's end to the next one's start is *host wait* where the next one's call began after that
  end; else *kernel wait* where it is shorter than a threshold, 30 ns unless set; else *other wait*.

Where one of them does something odd, it is done here too and said so at the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftax_micro import stats
from ftax_micro.records import DevicePass
from ftax_micro.stats import Estimate

Array = NDArray[np.float64]

# HTA's `consecutive_kernel_delay`.
HTA_DELAY_S = 30e-9
# HDBI at and above which TaxBreak's tool calls a workload balanced, and device-bound.
HDBI_BALANCED, HDBI_DEVICE_BOUND = 0.2, 0.5


@dataclass(frozen=True)
class Launched:
    """n operations of a device, in any order; all times in seconds on one clock, each (n,).

    The clock's origin must be near: a float of seconds since 1970 has no nanoseconds.

    `launch_begin_s` and `launch_end_s` are those of the host's call, NaN where the trace has none.
    `stream` tells the streams apart (default: one), `kernel` is False for copies and sets (default:
    all are kernels).
    """

    launch_begin_s: Array
    launch_end_s: Array
    start_s: Array
    end_s: Array
    stream: NDArray[np.int64]
    kernel: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        launch_begin_s: ArrayLike,
        launch_end_s: ArrayLike,
        start_s: ArrayLike,
        end_s: ArrayLike,
        stream: ArrayLike | None = None,
        kernel: ArrayLike | None = None,
    ) -> Launched:
        """From anything like arrays. Errors: `ValueError` where their lengths differ."""
        times = [
            np.asarray(each, dtype=float) for each in (launch_begin_s, launch_end_s, start_s, end_s)
        ]
        n = times[0].size
        streams = np.asarray(np.zeros(n) if stream is None else stream, dtype=np.int64)
        kernels = np.asarray(np.ones(n) if kernel is None else kernel, dtype=np.bool_)
        if any(each.shape != (n,) for each in (*times, streams, kernels)):
            raise ValueError("launches, starts and ends must be as many")
        return cls(times[0], times[1], times[2], times[3], streams, kernels)


@dataclass(frozen=True)
class Tklqt:
    """SKIP's TKLQT in seconds over `kernels` kernels.

    `without_launch` kernels have no launch record and are not in it. `negative` ones start before
    their call began: clocks that disagree; they are in it as they are.
    """

    total_s: float
    kernels: int
    without_launch: int
    negative: int


@dataclass(frozen=True)
class IdleBreakdown:
    """HTA's idle time by category, in seconds, over the given streams together."""

    host_wait_s: float
    kernel_wait_s: float
    other_wait_s: float

    @property
    def idle_s(self) -> float:
        """All of it."""
        return self.host_wait_s + self.kernel_wait_s + self.other_wait_s


@dataclass(frozen=True)
class Indices:
    """The indices of a recorded device pass: medians over its forwards, with intervals.

    Seconds, but for `hdbi`. `reasons` says why one has no value, by its name. `negative_launches`
    and `without_launch` are of the first forward.
    """

    tklqt: Estimate | None = None
    average_kernel: Estimate | None = None
    gpu_idle: Estimate | None = None
    hdbi: Estimate | None = None
    host_wait: Estimate | None = None
    kernel_wait: Estimate | None = None
    other_wait: Estimate | None = None
    negative_launches: int = 0
    without_launch: int = 0
    reasons: tuple[tuple[str, str], ...] = ()


def tklqt(launched: Launched) -> Tklqt:
    """SKIP's total kernel launch and queuing time: Σ (kernel start − begin of its launch call).

    All nodes of one graph launch count from its one begin, so that a graph has a large TKLQT.
    """
    delays = (launched.start_s - launched.launch_begin_s)[launched.kernel]
    known = delays[~np.isnan(delays)]
    return Tklqt(float(known.sum()), known.size, delays.size - known.size, int(np.sum(known < 0)))


def average_kernel_duration(launched: Launched) -> float | None:
    """SKIP's AKD, in seconds; None without kernels."""
    durations = (launched.end_s - launched.start_s)[launched.kernel]
    return float(durations.mean()) if durations.size else None


def gpu_idle_time(launched: Launched, latency_s: float) -> float:
    """SKIP's GPU idle time: latency less the sum of kernel durations.

    Kernels that run side by side count twice, so that it can be negative.
    """
    return latency_s - float((launched.end_s - launched.start_s)[launched.kernel].sum())


def hdbi(device_active_s: float, orchestration_s: float) -> float | None:
    """TaxBreak's index, 0 (host-bound) to 1 (device-bound); None where both times are 0."""
    total = device_active_s + orchestration_s
    return device_active_s / total if total > 0 else None


def hdbi_word(value: float) -> str:
    """TaxBreak's word for an HDBI: ``device-bound``, ``balanced`` or ``host-bound``."""
    if value >= HDBI_DEVICE_BOUND:
        return "device-bound"
    return "balanced" if value >= HDBI_BALANCED else "host-bound"


def translation_time(launched: Launched, begin_s: float = 0.0) -> float:
    """Time of the host from the forward's begin to its last launch that is in no launch call.

    Stands for TaxBreak's framework and library translation, which it takes from replays: Python,
    the dispatcher and libraries are in it, and whatever else the host does between launches.
    """
    calls = np.stack([launched.launch_begin_s, launched.launch_end_s], axis=1)
    calls = np.unique(calls[~np.isnan(calls).any(axis=1)], axis=0)
    if not calls.size:
        return 0.0
    # Calls of several threads overlap: what one of them covers is covered.
    reached = np.maximum.accumulate(np.concatenate([[begin_s], calls[:-1, 1]]))
    return float(np.maximum(0.0, calls[:, 0] - reached).sum())


def hdbi_of(launched: Launched, null_launch_s: float, begin_s: float = 0.0) -> float | None:
    """TaxBreak's index of a forward: T_Orchestration = translation time + kernels × null launch.

    `null_launch_s` is the null kernel's time from the begin of its call to its own
    (`begin_to_begin`, under a tracer as in their work). None without kernels.
    """
    active = float((launched.end_s - launched.start_s)[launched.kernel].sum())
    kernels = int(launched.kernel.sum())
    orchestration = translation_time(launched, begin_s) + kernels * null_launch_s
    return hdbi(active, orchestration) if kernels else None


def idle_breakdown(launched: Launched, delay_s: float = HTA_DELAY_S) -> dict[int, IdleBreakdown]:
    """HTA's idle-time breakdown of each stream.

    As there: operations stand in the order of their starts, and the time between two counts
    negative where they overlap; copies and sets count like kernels; an operation without a launch
    record is never host wait; what lies before the first operation is not idle.
    """
    return {
        int(stream): _of_stream(launched, launched.stream == stream, delay_s)
        for stream in np.unique(launched.stream)
    }


def _of_stream(launched: Launched, own: NDArray[np.bool_], delay_s: float) -> IdleBreakdown:
    order = np.argsort(launched.start_s[own], kind="stable")
    begin, start, end = (
        each[own][order] for each in (launched.launch_begin_s, launched.start_s, launched.end_s)
    )
    idle = start[1:] - end[:-1]
    host = begin[1:] > end[:-1]
    kernel = ~host & (idle < delay_s)
    return IdleBreakdown(
        float(idle[host].sum()), float(idle[kernel].sum()), float(idle[~host & ~kernel].sum())
    )


def idle_waits(launched: Launched) -> IdleBreakdown:
    """HTA's idle-time breakdown of all streams together."""
    each = idle_breakdown(launched).values()
    return IdleBreakdown(
        sum(stream.host_wait_s for stream in each),
        sum(stream.kernel_wait_s for stream in each),
        sum(stream.other_wait_s for stream in each),
    )


def indices_of(
    device_pass: DevicePass, null_launch_s: float | None = None, confidence: float = 0.95
) -> Indices:
    """The indices of a recorded pass, forward by forward, under the tracer that recorded it.

    Where the record does not tell streams apart, they count as one. HDBI needs `null_launch_s` and
    one call for each kernel.
    """
    forwards = [_forward(device_pass, i) for i in range(len(device_pass.latency_s))]
    if not forwards or not device_pass.operations:
        return Indices(reasons=(("indices", "no operation was recorded"),))
    waits = [idle_waits(each) for each in forwards]
    first = tklqt(forwards[0])

    def estimate(values: list[float | None]) -> Estimate | None:
        known = [value for value in values if value is not None]
        return stats.median_interval(known, confidence) if known else None

    kernels = [each for each in device_pass.operations if each.kind == "kernel"]
    why = why_no_hdbi([each.call for each in kernels], null_launch_s)
    pairs = zip(forwards, device_pass.latency_s, strict=True)
    return Indices(
        tklqt=estimate([tklqt(each).total_s if first.kernels else None for each in forwards]),
        average_kernel=estimate([average_kernel_duration(each) for each in forwards]),
        gpu_idle=estimate([gpu_idle_time(each, latency_s) for each, latency_s in pairs]),
        hdbi=None if why else estimate([hdbi_of(each, null_launch_s or 0.0) for each in forwards]),
        host_wait=estimate([each.host_wait_s for each in waits]),
        kernel_wait=estimate([each.kernel_wait_s for each in waits]),
        other_wait=estimate([each.other_wait_s for each in waits]),
        negative_launches=first.negative,
        without_launch=first.without_launch,
        reasons=(("hdbi", why),) if why else (),
    )


def why_no_hdbi(calls: Sequence[int | None], null_launch_s: float | None) -> str | None:
    """Why kernels of such calls (None: no launch record) have no HDBI; None where they have."""
    if null_launch_s is None:
        return "it needs the null kernel's launch, which was not measured"
    if not calls:
        return "there are no kernels"
    if None in calls:
        return "some kernels have no launch record"
    if len(set(calls)) < len(calls):
        return "it is defined for one launch per kernel, and here one call launches several"
    return None


def _forward(device_pass: DevicePass, i: int) -> Launched:
    def of_call(index: int | None, value: Callable[[int], float]) -> float:
        return float("nan") if index is None else value(index)

    calls, operations = device_pass.calls, device_pass.operations
    return Launched.of(
        [of_call(o.call, lambda c: calls[c].begin_s[i]) for o in operations],
        [
            of_call(o.call, lambda c: calls[c].begin_s[i] + calls[c].duration_s[i])
            for o in operations
        ],
        [o.start_s[i] for o in operations],
        [o.start_s[i] + o.duration_s[i] for o in operations],
        stream=[0 if o.stream is None else o.stream for o in operations],
        kernel=[o.kind == "kernel" for o in operations],
    )
