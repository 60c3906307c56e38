"""Bounds, tax and regime of the steps of a trace, by a floor of ours or by the trace's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ftax_micro.analysis.bounds import Bounds, bounds_of
from ftax_micro.analysis.floor_values import FloorValue, FloorValues, given_value
from ftax_micro.analysis.pipeline import Array
from ftax_micro.analysis.plausible import impossible_clock, impossible_latency
from ftax_micro.analysis.regime import LINE, Regime, regime
from ftax_micro.analysis.traces.correlation import Correlation, correlate
from ftax_micro.analysis.traces.events import SpanKind, Trace
from ftax_micro.analysis.traces.own_floor import own_floors
from ftax_micro.analysis.traces.step_work import StepWork, StepWorks, draw_step
from ftax_micro.analysis.traces.steps import Step, Window, analyse_steps
from ftax_micro.stats import Estimate
from ftax_micro.units import format_seconds

NO_DEVICE = "the trace has no device activity"
NOTHING = "nothing was launched in it that this device did"
NO_WAIT = "nobody waited in it for the device's last operation: it is charged no wait"
STREAMS = (
    "several streams: what one waits for from another is not known, so that bounds are lower ones "
    "and the tax is at most that"
)
# Of what correlating found, what no step has in its own notes.
_ODD = ("duplicate correlation ids", "operations of a duplicate correlation id")
# Names of annotations that a reader is told.
_SOME = 4
# Of the bounds' own names, what a reader calls those that may be missing.
_MISSING = {"launch": "launch bound", "graph": "graph bound", "own": "tax"}


@dataclass(frozen=True, eq=False)
class StepBounds:
    """What explains the latency of a step on one device; `reason` says why there are no bounds.

    `streams` are those its operations ran in, `notes` what a reader has to know of it, in
    sentences.
    """

    step: Step
    reason: str | None = None
    bounds: Bounds | None = None
    regime: Regime | None = None
    streams: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TraceBounds:
    """All steps of a trace on all of its devices; `notes` hold for every one of them."""

    steps: tuple[StepBounds, ...]
    notes: tuple[str, ...] = ()


def trace_bounds(
    trace: Trace, windows: Sequence[Window], floors: Mapping[int, FloorValues] | None = None
) -> TraceBounds:
    """The bounds of each window on each device, by the device's floor; None: by the trace's own.

    A device has its own bounds, of what was launched for it alone: what its host does for another
    one is in the latency and in no bound. Errors: `KeyError` for a device without a floor.
    """
    correlation = correlate(trace)
    wrong = impossible_clock(trace, correlation)
    steps = analyse_steps(trace, windows, correlation)
    if floors is None:
        own = own_floors(trace, correlation)
        values = {device: each.values for device, each in own.items()}
        reasons = {device: each.reason for device, each in own.items()}
        notes = [
            f"cuda:{device}: {note}" if len(own) > 1 else note
            for device, each in own.items()
            for note in each.notes
        ]
    else:
        values, reasons, notes = dict(floors), {}, []
    works = StepWorks(trace, correlation)
    found = tuple(
        _bounded(step, works, values[step.device], reasons.get(step.device), wrong)
        if step.device is not None
        else StepBounds(step, NO_DEVICE)
        for step in steps
    )
    common = _common(found)
    found = tuple(
        replace(each, notes=tuple(note for note in each.notes if note not in common))
        for each in found
    )
    odd = _odd(trace, correlation)
    return TraceBounds(found, (*notes, *common, *_general(trace, found), *odd))


def _bounded(
    step: Step, works: StepWorks, floor: FloorValues | None, reason: str | None, wrong: str | None
) -> StepBounds:
    counted = tuple(_counted(step))
    if floor is None:
        return StepBounds(step, reason, notes=counted)
    if not len(step.index):
        return StepBounds(step, NOTHING)
    if not step.latency.value > 0:
        return StepBounds(step, "it takes no time", notes=counted)
    work = works.of(step)
    charged = floor if work.waited else without_wait(floor)
    seconds = step.latency.value
    bounds = bounds_of(work.work, charged, step.latency, lambda: draw_step(work, seconds, charged))
    if wrong is None and not step.window.everything:
        wrong = impossible_latency(seconds)
    invalid = None if wrong is None else Regime("invalid", wrong)
    return StepBounds(
        step,
        reason=bounds.reasons.get("device"),
        bounds=bounds if bounds.device else None,
        regime=invalid or step_regime(bounds, work.streams, busy_share(step)),
        streams=work.streams,
        notes=(*_work_notes(work, bounds, step), *counted),
    )


def busy_share(step: Step) -> float:
    """How much of the latency its device did anything, for this step or another."""
    assert step.busy is not None  # whoever asks has bounds, which need a device
    assert step.occupied is not None
    return (step.busy.value + step.occupied.value) / step.latency.value


def step_regime(bounds: Bounds, streams: int, busy: float) -> Regime | None:
    """The regime, which several streams leave open where the device was busy for all of that share.

    Their bound takes them to run side by side; whether they could have, or had to wait for each
    other as they did, no trace tells.
    """
    found = regime(bounds)
    if found is None or streams < 2 or busy < LINE or found.name in ("device-bound", "invalid"):
        return found
    possible = tuple(dict.fromkeys(("device-bound", *(found.candidates or (found.name,)))))
    assert bounds.device is not None  # or there was no regime
    why = (
        f"{' or '.join(possible)}: the device was busy for {busy:.1%} of the latency, of which "
        f"{bounds.device.share.value:.1%} are left if its streams never wait for each other"
    )
    return Regime("ambiguous", why, candidates=possible)


def without_wait(floor: FloorValues) -> FloorValues:
    """The floor of what ends with the device's last operation, and not when the host knows."""
    launch, sync = floor.graph_launch, floor.sync
    if launch is None or sync is None:
        return replace(floor, sync=given_value(0.0))
    low, high = (launch.systematic[i] - sync.systematic[1 - i] for i in (0, 1))
    value = launch.estimate.value - sync.estimate.value

    def drawn(resamples: int, rng: np.random.Generator) -> Array:
        return launch.drawn(resamples, rng) - sync.drawn(resamples, rng)

    less = FloorValue(Estimate(value, None, None), (low, high), drawn)
    return replace(floor, sync=given_value(0.0), graph_launch=less)


def _work_notes(work: StepWork, bounds: Bounds, step: Step) -> list[str]:
    notes = []
    if bounds.device:
        missing: dict[str, list[str]] = {}
        for name, word in _MISSING.items():
            if name in bounds.reasons:
                missing.setdefault(bounds.reasons[name], []).append(f"no {word}")
        notes += [f"{' and '.join(words)}: {reason}" for reason, words in missing.items()]
    if not work.waited:
        notes.append(NO_WAIT)
    if work.ahead:
        notes.append(
            f"its streams had {work.ahead:,} operations of other steps to do first, for "
            f"{format_seconds(work.ahead_s)}: they are in its bounds"
        )
    if work.streams > 1:
        notes.append(STREAMS)
    graphs = step.operations.get("graph", 0)
    if graphs:
        notes.append(
            f"{graphs:,} graphs are recorded whole, not by node: each is one operation in all "
            "bounds"
        )
    if work.threads > 1:
        notes.append(f"{work.threads} threads launched its work, side by side in its bounds")
    if step.overlapping:
        notes.append(
            f"{step.overlapping:,} of {len(step.index):,} operations overlap what is before them "
            "in their stream: they wait for their calls alone in every bound"
        )
    return notes


def _counted(step: Step) -> list[str]:
    """What is odd about the step's operations and calls, and how full its queues were."""
    notes = []
    if step.without_call:
        notes.append(
            f"{step.without_call:,} of {len(step.index):,} operations have no call in the trace: "
            "they wait for what is before them alone"
        )
    if step.launches_without_operation:
        notes.append(
            f"{step.launches_without_operation:,} launches in it have no operation in the trace"
        )
    if step.negative_launch_delays:
        before = f", {step.begun_before_call:,} of them before it began: clocks disagree"
        notes.append(
            f"{step.negative_launch_delays:,} launch delays are negative, of operations that began "
            f"before their call had returned{before if step.begun_before_call else ''}"
        )
    if len(step.queue_depths):
        middle, most = np.median(step.queue_depths), step.queue_depths.max()
        notes.append(f"operations queued when a launch began: median {middle:g}, most {most:,}")
    return notes


def _common(found: Sequence[StepBounds]) -> list[str]:
    """Notes that every step with bounds has, where there are several."""
    bounded = [each.notes for each in found if each.bounds]
    if len(bounded) < 2:
        return []
    return [note for note in bounded[0] if all(note in each for each in bounded[1:])]


def _general(trace: Trace, found: Sequence[StepBounds]) -> list[str]:
    """What holds for the whole trace."""
    notes = []
    if any(each.step.window.everything for each in found):
        user = trace.spans.name[trace.spans.kind == SpanKind.ANNOTATION]
        names = [repr(trace.names[each]) for each in dict.fromkeys(user.tolist())]
        some = f", which are {', '.join(names[:_SOME])}" if names else ""
        more = f" and {len(names) - _SOME} more" if len(names) > _SOME else ""
        notes.append(
            "the whole trace was taken for one step, with what comes before and after the model: "
            f"--annotation cuts it at the annotations of a name{some}{more}"
        )
    devices = trace.device_ids
    if len(devices) > 1 and any(each.bounds for each in found):
        notes.append(
            f"{len(devices)} devices: each has bounds of its own work; what the host does for "
            "another one is in the latency and launches nothing of it"
        )
    if trace.tick_ns > 1 and found:
        notes.append(
            f"times of the trace are whole steps of {format_seconds(trace.tick_ns * 1e-9)}: "
            "intervals have one of these either way"
        )
    return notes


def _odd(trace: Trace, correlation: Correlation) -> list[str]:
    """What of the file is in no figure, or not as it should be."""
    counts = {
        **trace.findings,
        **{f"of category {name!r}": number for name, number in trace.not_understood.items()},
        **{name: correlation.findings[name] for name in _ODD if name in correlation.findings},
    }
    told = ", ".join(f"{name}: {number:,}" for name, number in counts.items())
    return [f"events left out, or odd: {told}"] if told else []
