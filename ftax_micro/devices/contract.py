"""What a device offers the rest: facts about itself and a list of floor rows.

A row is data plus one function, so that `--list`, `--probe` and `--axis` need no device knowledge
and a new row is one function and one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ftax_micro.records import (
    ClockFacts,
    Correction,
    Data,
    DeviceFacts,
    DeviceState,
    FactValue,
    Plan,
    Setting,
    Verdict,
)


@dataclass(frozen=True)
class Outcome:
    """What one row measured at one setting."""

    data: Data
    corrections: list[Correction] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    facts: dict[str, FactValue] = field(default_factory=dict)


@dataclass(frozen=True)
class FloorRow:
    """One row of the launch anatomy (design §3).

    `settings` are its points in a default run, `axes` the further points that ``--axis NAME``
    varies one at a time. `measure` raises `errors.Skip` with the reason where the row cannot run
    here.
    """

    name: str
    summary: str
    measure: Callable[[Setting, Plan], Outcome]
    settings: Sequence[Setting] = ({},)
    axes: Mapping[str, Sequence[Setting]] = field(default_factory=dict)


class Device(Protocol):
    """An opened device. Close it; it holds threads or a context."""

    name: str
    clock: ClockFacts

    def describe(self) -> DeviceFacts:
        """Facts for the result file."""

    def rows(self) -> Sequence[FloorRow]:
        """All rows this device knows, in the order they are printed."""

    def state(self) -> DeviceState | None:
        """Clocks and throttling at this moment; None on devices without."""

    def close(self) -> None:
        """Give everything back. Safe to call twice."""
