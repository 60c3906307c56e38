"""What the steps of a trace would take if something were different (`analysis.what_if`).

A step's calls begin when they began under the tracer, also those that came after a wait for the
device: with faster kernels the host would have been there earlier, and more would be saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftax_micro import stats
from ftax_micro.analysis.bounding.what_if import Change, Prediction, saved_once
from ftax_micro.analysis.bounding.what_if_cases import WhatIf
from ftax_micro.analysis.floor.values import FloorValues
from ftax_micro.analysis.traces.correlation import Correlation
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.step_bounds import NO_DEVICE, NOTHING, without_wait
from ftax_micro.analysis.traces.step_work import StepWork, StepWorks
from ftax_micro.analysis.traces.steps import Step
from ftax_micro.stats import Estimate

# A step is a forward of the model each; more of them say the same.
MOST_STEPS = 50
_NO_GRAPH = "what a graph costs is not known: a launch floor of the GPU has it"
_CHANGES = (
    ("faster_2", "kernels twice as fast", Change(duration_factor=0.5)),
    ("faster", "infinitely fast kernels", Change(duration_factor=0.0)),
)
_GRAPH = ("graph", "one graph of all", Change(graph=True))


@dataclass(frozen=True)
class StepChanges:
    """Some steps of one device, their median latency, and what it would be; `reason`: why not."""

    latency: Estimate | None = None
    changes: tuple[WhatIf, ...] = ()
    reason: str | None = None


def step_changes(
    trace: Trace,
    correlation: Correlation,
    steps: Sequence[Step],
    floor: FloorValues | None,
    reason: str | None = None,
) -> StepChanges:
    """What is saved is the median over steps, with its interval where they are enough; `reason`
    says why there is no `floor`.
    """
    worked = [each for each in steps if len(each.index) and each.latency.value > 0]
    if not worked:
        return StepChanges(reason=NO_DEVICE if steps and steps[0].device is None else NOTHING)
    if floor is None or floor.to_start is None or floor.sync is None:
        why = floor.why_not("to_start", "sync") if floor else reason
        return StepChanges(reason=why or "its floor is not known")
    used = worked[:: -(-len(worked) // MOST_STEPS)]
    works = StepWorks(trace, correlation)
    found = [works.of(each) for each in used]
    latency = stats.median_interval([each.latency.value for each in used])
    changes = [_answer(*each, used, found, floor) for each in _CHANGES]
    if all(each.work.replays and each.work.calls.count == 1 for each in found):
        changes.append(WhatIf(*_GRAPH[:2], reason="it is one already"))
    elif not floor.has_graph:
        changes.append(WhatIf(*_GRAPH[:2], reason=_NO_GRAPH))
    else:
        changes.append(_answer(*_GRAPH, used, found, floor))
    return StepChanges(latency, tuple(changes))


def _answer(
    name: str,
    words: str,
    change: Change,
    steps: Sequence[Step],
    works: Sequence[StepWork],
    floor: FloorValues,
) -> WhatIf:
    times = [each.latency.value for each in steps]
    try:
        saved = np.array([_saved(*each, floor, change) for each in zip(steps, works, strict=True)])
    except ValueError as error:
        return WhatIf(name, words, reason=str(error))
    left = stats.median_interval(times - saved)
    prediction = Prediction(model=left, saved=stats.median_interval(saved), latency=left)
    return WhatIf(name, words, prediction, stats.median_interval(saved / np.array(times)))


def _saved(step: Step, found: StepWork, floor: FloorValues, change: Change) -> float:
    """Seconds, to the picosecond: of nanoseconds added up, less is rounding."""
    host_s = (step.window.end_ns - step.window.begin_ns) * 1e-9
    charged = floor if found.waited else without_wait(floor)
    # A host that waited for the end would have gone on earlier.
    returned = 0.0 if found.waited else host_s
    return round(saved_once(found.work, charged.point(), change, returned), 12)
