"""Which layer the host time goes to: Python, dispatcher, library, launch path (docs/bounds.md).

There are two ways, and each finds what the other cannot. *Modes* that differ in one layer are
subtracted: eager less TorchScript is Python, where both execute the same operations; TorchScript
less a replayed CUDA graph is the dispatcher with the launch path. *Rungs* of the dispatch ladder
say what one operation costs in each layer, times the operations that ran; what they leave is more
than one-element additions cost: modules, larger operations and the libraries behind them.

  wrong:  the layers' times of one-element operations, scaled until they add up

  right:  each with its interval and what it rests on, the rest as a rest, and a reason where a
          layer cannot be told apart

Nothing is clipped: a negative part says that an assumption does not hold here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ftax_micro import stats
from ftax_micro.analysis.estimates import (
    LARGEST_TWIN_DIFFERENCE,
    FrameworkTime,
    executed_difference,
    host_time,
    twin_time,
    twins_of,
    workload,
)
from ftax_micro.analysis.ladder_view import LadderRow
from ftax_micro.records import Case
from ftax_micro.stats import Estimate

Layer = Literal[
    "python", "dispatcher", "dispatcher_and_launch_path", "library", "launch_path", "rest"
]
Way = Literal["modes", "rungs"]

# By mode, the rungs whose increments are layers that its operations pass, uppermost first.
_LAYERS: dict[str, tuple[tuple[Layer, str], ...]] = {
    "eager": (("python", "torch_inference_mode"), ("dispatcher", "torchscript")),
    "torchscript": (("dispatcher", "torchscript"),),
    "onnxruntime": (("dispatcher", "onnxruntime"),),
}
_LAUNCH_RUNG = {"cpu": "raw_call", "cuda": "runtime"}
_NO_LIBRARY = (
    "no mode and no rung differs by it alone: what libraries take before they launch is in the rest"
)


@dataclass(frozen=True)
class Part:
    """What one layer takes of a forward's host time, found in one way.

    `seconds` per forward and its `share` of the whole, None with the `reason` where it cannot be
    told apart; `basis` says what it rests on.
    """

    layer: Layer
    way: Way
    basis: str
    seconds: Estimate | None = None
    share: Estimate | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Split:
    """A case's host time and its parts; without parts, `reason` says why."""

    case: Case
    whole: FrameworkTime
    parts: tuple[Part, ...] = ()
    reason: str | None = None

    def get(self, layer: Layer, way: Way) -> Part:
        """That part. Errors: `KeyError`."""
        return {(each.layer, each.way): each for each in self.parts}[layer, way]


def splits(
    cases: Sequence[Case], rows: Sequence[LadderRow] = (), confidence: float = 0.95
) -> list[Split]:
    """One for every timed case that is no twin, in their order; `rows` are the ladder's."""
    twins = twins_of(cases)
    timed = [
        each for each in cases if each.status == "ok" and each.latency is not None and not each.twin
    ]
    wholes = [_whole(case, twins.get(workload(case)), confidence) for case in timed]
    by_mode = {
        (_but_mode(case), case.mode): (case, whole)
        for case, whole in zip(timed, wholes, strict=True)
    }
    found = []
    for case, whole in zip(timed, wholes, strict=True):
        reason = _why_not(case, whole)
        if reason is not None:
            found.append(Split(case, whole, reason=reason))
            continue
        others = {mode: pair for (key, mode), pair in by_mode.items() if key == _but_mode(case)}
        parts = [*_by_modes(case, whole, others), *_by_rungs(case, whole, rows)]
        found.append(Split(case, whole, tuple(parts)))
    return found


def _whole(case: Case, twin: Case | None, confidence: float) -> FrameworkTime:
    """Host time of the case: its own on a GPU, that of its twin on the cpu or where it waits."""
    own = host_time(case, confidence)
    return own if own.seconds is not None else twin_time(case, twin, confidence)


def _why_not(case: Case, whole: FrameworkTime) -> str | None:
    if case.mode not in _LAYERS:
        return f"{case.mode} does not dispatch operation by operation: no layers to tell apart"
    return None if whole.seconds else f"its host time is not known: {whole.reason}"


def _by_modes(
    case: Case, whole: FrameworkTime, others: dict[str, tuple[Case, FrameworkTime]]
) -> list[Part]:
    parts = []
    if case.mode == "eager":
        basis = "eager less torchscript"
        reason = _incomparable(case, others.get("torchscript"), same_operations=True)
        parts.append(_less("python", basis, whole, others.get("torchscript"), reason))
    if case.mode in ("eager", "torchscript") and case.device != "cpu":
        script, graph = others.get("torchscript"), others.get("cuda_graph")
        basis = "torchscript less cuda_graph"
        reason = _incomparable(case, script, same_operations=True)
        reason = reason or _incomparable(case, graph, same_operations=False)
        upper = script[1] if script else whole
        parts.append(_less("dispatcher_and_launch_path", basis, upper, graph, reason, whole))
    return parts


def _incomparable(
    case: Case, other: tuple[Case, FrameworkTime] | None, *, same_operations: bool
) -> str | None:
    """Why the host time of `other` cannot be subtracted, if it cannot."""
    if other is None:
        return "the other mode was not measured on this workload"
    there, time = other
    if time.seconds is None:
        return f"host time in {there.mode} is not known: {time.reason}"
    if not same_operations:
        return None
    share = executed_difference(case, there)
    if share is None:
        return "the operations that both modes execute were not counted"
    if share > LARGEST_TWIN_DIFFERENCE:
        return (
            f"{there.mode} executes other operations ({share:.1%} of them, more than "
            f"{LARGEST_TWIN_DIFFERENCE:.0%})"
        )
    return None


def _less(
    layer: Layer,
    basis: str,
    upper: FrameworkTime,
    lower: tuple[Case, FrameworkTime] | None,
    reason: str | None,
    whole: FrameworkTime | None = None,
) -> Part:
    if reason is not None or lower is None or not upper.seconds or not lower[1].seconds:
        return Part(layer, "modes", basis, reason=reason)
    seconds = stats.difference(upper.seconds, lower[1].seconds)
    return Part(layer, "modes", basis, seconds, _share(seconds, (whole or upper).seconds))


def _by_rungs(case: Case, whole: FrameworkTime, rows: Sequence[LadderRow]) -> list[Part]:
    assert whole.seconds is not None
    operations = sum(case.executed.values())
    parts = [
        _times(layer, _row(rows, case, rung), rung, operations, "operations", whole.seconds)
        for layer, rung in _LAYERS[case.mode]
    ]
    rung = _LAUNCH_RUNG[case.device.partition(":")[0]]
    launches = operations if case.device == "cpu" else _launches(case)
    what = "operations" if case.device == "cpu" else "launches"
    parts.append(_times("launch_path", _row(rows, case, rung), rung, launches, what, whole.seconds))
    parts.append(Part("library", "rungs", "", reason=_NO_LIBRARY))
    parts.append(_rest(whole.seconds, [each for each in parts if each.layer != "library"]))
    return parts


def _times(
    layer: Layer, row: LadderRow | None, rung: str, count: int, what: str, whole: Estimate
) -> Part:
    """`count` times what the rung costs: its increment, or for the launch path all of it."""
    cost = None if row is None else row.slope if layer == "launch_path" else row.increment
    kind = "cost" if layer == "launch_path" else "increment"
    basis = f"{count} {what} at the {kind} of {rung}"
    if row is None or cost is None:
        why = "was not measured" if row is None or row.slope is None else "has no rung below it"
        return Part(layer, "rungs", basis, reason=f"the rung {rung} {why}")
    if not count:
        return Part(layer, "rungs", basis, reason=f"its {what} were not counted")
    scaled = [None if end is None else end * count for end in cost]
    seconds = Estimate(cost.value * count, scaled[1], scaled[2])
    return Part(layer, "rungs", basis, seconds, _share(seconds, whole))


def _rest(whole: Estimate, parts: Sequence[Part]) -> Part:
    basis = "host time less the layers: modules, larger operations, libraries"
    left = whole
    for each in parts:
        if each.seconds is None:
            reason = f"{each.layer} is not known: {each.reason}"
            return Part("rest", "rungs", basis, reason=reason)
        left = stats.difference(left, each.seconds)
    return Part("rest", "rungs", basis, left, _share(left, whole))


def _share(part: Estimate, whole: Estimate | None) -> Estimate | None:
    """Part over whole, the whole taken as it is: its noise is small beside the part's."""
    if whole is None or whole.value <= 0:
        return None
    ends = [None if end is None else end / whole.value for end in part]
    return Estimate(part.value / whole.value, ends[1], ends[2])


def _row(rows: Sequence[LadderRow], case: Case, rung: str) -> LadderRow | None:
    """The rung on the case's device; of several, that with the least number of arguments, since
    increments over it are taken there (`ladder_view`).
    """
    own = [row for row in rows if row.rung == rung and row.summary.device == case.device]
    return min((row for row in own if row.slope), key=lambda row: row.arguments or 0, default=None)


def _launches(case: Case) -> int:
    return 0 if case.device_pass is None else len(case.device_pass.calls)


def _but_mode(case: Case) -> tuple[object, ...]:
    sizes = (case.batch, case.sequence, case.image, case.audio)
    return case.model, case.device, case.dtype, case.lengths, case.steps, *sizes
