"""Framework time measured in several independent ways, and whether they agree (docs/bounds.md).

Two things are called framework time, and they are not the same. *Host time* is what the host takes
until the forward has returned: `host_s` itself; what latency keeps to at small sizes of a sweep;
the zero-work twin, of which hardly more than dispatch is left; and, as a part of it, what the
executed operations cost on the dispatch ladder. *Exposed time* is what of the latency no device
work covers: latency less the time the device was busy, and the framework tax. Host time can hide
behind the device, exposed time cannot.

  wrong:  host time and tax differ, so one of them was measured wrongly

  right:  estimates are compared within their family; what links the families is the pipeline model

On the cpu operations run inline, so that the families coincide: all is host time there.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ftax_micro import stats
from ftax_micro.analysis.crossover.hinge import SweepCrossover, crossovers
from ftax_micro.analysis.ladder_prediction import predict
from ftax_micro.analysis.ladder_view import LadderRow
from ftax_micro.records import Case
from ftax_micro.stats import Estimate

Family = Literal["host", "exposed"]
Verdict = Literal["agree", "differ", "ambiguous"]

HOST_S, SWEEP, TWIN, LADDER = "host_s", "sweep", "twin", "ladder"
NOT_BUSY, TAX = "latency_less_busy", "tax"

# A twin that executes other operations than its model says nothing of it.
LARGEST_TWIN_DIFFERENCE = 0.02
# Estimates this near each other tell the same story: each has systematic errors of some per cent
# (the last kernel in a plateau, the kernels left in a twin) that no interval has in it.
AGREEMENT = 0.10
_INPUT_AXES = ("batch", "sequence", "image", "audio")
_CPU = "operations run inline on the cpu: exposed time is the host time"


@dataclass(frozen=True)
class FrameworkTime:
    """One estimate; `seconds` per forward, None with the `reason` where there is none.

    `basis` says what it rests on. `is_part` is True for what is only a part of the host time.
    """

    name: str
    family: Family
    basis: str
    seconds: Estimate | None = None
    is_part: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class Agreement:
    """Two estimates of one family, by name: `difference` is the first less the second, in seconds.

    They agree where the difference's interval is within `AGREEMENT` of the larger one, and differ
    where it is outside; a part agrees with a whole that it is not larger than.
    """

    family: Family
    first: str
    second: str
    difference: Estimate
    verdict: Verdict


@dataclass(frozen=True)
class FrameworkTimes:
    """All estimates of one case, and the agreement of each pair within a family."""

    case: Case
    estimates: tuple[FrameworkTime, ...]
    agreements: tuple[Agreement, ...]

    def get(self, name: str) -> FrameworkTime:
        """The estimate of that name. Errors: `KeyError`."""
        return {each.name: each for each in self.estimates}[name]


def framework_times(
    cases: Sequence[Case],
    rows: Sequence[LadderRow] = (),
    taxes: Mapping[int, Estimate] | None = None,
    confidence: float = 0.95,
) -> list[FrameworkTimes]:
    """One for every timed case that is no twin, in their order.

    `cases` are those of a model_latency run, twins and sweeps among them; `rows` the ladder of the
    same machine; `taxes` the framework taxes, in seconds, by the index of their case.
    """
    swept = crossovers(cases, confidence)
    twins = twins_of(cases)
    found = []
    for index, case in enumerate(cases):
        if case.twin or case.status != "ok" or case.latency is None:
            continue
        twin = twins.get(workload(case))
        estimates = (
            host_time(case, confidence),
            _sweep(case, swept),
            twin_time(case, twin, confidence),
            _ladder(case, twin, rows, confidence),
            _not_busy(case, confidence),
            _tax(case, (taxes or {}).get(index)),
        )
        found.append(FrameworkTimes(case, estimates, tuple(agreements(estimates))))
    return found


def executed_difference(case: Case, other: Case) -> float | None:
    """How many of the operations of `case` are not those of `other`, or the other way round: the
    larger number, over the operations of `case`. None where either was not counted.
    """
    if not case.executed or not other.executed:
        return None
    names = case.executed.keys() | other.executed.keys()
    steps = [case.executed.get(name, 0) - other.executed.get(name, 0) for name in names]
    missing, added = sum(s for s in steps if s > 0), -sum(s for s in steps if s < 0)
    return max(missing, added) / sum(case.executed.values())


def agreements(estimates: Sequence[FrameworkTime]) -> list[Agreement]:
    """Every pair of one family that has values, in their order; never a pair of two families.

    Two estimates that share samples (latency, in both exposed times) are taken for independent,
    which makes the interval of their difference too wide, never too narrow.
    """
    known = [each for each in estimates if each.seconds is not None]
    return [
        _agreement(first, second)
        for first, second in itertools.combinations(known, 2)
        if first.family == second.family and not (first.is_part and second.is_part)
    ]


def _agreement(first: FrameworkTime, second: FrameworkTime) -> Agreement:
    assert first.seconds is not None
    assert second.seconds is not None
    difference = stats.difference(first.seconds, second.seconds)
    scale = AGREEMENT * max(abs(first.seconds.value), abs(second.seconds.value))
    # A part may be smaller by any amount.
    least = float("-inf") if first.is_part else -scale
    most = float("inf") if second.is_part else scale
    low, high = difference.low, difference.high
    verdict: Verdict = "ambiguous"
    if low is not None and high is not None:
        if least <= low and high <= most:
            verdict = "agree"
        elif high < least or most < low:
            verdict = "differ"
    return Agreement(first.family, first.name, second.name, difference, verdict)


def host_time(case: Case, confidence: float = 0.95) -> FrameworkTime:
    """`host_s` of the case."""
    basis = "when the forward had returned"
    if case.device == "cpu":
        reason = "on the cpu a forward returns when its kernels are done"
        return FrameworkTime(HOST_S, "host", basis, reason=reason)
    if case.host is None:
        reason = case.reasons.get("host", "the forward waits for the device before it returns")
        return FrameworkTime(HOST_S, "host", basis, reason=reason)
    seconds = stats.median_interval(case.host.samples, confidence)
    return FrameworkTime(HOST_S, "host", basis, seconds)


def _sweep(case: Case, swept: Sequence[SweepCrossover]) -> FrameworkTime:
    own = [
        each
        for each in swept
        if each.sweep.axis in _INPUT_AXES and any(x is case for x in each.sweep.cases)
    ]
    if not own:
        return FrameworkTime(
            SWEEP, "host", "a sweep", reason="no size of its input was swept in this mode"
        )
    found = next((each for each in own if each.crossover.fixed), own[0])
    kind = "plateau" if found.crossover.law == "max" else "intercept"
    basis = f"the {kind} of the sweep over {found.sweep.axis}"
    seconds = found.crossover.fixed
    reason = None if seconds else found.crossover.reason
    return FrameworkTime(SWEEP, "host", basis, seconds, reason=reason)


def twin_time(case: Case, twin: Case | None, confidence: float = 0.95) -> FrameworkTime:
    """The time of the case's zero-work twin, if it executes the same operations."""
    basis = "the zero-work twin"
    if twin is None:
        return FrameworkTime(TWIN, "host", basis, reason="its zero-work twin was not measured")
    if twin.status != "ok":
        what = "was skipped" if twin.status == "skipped" else "failed"
        reason = f"its zero-work twin {what}: {twin.reason}"
        return FrameworkTime(TWIN, "host", basis, reason=reason)
    other = executed_difference(case, twin)
    if other is None:
        reason = "the operations that it and its twin execute were not counted in this mode"
        return FrameworkTime(TWIN, "host", basis, reason=reason)
    if other > LARGEST_TWIN_DIFFERENCE:
        reason = (
            f"its twin executes other operations ({other:.1%} of them, more than "
            f"{LARGEST_TWIN_DIFFERENCE:.0%}) in this mode"
        )
        return FrameworkTime(TWIN, "host", basis, reason=reason)
    data = twin.latency if twin.device == "cpu" else twin.host or twin.latency
    if data is None:
        return FrameworkTime(TWIN, "host", basis, reason="its zero-work twin has no time")
    what = "host time" if data is twin.host else "latency"
    seconds = stats.median_interval(data.samples, confidence)
    return FrameworkTime(TWIN, "host", f"{what} of the zero-work twin", seconds)


def _ladder(
    case: Case, twin: Case | None, rows: Sequence[LadderRow], confidence: float
) -> FrameworkTime:
    basis = "executed operations at their rung's cost"
    if not rows:
        return FrameworkTime(
            LADDER, "host", basis, is_part=True, reason="the dispatch ladder was not measured"
        )
    whole = twin_time(case, twin, confidence)
    if twin is not None and case.device == "cpu" and whole.seconds is None:
        return FrameworkTime(LADDER, "host", basis, is_part=True, reason=whole.reason)
    same = [twin] if twin is not None and whole.seconds is not None else []
    found = predict(rows, [case, *same], confidence)
    if not found:
        return FrameworkTime(
            LADDER, "host", basis, is_part=True, reason=f"no rung stands for {case.mode}"
        )
    (prediction,) = found
    if prediction.predicted is not None:
        basis = f"{prediction.operations} operations at the cost of {prediction.rung}"
    return FrameworkTime(
        LADDER, "host", basis, prediction.predicted, is_part=True, reason=prediction.reason
    )


def _not_busy(case: Case, confidence: float) -> FrameworkTime:
    basis = "latency less the time the device was busy"
    if case.device == "cpu":
        return FrameworkTime(NOT_BUSY, "exposed", basis, reason=_CPU)
    if case.device_pass is None or case.latency is None:
        reason = case.reasons.get("device_pass", "the device was not traced")
        return FrameworkTime(NOT_BUSY, "exposed", basis, reason=reason)
    latency = stats.median_interval(case.latency.samples, confidence)
    busy = stats.median_interval(case.device_pass.busy_s, confidence)
    return FrameworkTime(NOT_BUSY, "exposed", basis, stats.difference(latency, busy))


def _tax(case: Case, tax: Estimate | None) -> FrameworkTime:
    basis = "latency less the bound of the mode's own launch path"
    if case.device == "cpu":
        return FrameworkTime(TAX, "exposed", basis, reason=_CPU)
    reason = "its bounds are not known" if tax is None else None
    return FrameworkTime(TAX, "exposed", basis, tax, reason=reason)


def twins_of(cases: Sequence[Case]) -> dict[tuple[object, ...], Case]:
    """The twins that have a time, by the `workload` they stand for."""
    return {workload(case): case for case in cases if case.twin and case.status == "ok"}


def workload(case: Case) -> tuple[object, ...]:
    """What a case has in common with its twin."""
    return case.model, case.mode, case.device, case.dtype, case.lengths, case.steps
