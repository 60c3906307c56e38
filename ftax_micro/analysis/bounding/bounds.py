"""Lower bounds of a latency, and what it has above them: the framework tax (docs/bounds.md).

On cuda, by the pipeline model, with ℓ, g, y the floor's `to_start`, `gap` and `sync`:

* device bound: the queue is never empty, ℓ + Σk + (N − 1) g + y for one stream;
* launch-limited bound: each operation launched into its stream, by a host that does nothing else;
* graph bound: all of them nodes of one graph, launched once;
* own bound: the calls that the mode makes, each at the floor of its kind. That is the
  launch-limited bound where it launches into streams, and the graph bound where it replays one.

On the cpu operations run inline, so that times add: with K the latency less that of the zero-work
twin, n operations and c the cost of a plain call, the device bound is K and the others are K + n c.

Tax is latency less the own bound, avoidable time latency less the graph bound. Nothing is clipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ftax_micro import stats
from ftax_micro.analysis.bounding.joint import (
    DeviceWork,
    Joint,
    draw_together,
    drawn_latency,
    estimate,
)
from ftax_micro.analysis.bounding.models import BOUNDS, BoundModel, bound_model
from ftax_micro.analysis.bounding.pipeline import Array, CallKind
from ftax_micro.analysis.floor.values import FloorValues, submit_name
from ftax_micro.stats import Estimate

Path = Literal["stream", "graph", "mixed", "inline"]
_GRAPH_COSTS = ("graph_launch", "graph_node", "kernel_duration")
NO_GAP = "the gap between queued operations was not measured and counts as 0"


@dataclass(frozen=True)
class Bound:
    """A latency that cannot be beaten; seconds.

    `share` is the bound over the latency, `above` the latency less the bound. `systematic` is where
    the bound could lie for any truth of the floor's corrections.
    """

    seconds: Estimate
    share: Estimate
    above: Estimate
    systematic: tuple[float, float]


@dataclass(frozen=True)
class Bounds:
    """A latency and its bounds; None where one has no value, and `reasons` says why, by name.

    `assumed` are sentences on what was taken for granted, `unchained` how many operations overlap
    what is before them in their stream.
    """

    latency: Estimate
    path: Path
    device: Bound | None = None
    launch: Bound | None = None
    graph: Bound | None = None
    own: Bound | None = None
    unchained: int = 0
    assumed: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def tax(self) -> Estimate | None:
        """The framework tax."""
        return None if self.own is None else self.own.above

    @property
    def tax_share(self) -> Estimate | None:
        """The tax over the latency."""
        return None if self.own is None else _rest(self.own.share)

    @property
    def avoidable(self) -> Estimate | None:
        """What replaying the same operations as one graph would save at most."""
        return None if self.graph is None else self.graph.above

    @property
    def avoidable_share(self) -> Estimate | None:
        """The avoidable time over the latency."""
        return None if self.graph is None else _rest(self.graph.share)

    @property
    def taxed(self) -> bool | None:
        """Whether the tax is distinguishable from zero; None without an interval."""
        if self.tax is None or self.tax.low is None or self.tax.high is None:
            return None
        return self.tax.low > 0 or self.tax.high < 0


def _rest(share: Estimate) -> Estimate:
    low, high = share.low, share.high
    return Estimate(
        1 - share.value, None if high is None else 1 - high, None if low is None else 1 - low
    )


def cuda_bounds(
    work: DeviceWork,
    latency: Sequence[float],
    floor: FloorValues,
    confidence: float = 0.95,
    seed: int = 0,
) -> Bounds:
    """The bounds of a forward on a GPU from samples of its latency.

    Errors: `ValueError` for no samples, or a median that is not positive.
    """
    return bounds_of(
        work,
        floor,
        _positive_median(latency, confidence),
        lambda: draw_together(work, floor, latency, confidence, seed),
        confidence,
    )


def bounds_of(
    work: DeviceWork,
    floor: FloorValues,
    latency: Estimate,
    draw: Callable[[], Joint],
    confidence: float = 0.95,
) -> Bounds:
    """The bounds of `latency`, of which `draw` gives drawings together with the floor and the
    durations; it is asked where the floor knows `to_start` and `sync`, without which there are
    no bounds.
    """
    kinds = work.calls.kind == CallKind.GRAPH
    path: Path = "stream" if not kinds.any() else "graph" if kinds.all() else "mixed"
    reasons = _reasons(work, floor)
    if "device" in reasons:
        return Bounds(latency, path, unchained=work.operations.unchained, reasons=reasons)
    joint = draw()
    found = {
        name: _cuda_bound(bound_model(name, work), floor, joint, latency, confidence)
        for name in BOUNDS
        if name not in reasons and not (name == "own" and path == "stream")
    }
    if path == "stream" and "launch" in found:
        found["own"] = found["launch"]
    return Bounds(
        latency=latency,
        path=path,
        unchained=work.operations.unchained,
        assumed=(NO_GAP,) if floor.gap is None else (),
        reasons=reasons,
        **found,
    )


def cpu_bounds(
    latency: Sequence[float],
    twin: Sequence[float],
    operations: int,
    floor: FloorValues,
    confidence: float = 0.95,
    seed: int = 0,
) -> Bounds:
    """The bounds of a forward of so many operations on the cpu, from samples of its latency and of
    its zero-work twin's. Errors: as `cuda_bounds`.
    """
    middle = _positive_median(latency, confidence)
    rng = np.random.default_rng(seed)
    resamples = stats.resamples_for(confidence)
    drawn = drawn_latency(latency, resamples, confidence, rng)
    twins = drawn_latency(twin, resamples, confidence, rng)
    reasons = {"graph": "nothing is replayed on the cpu, where operations run inline"}
    work = middle.value - float(np.median(twin))
    worked = None if drawn is None or twins is None else drawn - twins
    device = _bound(work, worked, (work, work), middle, drawn, confidence)
    whole = Bounds(middle, "inline", device=device, reasons=reasons)
    if floor.call_direct is None:
        why = floor.why_not("call_direct") or "call_direct was not measured"
        return replace(whole, reasons={**reasons, "launch": why, "own": why})
    called = operations * floor.call_direct.estimate.value
    calls = operations * floor.call_direct.drawn(resamples, rng)
    ends = [work + operations * each for each in floor.call_direct.systematic]
    launch = _bound(
        work + called,
        None if worked is None else worked + calls,
        (ends[0], ends[1]),
        *(middle, drawn, confidence),
    )
    return replace(whole, launch=launch, own=launch)


def _positive_median(samples: Sequence[float], confidence: float) -> Estimate:
    middle = stats.median_interval(samples, confidence)
    if not middle.value > 0:
        raise ValueError("a latency must be positive")
    return middle


def _reasons(work: DeviceWork, floor: FloorValues) -> dict[str, str]:
    """Why bounds have no value, by name: what of the floor they need and is not there."""
    own = [submit_name(CallKind(int(kind))) for kind in np.unique(work.calls.kind)]
    launch = [submit_name(CallKind(int(kind))) for kind in np.unique(work.kind)]
    every = ("to_start", "sync")
    needed = {
        "device": every,
        "launch": (*every, *launch),
        "graph": (*every, *_GRAPH_COSTS),
        "own": (*every, *own, *(_GRAPH_COSTS if work.replays else ())),
    }
    have = {*(submit_name(kind) for kind in floor.submit)}
    have |= {name for name in (*every, *_GRAPH_COSTS) if getattr(floor, name) is not None}
    found = {}
    for bound, names in needed.items():
        missing = next((name for name in names if name not in have), None)
        if missing is not None:
            found[bound] = floor.reasons.get(missing, f"{missing} is not known")
    return found


def _cuda_bound(
    model: BoundModel, floor: FloorValues, joint: Joint, middle: Estimate, confidence: float
) -> Bound:
    durations = model.operations.duration_s
    corners = model.latency(floor.corners, durations)
    value, *ends = (float(each) for each in np.broadcast_to(corners, 3))
    drawn = None
    if joint.latency is not None:
        drawn = joint.apply(lambda each: model.latency(each.floor, each.durations))
    systematic = (min(ends), max(ends))
    return _bound(value, drawn, systematic, middle, joint.latency, confidence)


def _bound(
    value: float,
    drawn: Array | None,
    systematic: tuple[float, float],
    latency: Estimate,
    latencies: Array | None,
    confidence: float,
) -> Bound:
    shares = None if drawn is None or latencies is None else drawn / latencies
    rests = None if drawn is None or latencies is None else latencies - drawn
    return Bound(
        seconds=estimate(value, drawn, confidence),
        share=estimate(value / latency.value, shares, confidence),
        above=estimate(latency.value - value, rests, confidence),
        systematic=systematic,
    )
