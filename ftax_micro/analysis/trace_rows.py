"""Rows of a bound analysis from the steps of a trace, and what holds for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ftax_micro.analysis.bounding.bounds import Bounds
from ftax_micro.analysis.bounding.regime import Regime
from ftax_micro.analysis.bounding.rows import BoundRow, untaxed
from ftax_micro.analysis.machine import machine_name
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.machine_floor import machine_floors
from ftax_micro.analysis.traces.many_steps import ManySteps, many_steps, middle
from ftax_micro.analysis.traces.step_bounds import StepBounds, trace_bounds
from ftax_micro.analysis.traces.steps import Window
from ftax_micro.results import Result

_MODE = "trace"
_OVER_STEPS = (
    "values are medians over {count} steps, and intervals tell how far these differ; the intervals "
    "of single steps have the trace's clock and the floor alone"
)
_MEASURED = "bounds by the launch floor that was measured on {machine}"


class TraceRows(NamedTuple):
    """The rows of one trace, and sentences that hold for every one of them."""

    rows: Sequence[BoundRow]
    lines: Sequence[str]


def rows_of_trace(
    source: str, trace: Trace, windows: Sequence[Window], floor: Result | None = None
) -> TraceRows:
    """A row for every window of the trace on every device, by the floor of a measured machine, or
    by the trace's own. Where windows are several, medians over them come first.
    """
    floors = None if floor is None else machine_floors(trace, floor)
    found = trace_bounds(trace, windows, floors)
    rows = [_of_many(source, each) for each in many_steps(found.steps)]
    names = window_names(windows)
    rows += [_of_step(source, each, names[each.step.window]) for each in found.steps]
    lines = () if floor is None else (_MEASURED.format(machine=machine_name(floor)),)
    return TraceRows(rows, (*lines, *found.notes))


def window_names(windows: Sequence[Window]) -> dict[Window, str]:
    """What each window is called: its label, numbered where several have the same."""
    often, seen = Counter(each.label for each in windows), Counter[str]()
    names = {}
    for each in windows:
        seen[each.label] += 1
        number = f" ({seen[each.label]})" if often[each.label] > 1 else ""
        names[each] = f"{each.label}{number}"
    return names


def _of_many(source: str, found: ManySteps) -> BoundRow:
    return BoundRow(
        *(source, f"{found.label} cuda:{found.device}", _MODE, "ok", None),
        **_explained(found.bounds, found.regime),
        latency=found.bounds.latency,
        busy=found.busy,
        idle=found.idle,
        launches=found.launches,
        operations=found.operations,
        idle_by_cause=tuple(found.idle_by_cause.items()),
        occupied=found.occupied,
        launch_delay=found.launch_delay_s,
        queue_depth=found.queue_depth,
        steps=found.count,
        notes=(_OVER_STEPS.format(count=found.count), *untaxed(found.bounds)),
    )


def _of_step(source: str, found: StepBounds, name: str) -> BoundRow:
    step = found.step
    where = "" if step.device is None else f" cuda:{step.device}"
    return BoundRow(
        *(source, f"{name}{where}", _MODE),
        *("ok" if found.bounds else "skipped", found.reason),
        **_explained(found.bounds, found.regime),
        latency=step.latency,
        busy=step.busy,
        idle=step.idle,
        launches=sum(step.launches.values()),
        operations=sum(step.operations.values()),
        idle_by_cause=tuple((cause, part.value) for cause, part in step.idle_by_cause.items()),
        occupied=step.occupied,
        launch_delay=middle(step.launch_delays_s),
        queue_depth=middle(step.queue_depths),
        notes=(*untaxed(found.bounds), *found.notes),
    )


def _explained(bounds: Bounds | None, binds: Regime | None) -> dict[str, Any]:
    """The cells that bounds and regime have a part in."""
    cells: dict[str, Any] = {}
    if bounds is not None:
        parts = {"device": bounds.device, "launch": bounds.launch, "graph": bounds.graph}
        cells = {f"{name}_bound": part.seconds if part else None for name, part in parts.items()}
        cells |= {"tax": bounds.tax, "tax_share": bounds.tax_share}
    if binds is not None:
        cells |= {"regime": binds.text, "paper_regime": binds.paper, "why": binds.reason}
    return cells
