"""What recorded cases would take if something were different, question by question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ftax_micro.analysis.bounding.cases import CaseBounds, result_bounds
from ftax_micro.analysis.bounding.what_if import Change, Prediction, what_if_inline
from ftax_micro.analysis.estimates import twins_of, workload
from ftax_micro.analysis.floor.values import FloorValues, floor_values
from ftax_micro.records import Case
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

_BATCHES = 2


@dataclass(frozen=True)
class WhatIf:
    """One change of a case; `name` in a word, `words` for a reader.

    `share` is what is saved over the measured latency, negative where it takes longer. Without a
    prediction, `reason` says why. `examples` is the factor by which the batch grows.
    """

    name: str
    words: str
    prediction: Prediction | None = None
    share: Estimate | None = None
    reason: str | None = None
    examples: int = 1


@dataclass(frozen=True)
class CaseChanges:
    """A case, what it takes, and what it would; without bounds, `reason` says why there is none."""

    case: Case
    latency: Estimate | None = None
    changes: tuple[WhatIf, ...] = ()
    reason: str | None = None


def what_ifs(
    result: Result,
    floor: Result,
    bounds: Sequence[CaseBounds] | None = None,
    others: Sequence[tuple[str, Result]] = (),
) -> list[CaseChanges]:
    """One for every timed case that is no twin, in their order.

    `floor` has the floor rows of the machine, `bounds` are those of `result` by them (None: they
    are computed), `others` the floors of other machines, by what they are called.
    """
    found = result_bounds(result, floor) if bounds is None else bounds
    devices = {case.device for case in result.cases}
    floors = {each: floor_values(floor, each) for each in devices}
    there = {each: _there(others, each) for each in devices}
    twins = twins_of(result.cases)
    confidence = result.plan.confidence
    made = []
    for each in found:
        device = each.case.device
        reason = _why_not(each)
        if each.case.status != "ok":
            continue
        if reason is not None or each.bounds is None:
            made.append(CaseChanges(each.case, reason=reason))
            continue
        ask = _asking(each, floors[device], twins.get(workload(each.case)), confidence)
        changes = tuple(_answers(each, ask, there[device]))
        made.append(CaseChanges(each.case, each.bounds.latency, changes))
    return made


def _there(others: Sequence[tuple[str, Result]], device: str) -> list[tuple[str, FloorValues]]:
    """The floors of the other machines' first device of the same kind."""
    kind = device.partition(":")[0]
    found = []
    for name, other in others:
        own = next((each.name for each in other.devices if each.kind == kind), None)
        if own is not None:
            found.append((name, floor_values(other, own)))
    return found


def _why_not(found: CaseBounds) -> str | None:
    """Why nothing can be asked of a case, if so."""
    if found.bounds is None:
        return found.reason
    if found.case.device == "cpu" or found.forward is not None:
        return None
    return found.bounds.reasons.get("own", "the pipeline model says nothing of it")


def _asking(
    found: CaseBounds, floor: FloorValues, twin: Case | None, confidence: float
) -> Callable[[Change], Prediction]:
    """What a case with bounds would take after a change; `ValueError` where that is not known."""
    case = found.case
    assert case.latency is not None  # it has bounds
    latency = case.latency.samples
    if case.device == "cpu":
        assert twin is not None  # its bounds rest on it
        assert twin.latency is not None
        times = (latency, twin.latency.samples, found.operations or 0)
        return lambda change: what_if_inline(*times, change, floor, confidence)
    assert found.forward is not None  # else nothing is asked
    return found.forward().after


def _answers(
    found: CaseBounds,
    ask: Callable[[Change], Prediction],
    others: Sequence[tuple[str, FloorValues]],
) -> Iterable[WhatIf]:
    case, bounds = found.case, found.bounds
    assert bounds is not None  # whoever calls has looked
    batch = f"batch {case.batch * _BATCHES}"
    yield _answer(found, ask, "faster_2", "kernels twice as fast", Change(duration_factor=0.5))
    yield _answer(found, ask, "faster", "infinitely fast kernels", Change(duration_factor=0.0))
    graph = "one graph of all"
    if case.device == "cpu" or bounds.path == "graph":
        why = "nothing is replayed on the cpu" if case.device == "cpu" else "it is one already"
        yield WhatIf("graph", graph, reason=why)
    elif bounds.graph is None:
        yield WhatIf("graph", graph, reason=bounds.reasons.get("graph"))
    else:
        yield _answer(found, ask, "graph", graph, Change(graph=True))
    more = _answer(found, ask, "batch", batch, Change(duration_factor=_BATCHES))
    yield replace(more, examples=_BATCHES)
    for name, floor in others:
        yield _answer(found, ask, "floor", f"the floor of {name}", Change(floor=floor))


def _answer(
    found: CaseBounds, ask: Callable[[Change], Prediction], name: str, words: str, change: Change
) -> WhatIf:
    try:
        prediction = ask(change)
    except ValueError as error:
        return WhatIf(name, words, reason=str(error))
    assert found.bounds is not None  # whoever calls has looked
    saved, whole = prediction.saved, found.bounds.latency.value
    ends = [None if each is None else each / whole for each in saved]
    share = Estimate(saved.value / whole, ends[1], ends[2])
    return WhatIf(name, words, prediction, share)
