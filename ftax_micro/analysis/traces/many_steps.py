"""What several steps of a trace have in common: medians over them, with their intervals.

A step happened once, so that its own intervals have the clock and the floor alone. How steps differ
is what tells how far to trust one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftax_micro import stats
from ftax_micro.analysis.bounds import Bound, Bounds, Path
from ftax_micro.analysis.regime import Regime
from ftax_micro.analysis.traces.step_bounds import StepBounds, busy_share, step_regime
from ftax_micro.analysis.traces.timeline import CAUSES
from ftax_micro.stats import Estimate

# Below, no interval of a median holds it in 95 % of cases.
LEAST_STEPS = 6


@dataclass(frozen=True, eq=False)
class ManySteps:
    """Medians over `count` steps on one device; all in seconds, as in `Step`."""

    label: str
    device: int
    count: int
    bounds: Bounds
    regime: Regime | None
    busy: Estimate
    idle: Estimate
    idle_by_cause: dict[str, float]
    launches: int
    operations: int


def many_steps(found: Sequence[StepBounds]) -> list[ManySteps]:
    """One for each device that has bounds of at least `LEAST_STEPS` steps."""
    devices = dict.fromkeys(each.step.device for each in found)
    groups = [
        (device, [each for each in found if each.step.device == device and each.bounds])
        for device in devices
        if device is not None
    ]
    return [_many(device, steps) for device, steps in groups if len(steps) >= LEAST_STEPS]


def _many(device: int, found: Sequence[StepBounds]) -> ManySteps:
    steps = [each.step for each in found]
    bounds = _medians([each.bounds for each in found if each.bounds])
    invalid = next((each.regime for each in found if _invalid(each.regime)), None)
    streams = int(np.median([each.streams for each in found]))
    shares = float(np.median([busy_share(each) for each in steps]))
    causes = {
        cause: float(np.median([each.idle_by_cause[cause].value for each in steps]))
        for cause in CAUSES
    }
    return ManySteps(
        label=_label([each.window.label for each in steps]),
        device=device,
        count=len(steps),
        bounds=bounds,
        regime=invalid or step_regime(bounds, streams, shares),
        busy=_median([each.busy for each in steps if each.busy]),
        idle=_median([each.idle for each in steps if each.idle]),
        idle_by_cause=causes,
        launches=int(np.median([sum(each.launches.values()) for each in steps])),
        operations=int(np.median([sum(each.operations.values()) for each in steps])),
    )


def _label(labels: Sequence[str]) -> str:
    different = dict.fromkeys(labels)
    return f"{len(labels)} × {labels[0]}" if len(different) == 1 else f"{len(labels)} steps"


def _invalid(found: Regime | None) -> bool:
    return found is not None and found.name == "invalid"


def _medians(found: Sequence[Bounds]) -> Bounds:
    """Of the bounds that every step has."""
    paths = {each.path for each in found}
    path: Path = paths.pop() if len(paths) == 1 else "mixed"
    return Bounds(
        latency=_median([each.latency for each in found]),
        path=path,
        device=_bound([each.device for each in found]),
        launch=_bound([each.launch for each in found]),
        graph=_bound([each.graph for each in found]),
        own=_bound([each.own for each in found]),
    )


def _bound(found: Sequence[Bound | None]) -> Bound | None:
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    low, high = (float(np.median([each.systematic[end] for each in known])) for end in (0, 1))
    return Bound(
        seconds=_median([each.seconds for each in known]),
        share=_median([each.share for each in known]),
        above=_median([each.above for each in known]),
        systematic=(low, high),
    )


def _median(found: Sequence[Estimate]) -> Estimate:
    return stats.median_interval([each.value for each in found])
