"""What the bounds need of a launch floor, out of the rows of a result (docs/bounds.md).

Each is a value with its interval, and can be drawn anew from its row's samples, so that a bound has
the floor's uncertainty in its own. What was not measured is None, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist, median

import numpy as np
from numpy.typing import ArrayLike

from ftax_micro import stats
from ftax_micro.analysis.bounding.pipeline import Array, CallKind, Floor
from ftax_micro.analysis.floor.gap import duration_correction
from ftax_micro.analysis.resampling import Draw, median_draw, percentile_interval, row_draw
from ftax_micro.analysis.summary import setting_text, summarise
from ftax_micro.records import Measurement, Setting
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

_TRACER = "tracer"
_RESAMPLES = 1000
_STREAM = 1
_INLINE = "operations run inline on the cpu"
_PART = "part"

# The rows whose call each kind of call is, and their setting; of several, the least.
_SUBMIT: dict[CallKind, tuple[tuple[str, Setting], ...]] = {
    CallKind.LAUNCH: (("submit", {}), ("submit", {"api": "runtime"})),
    CallKind.COPY: (("memcpy_h2d", {_PART: "submit"}), ("memcpy_d2h", {_PART: "submit"})),
    CallKind.SET: (("memset", {_PART: "submit"}),),
    CallKind.GRAPH: (("graph_launch", {_PART: "host"}),),
}


@dataclass(frozen=True)
class FloorValue:
    """One cost in seconds, corrections taken off.

    `systematic` is where the value could lie for any truth of the corrections. `drawn` gives so
    many values from resamples of its samples.
    """

    estimate: Estimate
    systematic: tuple[float, float]
    drawn: Draw = field(repr=False, compare=False)


def given_value(value_s: float) -> FloorValue:
    """A cost that someone states: without samples, and without an interval but itself."""

    def drawn(resamples: int, _: np.random.Generator) -> Array:
        return np.full(resamples, value_s)

    return FloorValue(Estimate(value_s, value_s, value_s), (value_s, value_s), drawn)


def sampled_value(samples: Sequence[float], confidence: float = 0.95) -> FloorValue:
    """The median of samples that need no correction. Errors: `ValueError` without samples."""
    estimate = stats.median_interval(samples, confidence)
    return FloorValue(estimate, (estimate.value, estimate.value), median_draw(samples))


@dataclass(frozen=True)
class FloorValues:
    """The costs of one device; None where not measured, and `reasons` says why, by name.

    `to_start` is the lower of those after another launch and after rest, `gap` what kernels of all
    lengths have in common, `submit` the host's time by kind of call. `graph_launch` and
    `graph_node` are a and b of a replay from end to end, `graph_submit_node` the host's b,
    `kernel_duration` that of the null kernel, `call_direct` that of a plain call.
    """

    to_start: FloorValue | None = None
    gap: FloorValue | None = None
    sync: FloorValue | None = None
    submit: Mapping[CallKind, FloorValue] = field(default_factory=dict)
    graph_launch: FloorValue | None = None
    graph_node: FloorValue | None = None
    graph_submit_node: FloorValue | None = None
    kernel_duration: FloorValue | None = None
    call_direct: FloorValue | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_graph(self) -> bool:
        """Whether what a replay costs the device is known."""
        return None not in (self.graph_launch, self.graph_node, self.kernel_duration)

    def why_not(self, *names: str) -> str | None:
        """Why the first of `names` that is missing is; None where all are there."""
        missing = [name for name in names if name in self.reasons]
        return self.reasons[missing[0]] if missing else None

    def point(self) -> Floor:
        """The values. Errors: `ValueError` without `to_start` or `sync`."""
        return self._floor(lambda each: each.estimate.value)

    @cached_property
    def corners(self) -> Floor:
        """The values, and the least and the most that each could be for any truth of the
        corrections, arrays of (3,). Errors as `point`.
        """
        return self._floor(lambda each: np.array([each.estimate.value, *each.systematic]))

    def drawn(self, resamples: int, rng: np.random.Generator) -> Floor:
        """All of them drawn anew, arrays of (resamples,). Errors as `point`."""
        return self._floor(lambda each: each.drawn(resamples, rng))

    def drawn_for(self, resamples: int, seed: int) -> Floor:
        """As `drawn`, once for all who ask for the same: the cases of a result have one floor."""
        key = (resamples, seed)
        if key not in self._drawings:
            # Not the numbers that latencies and durations are drawn with.
            self._drawings[key] = self.drawn(resamples, np.random.default_rng([seed, _STREAM]))
        return self._drawings[key]

    @cached_property
    def _drawings(self) -> dict[tuple[int, int], Floor]:
        return {}

    def _floor(self, of: Callable[[FloorValue], ArrayLike]) -> Floor:
        """A `Floor` of one number of each; a gap that was not measured counts as none."""
        if self.to_start is None or self.sync is None:
            raise ValueError(self.why_not("to_start", "sync") or "to_start and sync are needed")
        sync = of(self.sync)
        start = gap = None
        if self.graph_launch and self.graph_node and self.kernel_duration:
            gap = np.subtract(of(self.graph_node), of(self.kernel_duration))
            start = of(self.graph_launch) - np.asarray(sync) + gap
        return Floor(
            to_start=of(self.to_start),
            gap=0.0 if self.gap is None else of(self.gap),
            sync=sync,
            submit={kind: of(each) for kind, each in self.submit.items()},
            graph_submit_node=0.0 if self.graph_submit_node is None else of(self.graph_submit_node),
            graph_start=start,
            graph_gap=gap,
        )


def floor_values(result: Result, device: str, wait: str = "spin") -> FloorValues:
    """The costs of `device` in a result's floor rows, waiting as `wait` says.

    A device of kind cpu has `call_direct` alone.
    """
    rows = _Rows(result, device)
    if any(each.name == device and each.kind == "cpu" for each in result.devices):
        names = ("to_start", "gap", "sync", "submit", "graph_launch", "graph_node")
        reasons = dict.fromkeys((*names, "graph_submit_node", "kernel_duration"), _INLINE)
        direct = rows.one("call_direct", {})
        return FloorValues(call_direct=direct, reasons={**reasons, **rows.reasons})
    starts = [each.setting for each in rows.named("to_start") if set(each.setting) <= {"idle_ns"}]
    submits = {kind: rows.least(wanted, submit_name(kind)) for kind, wanted in _SUBMIT.items()}
    host = _Rows(result, "cpu")
    return FloorValues(
        to_start=rows.least([("to_start", each) for each in starts], "to_start"),
        gap=rows.common_gap(),
        sync=rows.one("sync", {"wait": wait}),
        submit={kind: each for kind, each in submits.items() if each is not None},
        graph_launch=rows.one("graph_launch", {_PART: "end_to_end"}),
        graph_node=rows.one("graph_node", {_PART: "end_to_end"}),
        graph_submit_node=rows.one("graph_node", {_PART: "host"}, "graph_submit_node"),
        kernel_duration=rows.null_kernel(),
        call_direct=host.one("call_direct", {}),
        reasons={**host.reasons, **rows.reasons},
    )


def submit_name(kind: CallKind) -> str:
    """The name under which the reason of a kind's cost is kept."""
    return f"submit_{kind.name.lower()}"


class _Rows:
    """The floor rows of one device, and why some have no value."""

    def __init__(self, result: Result, device: str) -> None:
        self._rows = [row for row in result.measurements if row.device == device]
        self._confidence = result.plan.confidence
        self._device = device
        self.reasons: dict[str, str] = {}

    def named(self, name: str) -> Iterable[Measurement]:
        """The untraced rows called so."""
        return (row for row in self._rows if row.name == name and _TRACER not in row.setting)

    def one(self, name: str, setting: Setting, called: str | None = None) -> FloorValue | None:
        """A row's value; None, with the reason kept, where it has none."""
        return self.least([(name, setting)], called or name)

    def least(self, wanted: Sequence[tuple[str, Setting]], called: str) -> FloorValue | None:
        """The least value of the rows that have one; None, with the reason kept, where none has."""
        found, why = [], f"{called} was not measured on {self._device}"
        for name, setting in wanted:
            group = [row for row in self._rows if row.name == name and row.setting == setting]
            if group and all(row.data is not None for row in group):
                found.append(_value(group, self._confidence))
            elif group:
                reason = next(row.reason for row in group if row.data is None)
                why = f"{name} {setting_text(setting)}".strip() + f" has no value: {reason}"
            else:
                why = f"{name} {setting_text(setting)}".strip() + " was not measured"
        if not found:
            self.reasons[called] = why
        return min(found, key=lambda each: each.estimate.value, default=None)

    def common_gap(self) -> FloorValue | None:
        """The median of the gaps of kernels of several lengths (`gap.common_gaps`)."""
        groups: dict[str, list[Measurement]] = {}
        for row in self.named("gap"):
            groups.setdefault(setting_text(row.setting), []).append(row)
        whole = [group for group in groups.values() if all(row.data for row in group)]
        if not whole:
            rows = [row for group in groups.values() for row in group]
            why = next((f" has no value: {row.reason}" for row in rows), " was not measured")
            self.reasons["gap"] = "gap" + why
            return None
        each = [_value(group, self._confidence) for group in whole]
        draw = _middle_draw(whole)
        value = median(one.estimate.value for one in each)
        estimate = percentile_interval(
            value, draw(_RESAMPLES, np.random.default_rng(0)), self._confidence
        )
        low, high = (median(one.systematic[end] for one in each) for end in (0, 1))
        return FloorValue(estimate, (low, high), draw)

    def null_kernel(self) -> FloorValue | None:
        """The mean traced duration of the kernel that does nothing, as `gap` takes it off: what a
        tracer's coarse clock does to a median would add up over a graph's nodes.
        """
        rows = [row for row in self._rows if row.name == "kernel_duration"]
        rows = [row for row in rows if row.setting.get("spin_ns") == 0]
        data = [row.data for row in rows if row.data is not None]
        if not rows or len(data) < len(rows):
            reason = next((f" has no value: {r.reason}" for r in rows if r.data is None), None)
            self.reasons["kernel_duration"] = "kernel_duration" + (reason or " was not measured")
            return None
        means = [duration_correction(each, "", self._confidence) for each in data]
        value = median(each.value_s for each in means)
        low, high = min(each.low_s for each in means), max(each.high_s for each in means)
        deviation = (high - low) / 2 / NormalDist().inv_cdf((1 + self._confidence) / 2)

        def drawn(resamples: int, rng: np.random.Generator) -> Array:
            return rng.normal(value, deviation, resamples)

        return FloorValue(Estimate(value, low, high), (value, value), drawn)


def _value(group: Sequence[Measurement], confidence: float) -> FloorValue:
    (row,) = summarise(group, confidence=confidence)
    assert row.value is not None  # every row of the group has data
    assert row.systematic_low is not None
    assert row.systematic_high is not None
    estimate = Estimate(row.value, row.low, row.high)
    systematic = (row.systematic_low, row.systematic_high)
    return FloorValue(estimate, systematic, row_draw(group))


def _middle_draw(groups: Sequence[Sequence[Measurement]]) -> Draw:
    """Draws the median of several rows."""
    draws = [row_draw(group) for group in groups]

    def drawn(resamples: int, rng: np.random.Generator) -> Array:
        return np.asarray(np.median(np.stack([draw(resamples, rng) for draw in draws]), axis=0))

    return drawn
