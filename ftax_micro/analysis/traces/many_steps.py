"""What several steps of a trace have in common: medians over them, with their intervals.

A step happened once, so that its own intervals have the clock and the floor alone. How steps differ
is what tells how far to trust one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ftax_micro import stats
from ftax_micro.analysis.bounding.bounds import Bound, Bounds, Path
from ftax_micro.analysis.bounding.regime import Regime
from ftax_micro.analysis.traces.step_bounds import (
    Saturation,
    StepBounds,
    saturation,
    step_regime,
)
from ftax_micro.analysis.traces.steps import Window
from ftax_micro.analysis.traces.timeline import CAUSES
from ftax_micro.stats import Estimate

# Below, no interval of a median holds it in 95 % of cases.
LEAST_STEPS = 6
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, eq=False)
class ManySteps:
    """Medians over `count` steps of a kind on one device; seconds, as in `Step`.

    `launch_delay_s` and `queue_depth` are those of steps' medians, None where nothing was launched.
    """

    label: str
    device: int
    count: int
    bounds: Bounds
    regime: Regime | None
    busy: Estimate
    occupied: Estimate
    idle: Estimate
    idle_by_cause: dict[str, float]
    launches: int
    operations: int
    launch_delay_s: float | None
    queue_depth: float | None


def many_steps(found: Sequence[StepBounds]) -> list[ManySteps]:
    """One for each kind on each device that has bounds of at least `LEAST_STEPS` steps.

    Of a kind are those of one process whose names differ in their numbers alone.
    """
    kinds: dict[tuple[str | None, str, int], list[StepBounds]] = {}
    for each in found:
        if each.bounds is not None and each.step.device is not None:
            window = each.step.window
            kind = (window.process, _NUMBER.sub("n", window.label), each.step.device)
            kinds.setdefault(kind, []).append(each)
    return [_many(steps) for steps in kinds.values() if len(steps) >= LEAST_STEPS]


def _many(found: Sequence[StepBounds]) -> ManySteps:
    steps = [each.step for each in found]
    bounds = _medians([each.bounds for each in found if each.bounds])
    invalid = next((each.regime for each in found if _invalid(each.regime)), None)
    streams = int(np.median([each.streams for each in found]))
    full = [saturation(each) for each in steps]
    shares = Saturation(*(float(np.median(each)) for each in zip(*full, strict=True)))
    causes = {
        cause: float(np.median([each.idle_by_cause[cause].value for each in steps]))
        for cause in CAUSES
    }
    device = steps[0].device
    assert device is not None  # or they had no bounds
    return ManySteps(
        label=_label([each.window for each in steps]),
        device=device,
        count=len(steps),
        bounds=bounds,
        regime=invalid or step_regime(bounds, streams, shares),
        busy=_median([each.busy for each in steps if each.busy]),
        occupied=_median([each.occupied for each in steps if each.occupied]),
        idle=_median([each.idle for each in steps if each.idle]),
        idle_by_cause=causes,
        launches=int(np.median([sum(each.launches.values()) for each in steps])),
        operations=int(np.median([sum(each.operations.values()) for each in steps])),
        launch_delay_s=middle([middle(each.launch_delays_s) for each in steps]),
        queue_depth=middle([middle(each.queue_depths) for each in steps]),
    )


def middle(values: Iterable[float | None]) -> float | None:
    """The median of what is known; None where nothing is."""
    known = [each for each in values if each is not None]
    return float(np.median(known)) if known else None


def _label(windows: Sequence[Window]) -> str:
    labels = dict.fromkeys(each.label for each in windows)
    name = next(iter(labels))
    return f"{len(windows)} × {name if len(labels) == 1 else _NUMBER.sub('n', name)}"


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
