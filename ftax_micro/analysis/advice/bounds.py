"""Advice from bounds: what binds, what a faster device would buy, what one graph would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ftax_micro import stats
from ftax_micro.analysis.advice.contract import (
    Advice,
    Binding,
    FasterDevice,
    NoAdvice,
    OneGraph,
    Waiting,
)
from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.bounding.rows import BoundRow
from ftax_micro.analysis.bounding.what_if import Change, Prediction
from ftax_micro.stats import Estimate

# Further off than this, what the model says of a change is no more than a guess.
LARGEST_ERROR = 0.2
_Where = dict[str, Any]
_BINDS, _CHANGES = "what binds it", "what a faster device or a graph would save"


def advise_row(row: BoundRow, name: str, device: str, *, told: bool = True) -> Iterator[Advice]:
    """What a row of bounds alone allows to say: upper limits, no predictions."""
    where = _where(row, name, told)
    if row.latency is None:
        yield NoAdvice(subject=_BINDS, reason=row.reason or "it has no latency", **where)
        return
    yield _binding(row, device, None, where)
    yield from _waiting(row, where)
    if row.regime == "invalid":  # what rests on a wrong bound is wrong too
        return
    if row.busy is not None:
        whole = row.busy if row.occupied is None else _sum(row.busy, row.occupied)
        half = _scaled(whole, 0.5)
        yield FasterDevice(
            latency=row.latency,
            saving=half,
            share=_over(half, row.latency),
            limit=whole,
            limit_share=_over(whole, row.latency),
            at_most=True,
            device=device,
            **where,
        )
    if row.graph_bound is not None:
        saved = stats.difference(row.latency, row.graph_bound)
        share = _over(saved, row.latency)
        yield OneGraph(latency=row.latency, saving=saved, share=share, at_most=True, **where)


def advise_case(
    found: CaseBounds, row: BoundRow, name: str, *, told: bool = True, changes: bool = True
) -> Iterator[Advice]:
    """What the bounds of a case, of which `row` is the row, allow to say; without `changes` not
    what a faster device or a graph would save, which takes as long to find out as the bounds.
    """
    where = _where(row, name, told)
    if found.bounds is None or row.latency is None:
        yield NoAdvice(subject=_BINDS, reason=found.reason or "its bounds are not known", **where)
        return
    yield _binding(row, found.case.device, found, where)
    if row.regime == "invalid" or not changes:
        return
    if found.case.device == "cpu":
        yield from _inline(found, row, where)
    else:
        yield from _changed(found, row, where)


def _where(row: BoundRow, name: str, told: bool) -> _Where:
    own = {"source": row.source, "case": row.case, "mode": row.mode}
    return {**own, "name": name, "told": told}


def _binding(row: BoundRow, device: str, found: CaseBounds | None, where: _Where) -> Advice:
    if row.regime is None:
        reason = row.reason or "a bound that decides is not known"
        if found is not None and found.bounds is not None:
            reason = found.bounds.reasons.get("own", reason)
        return NoAdvice(subject=_BINDS, reason=reason, latency=row.latency, **where)
    use = found.use if found is not None else None
    return Binding(
        latency=row.latency,
        saving=row.tax,
        share=row.tax_share,
        regime=row.regime,
        why=row.why or "",
        device=device,
        peak_share=use.share if use else None,
        **where,
    )


def _waiting(row: BoundRow, where: _Where) -> Iterator[Advice]:
    if row.idle is None or row.latency is None or not row.idle_by_cause or row.idle.value <= 0:
        return
    cause, part = max(row.idle_by_cause, key=lambda each: each[1])
    yield Waiting(
        latency=row.latency,
        saving=row.idle,
        share=_over(row.idle, row.latency),
        cause=cause,
        part=Estimate(part, None, None),
        **where,
    )


def _inline(found: CaseBounds, row: BoundRow, where: _Where) -> Iterator[Advice]:
    """On the cpu times add: what the work takes is what faster work saves."""
    device = found.bounds.device if found.bounds else None
    if device is None or row.latency is None:
        return
    yield FasterDevice(
        latency=row.latency,
        saving=_scaled(device.seconds, 0.5),
        share=_scaled(device.share, 0.5),
        limit=device.seconds,
        limit_share=device.share,
        at_most=False,
        device="cpu",
        **where,
    )


def _changed(found: CaseBounds, row: BoundRow, where: _Where) -> Iterator[Advice]:
    case, bounds = found.case, found.bounds
    forward = None if found.forward is None else found.forward()
    why = _why_not_predicted(found, None if forward is None else forward.after(Change()))
    if why is not None or bounds is None or forward is None:
        reason = why or "the device was not traced"
        yield NoAdvice(subject=_CHANGES, reason=reason, latency=row.latency, **where)
        return
    after = forward.after
    half, none = (after(Change(duration_factor=factor)).saved for factor in (0.5, 0.0))
    latency = bounds.latency
    yield FasterDevice(
        latency=latency,
        saving=half,
        share=_scaled(half, 1 / latency.value),
        limit=none,
        limit_share=_scaled(none, 1 / latency.value),
        at_most=False,
        device=case.device,
        **where,
    )
    if bounds.path == "graph":
        return
    if bounds.graph is None:
        reason = bounds.reasons.get("graph", "the graph bound is not known")
        yield NoAdvice(subject="what a graph would save", reason=reason, latency=latency, **where)
        return
    saved = after(Change(graph=True)).saved
    share = _scaled(saved, 1 / latency.value)
    yield OneGraph(latency=latency, saving=saved, share=share, at_most=False, **where)


def _why_not_predicted(found: CaseBounds, now: Prediction | None) -> str | None:
    error = None if now is None else found.error_of(now)
    if error is None:
        reasons = found.bounds.reasons if found.bounds else {}
        return reasons.get("own", "the pipeline model has no floor to predict from")
    if abs(error) > LARGEST_ERROR:
        off = f"{abs(error):.0%}"
        return f"the latency that the pipeline model predicts is {off} off the measured one"
    return None


def _scaled(value: Estimate, factor: float) -> Estimate:
    """`value` times a positive factor."""
    return Estimate(*(None if each is None else each * factor for each in value))  # type: ignore[arg-type]


def _sum(a: Estimate, b: Estimate) -> Estimate:
    """Both, with an interval that is never too narrow."""
    low = None if a.low is None or b.low is None else a.low + b.low
    high = None if a.high is None or b.high is None else a.high + b.high
    return Estimate(a.value + b.value, low, high)


def _over(part: Estimate, whole: Estimate) -> Estimate:
    """A share, of the middle of the whole."""
    return _scaled(part, 1 / whole.value) if whole.value > 0 else part
