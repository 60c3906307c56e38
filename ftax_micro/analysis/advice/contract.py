"""What can be done about a latency: one record for each thing to say, with the number it rests on.

Nothing is promised without a number. Where there is none, `NoAdvice` says why; where its interval
lies on both sides of the line, the sentence says that it is open (`advice_text`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ftax_micro.stats import Estimate


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Something to know or to do about a case or step; seconds.

    `case` is its full name without the mode, `name` a short one for sentences. `saving` is what
    goes of the `latency` if it is done, at most or as predicted, and `share` that over the latency.
    `told` False: a sentence for its like is enough, and only tables for programs have it.
    """

    kind: str
    source: str
    case: str
    name: str
    mode: str
    told: bool = True
    latency: Estimate | None = None
    saving: Estimate | None = None
    share: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class NoAdvice(Advice):
    """Nothing can be said of `subject`, and the `reason`."""

    subject: str
    reason: str
    kind: str = "none"


@dataclass(frozen=True, kw_only=True)
class Binding(Advice):
    """What binds the latency: `regime` in the most exact word, and `why`.

    `saving` and `share` are the framework tax, None where it is not known: no software can take off
    more. `device` is ``cpu`` or a GPU. `peak_share` is what the work would take at the device's
    measured peak over what it takes.
    """

    regime: str
    why: str
    device: str
    peak_share: float | None = None
    kind: str = "regime"


@dataclass(frozen=True, kw_only=True)
class Waiting(Advice):
    """The device has nothing to do for `saving` of the latency, most of it (`part`) by `cause`."""

    cause: str
    part: Estimate
    kind: str = "idle"


@dataclass(frozen=True, kw_only=True)
class FasterDevice(Advice):
    """What kernels twice as fast would save, and kernels that take no time (`limit`).

    `at_most`: upper limits of it, from the busy time, not predictions. `device` as in `Binding`.
    """

    limit: Estimate
    limit_share: Estimate
    at_most: bool
    device: str
    kind: str = "faster_device"


@dataclass(frozen=True, kw_only=True)
class OneGraph(Advice):
    """What replaying all operations as one graph would save; `at_most` as in `FasterDevice`."""

    at_most: bool
    kind: str = "graph"


@dataclass(frozen=True, kw_only=True)
class BestMode(Advice):
    """The mode that saves most over `reference`, of those that ran and computed the same.

    `latency` is the reference's, `best` the mode's, `ratio` one over the other. `rivals` are other
    modes whose ratio may be as large. There is no mode beside the reference: `ratio` is None.
    """

    reference: str
    best: Estimate | None = None
    ratio: Estimate | None = None
    rivals: tuple[str, ...] = ()
    kind: str = "mode"

    @property
    def sure(self) -> bool:
        """Whether the mode is faster beyond doubt."""
        return self.ratio is not None and self.ratio.low is not None and self.ratio.low > 1


@dataclass(frozen=True)
class Size:
    """A size of a sweep, and its latency over that of the smallest one."""

    value: float
    ratio: Estimate


@dataclass(frozen=True, kw_only=True)
class FreeSize(Advice):
    """How far a sweep along `axis` goes at no cost, from `first` on.

    `free` is the largest size within `FREE` of the smallest one's latency beyond doubt, `beyond`
    the next larger one that was measured; None where there is none. `crossover` is where the sweep
    changes its regime, `why_no_crossover` why that is not known. `latency` is the smallest one's.
    """

    axis: str
    first: float
    free: Size | None
    beyond: Size | None
    crossover: Estimate | None = None
    why_no_crossover: str | None = None
