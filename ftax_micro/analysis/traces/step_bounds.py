"""Bounds, tax and regime of the steps of a trace, by a floor of ours or by the trace's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ftax_micro.analysis.bounding.bounds import Bounds, bounds_of
from ftax_micro.analysis.bounding.pipeline import Array
from ftax_micro.analysis.bounding.plausible import impossible_clock, impossible_latency
from ftax_micro.analysis.bounding.regime import LINE, Regime, regime
from ftax_micro.analysis.floor.values import FloorValue, FloorValues, given_value
from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.own_floor import own_floors
from ftax_micro.analysis.traces.step_notes import (
    common_notes,
    counted_notes,
    odd_notes,
    trace_notes,
    work_notes,
)
from ftax_micro.analysis.traces.step_work import StepWorks, draw_step
from ftax_micro.analysis.traces.steps import Step, Window, analyse_steps
from ftax_micro.stats import Estimate

NO_DEVICE = "the trace has no device activity"
NOTHING = "nothing was launched in it that this device did"


@dataclass(frozen=True, eq=False)
class StepBounds:
    """What explains the latency of a step on one device; `reason` says why there are no bounds.

    `streams` are those its operations ran in, `notes` what a reader has to know of it, in
    sentences, `floor` what the bounds were charged.
    """

    step: Step
    reason: str | None = None
    bounds: Bounds | None = None
    regime: Regime | None = None
    streams: int = 0
    notes: tuple[str, ...] = ()
    floor: FloorValues | None = None


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
    common = common_notes([each.notes for each in found if each.bounds])
    found = tuple(
        replace(each, notes=tuple(note for note in each.notes if note not in common))
        for each in found
    )
    notes += [*common, *trace_notes(trace, [each.step for each in found])]
    return TraceBounds(found, (*notes, *odd_notes(trace, correlation)))


def _bounded(
    step: Step, works: StepWorks, floor: FloorValues | None, reason: str | None, wrong: str | None
) -> StepBounds:
    counted = tuple(counted_notes(step))
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
        regime=invalid or step_regime(bounds, work.streams, saturation(step)),
        streams=work.streams,
        notes=(*work_notes(work, bounds, step), *counted),
        floor=charged,
    )


class Saturation(NamedTuple):
    """How much of the latency a device did anything, for this step or another, and of the step's
    launches how many found their stream busy: shares of 1.
    """

    busy: float
    queued: float


def saturation(step: Step) -> Saturation:
    """That of a step that has bounds."""
    assert step.busy is not None  # bounds need a device
    assert step.occupied is not None
    busy = (step.busy.value + step.occupied.value) / step.latency.value
    queued = float((step.queue_depths > 0).mean()) if len(step.queue_depths) else 0.0
    return Saturation(busy, queued)


def step_regime(bounds: Bounds, streams: int, found: Saturation) -> Regime | None:
    """The regime; of several streams also by what the device was seen to do.

    Their bounds take them to run side by side; whether they could have, or had to wait for each
    other as they did, no trace tells. So a device that was busy all the time leaves the regime
    open, unless nearly all launches found their stream busy: those the host did not hold up.
    """
    by_bounds = regime(bounds)
    if by_bounds is None or by_bounds.name in ("device-bound", "invalid"):
        return by_bounds
    if streams < 2 or found.busy < LINE:
        return by_bounds
    busy = f"the device was busy for {found.busy:.1%} of the latency"
    if found.queued >= LINE:
        why = f"{busy}, and {found.queued:.1%} of the launches found their stream busy"
        return Regime("device-bound", why)
    possible = tuple(dict.fromkeys(("device-bound", *(by_bounds.candidates or (by_bounds.name,)))))
    assert bounds.device is not None  # or there was no regime
    why = (
        f"{' or '.join(possible)}: {busy}, of which {bounds.device.share.value:.1%} are left if "
        "its streams never wait for each other"
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
