"""How much of a model's host time the dispatch of its operations explains.

A rung's slope is what one operation costs in its layer; a model's forward executes a counted
number of them in the same mode. Their product is the dispatcher's and the launch path's share of
the host's time; what is left is Python, the modules, and operations that do more than the ladder's.

The host's time is that of the zero-work twin where it was measured, since then nothing but dispatch
is in it; else ``host_s`` on a GPU. On the cpu the full model's kernels are in every time of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftax_micro import stats
from ftax_micro.analysis.ladder_view import LadderRow
from ftax_micro.records import Case
from ftax_micro.stats import Estimate

# In which rung's layer each mode's operations are dispatched, and what else its host time goes to.
_LAYERS = {
    "eager": ("torch_inference_mode", "Python, the modules and larger operations"),
    "torchscript": ("torchscript", "larger operations"),
    "onnxruntime": ("onnxruntime", "larger operations"),
}


@dataclass(frozen=True)
class Prediction:
    """A case's host time beside what its operations cost on the ladder; seconds per forward.

    `predicted` is the rung's slope times `operations`, plus the cost of one call; `share` is it
    over `measured`, `left` the rest. Where a number is missing, `reason` says why.
    """

    case: Case
    rung: str = ""
    operations: int = 0
    measured: Estimate | None = None
    measured_as: str = ""
    predicted: Estimate | None = None
    share: Estimate | None = None
    left: Estimate | None = None
    rest: str = ""
    reason: str | None = None


def predict(
    rows: Sequence[LadderRow], cases: Sequence[Case], confidence: float = 0.95
) -> list[Prediction]:
    """One prediction for each case in a mode that a rung stands for; twins stand for their models.

    `rows` are a ladder's, `cases` those of a model_latency run on the same machine.
    """
    twins = {_workload(case): case for case in cases if case.twin and case.status == "ok"}
    wanted = [case for case in cases if not case.twin and case.mode in _LAYERS]
    return [
        _prediction(rows, case, twins.get(_workload(case)), confidence)
        for case in wanted
        if case.status == "ok"
    ]


def _prediction(
    rows: Sequence[LadderRow], case: Case, twin: Case | None, confidence: float
) -> Prediction:
    rung, rest = _LAYERS[case.mode]
    row = next((r for r in rows if r.rung == rung and r.summary.device == case.device), None)
    if row is None or row.slope is None or row.intercept is None:
        why = row.summary.reason if row else f"it was not measured on {case.device}"
        return Prediction(case, rung, reason=f"the rung {rung} has no value: {why}")
    timed, name = (twin, "its zero-work twin") if twin else (case, "host time")
    if twin is None and case.device == "cpu":
        reason = "on the cpu only a zero-work twin has host time apart: measure it with --twin"
        return Prediction(case, rung, reason=reason)
    data = timed.host or timed.latency
    operations = sum(timed.executed.values())
    if data is None or not operations:
        why = timed.reasons.get("executed", "they were not counted")
        return Prediction(case, rung, reason=f"its operations are not known: {why}")
    measured = stats.median_interval(data.samples, confidence)
    predicted = _line(row.slope, row.intercept, operations)
    return Prediction(
        *(case, rung, operations, measured, name, predicted),
        share=stats.ratio_interval(predicted, measured),
        left=stats.difference(measured, predicted),
        rest=rest,
    )


def _line(slope: Estimate, intercept: Estimate, operations: int) -> Estimate:
    """The cost of one call with so many operations; never below that of the operations alone."""
    once = max(0.0, intercept.value)
    scaled = [None if end is None else end * operations + once for end in slope]
    return Estimate(slope.value * operations + once, scaled[1], scaled[2])


def _workload(case: Case) -> tuple[object, ...]:
    return case.model, case.mode, case.device, case.dtype, case.lengths
