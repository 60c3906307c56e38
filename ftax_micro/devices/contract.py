"""What a device offers the rest: facts about itself and a list of floor rows.

A row is data plus one function, so that `--list`, `--probe` and `--axis` need no device knowledge
and a new row is one function and one line.

Some points cannot be measured in the process that asks for them. One whose setting names a
`TRACER` is measured in a process of its own, where that tracer was started before the driver: a
tracer changes every later time of its process, and stays attached until it ends. One that finds its
needs unmet here, and would not elsewhere, raises `errors.NeedsOwnProcess`.
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


# The key of a setting that names the tracer under which the point is measured.
TRACER = "tracer"


@dataclass(frozen=True)
class Subtracted:
    """Another row of the device whose value is part of a row's, and is taken off it.

    `name` is the other row's, measured at the row's own setting and `setting` on top.
    """

    name: str
    setting: Setting


@dataclass(frozen=True)
class FloorRow:
    """One row of the launch anatomy (docs/launch_anatomy.md).

    `settings` are its points in a default run, `axes` the further points that ``--axis NAME``
    varies one at a time. `measure` raises `errors.Skip` with the reason where the row cannot run
    here, `errors.NeedsOwnProcess` where it can, but not in this process. What is `subtracted` is
    measured along with the row, and becomes one of its corrections. More than one of `processes`:
    the row is measured again in fresh ones, which share its time with the first, since part of what
    it takes is settled as a process is loaded.
    """

    name: str
    summary: str
    measure: Callable[[Setting, Plan], Outcome]
    settings: Sequence[Setting] = ({},)
    axes: Mapping[str, Sequence[Setting]] = field(default_factory=dict)
    subtracted: Subtracted | None = None
    processes: int = 1


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
