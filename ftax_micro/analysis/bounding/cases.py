"""From a recorded case to its bounds, tax and regime, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from ftax_micro import stats
from ftax_micro.analysis.bounding.bounds import Bounds, cpu_bounds, cuda_bounds
from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.pipeline import (
    NO_CALL,
    Array,
    CallKind,
    Calls,
    Integers,
    Operations,
)
from ftax_micro.analysis.bounding.plausible import impossible_latency
from ftax_micro.analysis.bounding.regime import Regime, RooflineUse, regime, roofline_use
from ftax_micro.analysis.bounding.what_if import Change, Forward, Prediction
from ftax_micro.analysis.core_speed import speed_ratio
from ftax_micro.analysis.estimates import twin_time, twins_of, workload
from ftax_micro.analysis.floor.values import FloorValues, floor_values
from ftax_micro.analysis.streams import overlapping
from ftax_micro.records import Case, DevicePass, Roofline
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

# Cores are as fast beside a case as beside its twin where the ratio is within this.
_EVEN = 1.1
_KINDS = {"kernel": CallKind.LAUNCH, "copy": CallKind.COPY, "set": CallKind.SET}
NO_STREAM = -1
# In the name of every call that replays: cuGraphLaunch, cudaGraphLaunch_ptsz, hipGraphLaunch.
_REPLAY = "GraphLaunch"
TRACED_PACE = "the host's times are those under the tracer, since it waits inside the forward"


@dataclass(frozen=True)
class CaseBounds:
    """What explains a case's latency; seconds. `reason` says why there are no bounds.

    `launches` counts the host calls that gave the device something to do, `operations` what it did,
    `busy` the time it had something to do, under the tracer; `idle` is latency less busy.
    `forward` makes what can be asked about changes, anew each time since it is large (None: the
    pipeline model cannot tell), `predicted` is what that makes of the case as it is. `traced_ratio`
    is the latency under the tracer over that without. `notes` are what a reader has to know, in
    sentences.
    """

    case: Case
    reason: str | None = None
    bounds: Bounds | None = None
    regime: Regime | None = None
    use: RooflineUse | None = None
    launches: int | None = None
    operations: int | None = None
    busy: Estimate | None = None
    idle: Estimate | None = None
    traced_ratio: float | None = None
    notes: tuple[str, ...] = ()
    forward: Callable[[], Forward] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def predicted(self) -> Prediction | None:
        """Computed when it is asked for: it takes half as long as all bounds together."""
        return None if self.forward is None else self.forward().after(Change())

    @property
    def prediction_error(self) -> float | None:
        """How far `predicted` is from the latency, relative."""
        return None if self.predicted is None else self.error_of(self.predicted)

    def error_of(self, prediction: Prediction) -> float | None:
        """How far what the model makes of the case is from its latency, relative."""
        if self.bounds is None:
            return None
        return prediction.model.value / self.bounds.latency.value - 1


def result_bounds(result: Result, floor: Result | None = None) -> list[CaseBounds]:
    """One for every case of `result` that is no twin, by the floor rows of `floor`, or its own."""
    rows = result if floor is None else floor
    floors = {each: floor_values(rows, each) for each in {case.device for case in result.cases}}
    twins = {workload(case): case for case in result.cases if case.twin}  # absent ones say why
    twins |= twins_of(result.cases)
    return [
        case_bounds(
            case,
            floors[case.device],
            twins.get(workload(case)),
            result.rooflines,
            result.plan.confidence,
        )
        for case in result.cases
        if not case.twin
    ]


def case_bounds(
    case: Case,
    floor: FloorValues,
    twin: Case | None = None,
    rooflines: Sequence[Roofline] = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> CaseBounds:
    """The bounds of one case: on cuda from its device pass, on the cpu from its zero-work twin."""
    if case.status != "ok" or case.latency is None:
        return CaseBounds(case, case.reason or "it has no latency")
    if min(case.latency.samples) <= 0:
        return CaseBounds(case, "its latency is not positive")
    if case.device == "cpu":
        found = _inline(case, floor, twin, rooflines, confidence, seed)
    elif case.device_pass is not None:
        found = _on_device(case, case.device_pass, floor, rooflines, confidence, seed)
    else:
        why = case.reasons.get("device_pass", "the device was not traced")
        found = CaseBounds(case, why)
    wrong = impossible_latency(float(np.median(case.latency.samples)), case.macs)
    if wrong is None:
        return found
    if found.bounds is None:
        return replace(found, reason=f"{wrong}; {found.reason}")
    return replace(found, regime=Regime("invalid", wrong))


def device_work(found: DevicePass, host_s: float | None = None) -> DeviceWork:
    """The work of a device pass, its operations in the order of their starts.

    Calls begin after the same share of the host's time as under the tracer, `host_s` in all; None:
    when they began under the tracer. Where the tracer did not tell streams apart, all are one, in
    which what runs side by side is not chained.
    """
    durations = _places([each.duration_s for each in found.operations], found)
    starts = _places([each.start_s for each in found.operations], found)
    order = run_order(found)
    told = [NO_STREAM if each.stream is None else each.stream for each in found.operations]
    stream = np.array(told, dtype=np.int64)[order]
    call = np.array([NO_CALL if o.call is None else o.call for o in found.operations], dtype=int)
    kind = np.array([_KINDS[each.kind] for each in found.operations], dtype=int)
    begins = _places([each.begin_s for each in found.calls], found)
    if host_s is not None:
        begins = begins / np.array(found.host_s)[:, np.newaxis] * host_s
    durations = durations[:, order]
    operations = Operations(
        duration_s=np.median(durations, axis=0),
        call=call[order],
        stream=stream,
        chained=~overlapping(stream, starts[:, order], durations),
    )
    calls = Calls(_call_kinds(found), np.zeros(len(found.calls), dtype=np.int64))
    return DeviceWork(operations, calls, kind[order], durations, begins)


def run_order(found: DevicePass) -> Integers:
    """The operations of a device pass in the order of their starts."""
    starts = _places([each.start_s for each in found.operations], found)
    return np.argsort(np.median(starts, axis=0), kind="stable")


def _places(series: Sequence[Sequence[float]], found: DevicePass) -> Array:
    """(forwards, places) of one list of forwards for each place."""
    if not series:
        return np.zeros((len(found.latency_s), 0))
    return np.ascontiguousarray(np.array(series, dtype=float).T)


def _call_kinds(found: DevicePass) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    kinds = np.full(len(found.calls), int(CallKind.LAUNCH), dtype=np.int64)
    for each in reversed(found.operations):  # a call's first operation has the last word
        if each.call is not None:
            kinds[each.call] = _KINDS[each.kind]
    for place, call in enumerate(found.calls):
        if _REPLAY in call.name:
            kinds[place] = CallKind.GRAPH
    return kinds


def _inline(
    case: Case,
    floor: FloorValues,
    twin: Case | None,
    rooflines: Sequence[Roofline],
    confidence: float,
    seed: int,
) -> CaseBounds:
    assert case.latency is not None  # whoever calls has looked
    timed = twin_time(case, twin, confidence)
    if timed.seconds is None or twin is None or twin.latency is None:
        return CaseBounds(case, timed.reason or "its zero-work twin has no latency")
    executed = sum(case.executed.values())
    bounds = cpu_bounds(
        case.latency.samples, twin.latency.samples, executed, floor, confidence, seed
    )
    worked = bounds.device.seconds if bounds.device else None
    use = roofline_use(case, rooflines, None if worked is None else worked.value)
    return CaseBounds(
        case,
        bounds=bounds,
        regime=regime(bounds, use),
        use=use,
        operations=executed,
        busy=worked,
        idle=bounds.device.above if bounds.device else None,
        notes=(*bounds.assumed, *_uneven(case, twin)),
    )


def _uneven(case: Case, twin: Case) -> list[str]:
    """What a reader has to know where a case and its twin met machines of another speed."""
    ratio = speed_ratio(case, twin)
    if ratio is None or 1 / _EVEN <= ratio <= _EVEN:
        return []
    faster, times = ("faster", ratio) if ratio > 1 else ("slower", 1 / ratio)
    return [
        f"cores were {times:.2g} times {faster} beside its zero-work twin than beside itself: "
        "bounds and tax hold that difference too"
    ]


def _on_device(
    case: Case,
    found: DevicePass,
    floor: FloorValues,
    rooflines: Sequence[Roofline],
    confidence: float,
    seed: int,
) -> CaseBounds:
    assert case.latency is not None  # whoever calls has looked
    host = case.host.samples if case.host is not None else []
    work = device_work(found, float(np.median(host)) if host else None)
    latency = case.latency.samples
    bounds = cuda_bounds(work, latency, floor, confidence, seed)
    busy = stats.median_interval(found.busy_s, confidence)
    use = roofline_use(case, rooflines, busy.value)
    why = bounds.reasons.get("device" if not work.replays else "own")
    forward = partial(Forward, work, latency, floor, host, confidence, seed)
    middle = bounds.latency.value
    return CaseBounds(
        case,
        reason=bounds.reasons.get("device"),
        bounds=bounds if bounds.device else None,
        regime=regime(bounds, use),
        use=use,
        launches=len(found.calls),
        operations=len(found.operations),
        busy=busy,
        idle=stats.difference(bounds.latency, busy),
        forward=forward if why is None else None,
        traced_ratio=float(np.median(found.latency_s)) / middle,
        notes=(*bounds.assumed, *_notes(bounds, work, hosted=bool(host))),
    )


def _notes(bounds: Bounds, work: DeviceWork, *, hosted: bool) -> list[str]:
    notes = []
    if bounds.unchained:
        notes.append(
            f"{bounds.unchained} of {work.operations.count} operations overlap what is before "
            "them: they wait for their calls alone in every bound"
        )
    orphans = int(np.count_nonzero(work.operations.call == NO_CALL))
    if orphans:
        notes.append(
            f"{orphans} of {work.operations.count} operations have no call in the trace: they wait "
            "for what is before them alone"
        )
    if not hosted:
        notes.append(TRACED_PACE)
    return notes
