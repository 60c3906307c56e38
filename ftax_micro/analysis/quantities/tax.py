"""What frameworks add to latencies, where the same result has what bounds rest on."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist

import msgspec

from ftax_micro.analysis.bounding.bounds import Bound, Bounds
from ftax_micro.analysis.bounding.cases import CaseBounds, result_bounds
from ftax_micro.analysis.quantities.contract import Kind, Quantity, Value
from ftax_micro.analysis.quantities.latency import (
    case_alike,
    case_facts,
    case_setting,
    wait_styles,
)
from ftax_micro.records import Case, Status
from ftax_micro.results import Result
from ftax_micro.stats import Estimate


def quantities(result: Result, confidence: float) -> Sequence[Quantity]:
    """Framework tax and avoidable time of each case that is no twin; none without a floor."""
    if not result.cases or not result.measurements:
        return []
    plan = msgspec.structs.replace(result.plan, confidence=confidence)
    waits = wait_styles(result)
    found = result_bounds(msgspec.structs.replace(result, plan=plan))
    if not any(each.bounds for each in found):
        return []
    return [
        quantity
        for each in found
        for quantity in _of_case(each, confidence, waits.get(each.case.device))
    ]


def stretched(found: Estimate, confidence: float, level: float) -> Estimate:
    """`found`, whose interval holds with `confidence`, with one at `level`.

    As a normal distribution's would be, each side by itself: to find the far ends by resampling
    takes more drawings, the more ratios there are, than anyone would wait for.
    """
    if found.low is None or found.high is None:
        return found
    normal = NormalDist()
    reach = normal.inv_cdf((1 + level) / 2) / normal.inv_cdf((1 + confidence) / 2)
    below, above = found.value - found.low, found.high - found.value
    return Estimate(found.value, found.value - below * reach, found.value + above * reach)


def _of_case(found: CaseBounds, confidence: float, wait: str | None) -> Iterator[Quantity]:
    bounds = found.bounds
    if bounds is None or bounds.own is None:
        reason = found.reason or (bounds.reasons.get("own") if bounds else None)
        status: Status = "failed" if found.case.status == "failed" else "skipped"
        yield _quantity(found, "tax", Value(status, reason), {})
    if bounds is None:
        return
    assumed = "; ".join(bounds.assumed) or "none"
    alike = {**case_alike(found.case, wait), "assumption": assumed}
    for name, bound in (("tax", bounds.own), ("avoidable", bounds.graph)):
        if bound is not None:
            yield _known(found, name, bounds, bound, alike, confidence)


def _known(
    found: CaseBounds,
    name: str,
    bounds: Bounds,
    bound: Bound,
    alike: dict[str, str],
    confidence: float,
) -> Quantity:
    return replace(
        _quantity(found, name, _value(found.case, bounds, bound), alike),
        estimate=functools.partial(stretched, bound.above, confidence),
        source=(bound, found.case.latency),
    )


def _quantity(found: CaseBounds, name: str, value: Value, alike: dict[str, str]) -> Quantity:
    case = found.case
    facts = case_facts(case)
    if found.regime is not None:
        facts["regime"] = found.regime.text
    if found.bounds is not None:
        facts["launch path"] = found.bounds.path
    return Quantity(
        device=case.device,
        name=case.model,
        setting=case_setting(case),
        quantity=name,
        value=value,
        signed=True,
        alike=alike,
        facts=facts,
    )


def _value(case: Case, bounds: Bounds, bound: Bound) -> Value:
    latency_s, (least, most) = bounds.latency.value, bound.systematic
    return Value(
        *("ok", None, "s", *bound.above),
        systematic_low=latency_s - most,
        systematic_high=latency_s - least,
        samples=len(case.latency.samples) if case.latency else 0,
    )


KIND = Kind(
    "tax",
    "Framework tax",
    "no bounds in this result: they need the machine's launch floor in the same file "
    "(--machine) and, on the cpu, zero-work twins (--twin)",
    "model",
    False,
    quantities,
)
