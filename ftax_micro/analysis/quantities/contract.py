"""What a kind of result gives to a comparison: its numbers, and all that may be asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ftax_micro.records import Setting, Status
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

Unit = Literal["s", "count"]
# An aspect that has to agree, unless it is models that are compared.
PARAMETERS = "number of parameters"
# A number may be a little off without being another; a word may not.
Fact = str | float


@dataclass(frozen=True)
class Value:
    """What one result says of a quantity, in seconds unless `unit` says ``count``; None where it
    says nothing, and `reason` why.

    `low`/`high` is the statistical interval, `systematic_low`/`systematic_high` where the value
    could lie for any truth of what was corrected; `step` is what the clock's tick leaves of it.
    `samples` of `processes` processes are behind it. `slowdown` is how many times slower than at
    its fastest in the run a core was meanwhile, where that is too much (`core_speed`), `hop_s` what
    a cache line took between its two cores and back (`core_distance`), `work_s` seconds per round
    of the fixed work beside its undisturbed samples (`undisturbed.works`). `notes` are what else a
    reader has to know.
    """

    status: Status
    reason: str | None = None
    unit: Unit = "s"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    systematic_low: float | None = None
    systematic_high: float | None = None
    step: float = 0.0
    samples: int = 0
    processes: int = 1
    slowdown: float | None = None
    hop_s: float | None = None
    work_s: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def half_width(self) -> float | None:
        """Half the statistical interval, in the unit of `value`."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def absence(self) -> str | None:
        """Why there is no number, in words; None where there is one."""
        if self.status == "ok" and self.value is not None:
            return None
        return f"{self.status}: {self.reason}" if self.reason else self.status


@dataclass(frozen=True)
class Rounds:
    """Medians of blocks that took turns, in seconds: of equal `run` in one result, the n-th of one
    quantity and the n-th of another were taken in the same round.
    """

    run: str
    medians: tuple[float, ...]


@dataclass(frozen=True)
class Quantity:
    """One number of one result. Of several results those are compared whose `device` matches and
    whose `name`, `quantity` and `setting` are equal.

    `quantity` names it where one thing has several. `estimate` is the value with its interval at a
    confidence, None where there is no value. What is `alike` has to agree, where both tell, for
    two numbers to mean the same; `facts` may differ, and the reader is told. `signed`: it may be
    zero or less. `source` is what it was computed from: where that is equal, so is the number.
    """

    device: str
    name: str
    setting: Setting
    value: Value
    quantity: str | None = None
    estimate: Callable[[float], Estimate] | None = field(default=None, repr=False, compare=False)
    signed: bool = False
    alike: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Fact] = field(default_factory=dict)
    rounds: Rounds | None = None
    source: object = None


@dataclass(frozen=True)
class Kind:
    """A kind of numbers. `quantities` finds those of a result, with values at a confidence, none
    where it has none of the kind; `missing` then says so.

    `name_key` is what names of this kind are: ``row``, ``rung`` or ``model``. `repeatable`: a run
    can repeat them in fresh processes.
    """

    name: str
    title: str
    missing: str
    name_key: str
    repeatable: bool
    quantities: Callable[[Result, float], Sequence[Quantity]]
