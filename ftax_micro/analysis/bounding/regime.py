"""Which of its bounds explains a latency (docs/bounds.md).

* device-bound: the device bound is at least 90 % of it. Of what kind, the measured peaks tell:
  kernel-latency-bound where the work would take under half of the time at its peak, else compute-
  or memory-bound;
* launch-bound: the mode's own bound is, and the device bound is not;
* framework-bound: neither is.

An interval on both sides of a line leaves it `ambiguous`; a bound that exceeds the latency beyond
its interval makes it `invalid`. On the cpu operations run inline: nothing there is launch-bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Literal

from ftax_micro.analysis.bounding.bounds import Bound, Bounds
from ftax_micro.records import Case, Roofline

Name = Literal["framework-bound", "launch-bound", "device-bound", "ambiguous", "invalid"]
Kind = Literal["compute-bound", "memory-bound", "kernel-latency-bound"]
# Of the latency: what a bound explains.
LINE = 0.9
# Of the busy time: the least that work at its peak takes for that peak to be what binds.
_AT_PEAK = 0.5


@dataclass(frozen=True)
class RooflineUse:
    """What a forward's work would take at the measured peaks, and what it took; seconds.

    `memory_s` counts weights as read once, and what operations write as written and read once: more
    than modes that fuse them move.
    """

    compute_s: float
    memory_s: float | None
    busy_s: float

    @property
    def share(self) -> float:
        """The larger of both over the busy time."""
        return max(self.compute_s, self.memory_s or 0.0) / self.busy_s

    @property
    def kind(self) -> Kind | None:
        """What binds it; None where the memory's part is not known and might."""
        if self.share >= _AT_PEAK:
            return "compute-bound" if self.compute_s >= (self.memory_s or 0.0) else "memory-bound"
        return None if self.memory_s is None else "kernel-latency-bound"


@dataclass(frozen=True)
class Regime:
    """What binds a forward, and in a sentence why; `kind` only of what is device-bound.

    `candidates` are the regimes between which it is ambiguous.
    """

    name: Name
    reason: str
    kind: Kind | None = None
    candidates: tuple[str, ...] = ()

    @property
    def paper(self) -> Literal["framework-bound", "compute-bound"] | None:
        """The paper's word for it, which knows two and counts launches as the framework's."""
        if self.name in ("framework-bound", "launch-bound"):
            return "framework-bound"
        return "compute-bound" if self.name == "device-bound" else None

    @property
    def text(self) -> str:
        """The most exact word for it."""
        return self.kind or self.name


def regime(bounds: Bounds, use: RooflineUse | None = None) -> Regime | None:
    """The regime of `bounds`; None where those that decide are not known."""
    if bounds.device is None:
        return None
    wrong = _invalid(bounds)
    if wrong is not None:
        return Regime("invalid", wrong)
    by_device = _reaches(bounds.device, bounds)
    if by_device is True:
        kind = use.kind if use else None
        return Regime("device-bound", _explains("device bound", bounds.device), kind)
    inline = bounds.path == "inline"
    by_own = False if inline else _reaches(bounds.own, bounds) if bounds.own else None
    possible = _possible(by_device, by_own, known=inline or bounds.own is not None)
    if possible is None:
        return None
    if len(possible) > 1:
        decides = bounds.device if by_device is None or bounds.own is None else bounds.own
        return Regime("ambiguous", _straddles(decides, possible), candidates=possible)
    if possible == ("launch-bound",) and bounds.own is not None:
        return Regime("launch-bound", _explains("bound of its own launches", bounds.own))
    return Regime("framework-bound", _framework(bounds))


def _possible(
    by_device: bool | None, by_own: bool | None, *, known: bool
) -> tuple[str, ...] | None:
    """The regimes that it can be; None where the own bound is not known and decides."""
    found: tuple[str, ...] = () if by_device is False else ("device-bound",)
    if not known:
        return None
    if by_own is not False:
        found = (*found, "launch-bound")
    if by_own is not True:
        found = (*found, "framework-bound")
    return found


def _ends(bound: Bound, bounds: Bounds) -> tuple[float, float] | None:
    """Where the share could lie, for any truth of the floor's corrections; None: no interval."""
    if bound.share.low is None or bound.share.high is None:
        return None
    value, latency = bound.seconds.value, bounds.latency.value
    low, high = ((end - value) / latency for end in bound.systematic)
    return bound.share.low + low, bound.share.high + high


def _reaches(bound: Bound, bounds: Bounds) -> bool | None:
    """Whether the bound is at least the line of the latency; None where that is open."""
    ends = _ends(bound, bounds)
    if ends is None or ends[0] < LINE <= ends[1]:
        return None
    return ends[0] >= LINE


def _invalid(bounds: Bounds) -> str | None:
    for name, bound in (("device bound", bounds.device), ("own bound", bounds.own)):
        ends = None if bound is None else _ends(bound, bounds)
        if bound is not None and ends is not None and ends[0] > 1:
            share = f"{bound.share.value:.1%}"
            return f"its {name} is {share} of the latency: a floor, clock or duration is wrong"
        if ends is not None and ends[1] < 0:
            return f"its {name} is negative: the zero-work twin takes longer than the model"
    return None


def _explains(name: str, bound: Bound) -> str:
    return f"the {name} is {bound.share.value:.1%} of the latency"


def _straddles(bound: Bound, possible: Iterable[str]) -> str:
    either = " or ".join(possible)
    if bound.share.low is None or bound.share.high is None:
        return f"{either}: too few samples for an interval"
    between = f"{bound.share.low:.1%} and {bound.share.high:.1%}"
    return f"{either}: the bound is between {between} of the latency, the line at {LINE:.0%}"


def _framework(bounds: Bounds) -> str:
    bound = bounds.own or bounds.device
    assert bound is not None  # the device bound is known here
    return f"no bound explains more than {bound.share.value:.1%} of the latency"


def roofline_use(
    case: Case, rooflines: Iterable[Roofline], busy_s: float | None
) -> RooflineUse | None:
    """What the work of `case` would take at the peaks of its device, beside a busy time; None where
    MACs, the peak of its dtype or the busy time are not known.
    """
    peaks = {
        (row.operation, row.dtype): row.work / median(row.data.samples)
        for row in rooflines
        if row.device == case.device and row.data is not None and row.data.samples
    }
    product = peaks.get(("matmul", case.dtype))
    if case.macs is None or not product or busy_s is None or busy_s <= 0:
        return None
    copy = next((peak for (operation, _), peak in peaks.items() if operation == "copy"), None)
    memory_s = None
    if copy and case.weight_bytes is not None and case.activation_bytes is not None:
        memory_s = (case.weight_bytes + 2 * case.activation_bytes) / copy
    return RooflineUse(2 * case.macs / product, memory_s, busy_s)
