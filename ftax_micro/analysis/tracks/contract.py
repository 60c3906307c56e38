"""What a timeline is made of: stretches of time in rows, one layer over the other.

Times are whole **nanoseconds** after the begin of the forward or step, since viewers have rows in
which a stretch must be over when the next one begins: seconds in floats would touch by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

NS = 1e-9
NONE = -1  # an operation that has no call
# What a file of timelines says of itself, so that nobody takes medians and schedules for a trace.
WRITER = "ftax_micro report"

Ints = NDArray[np.int64]
# Under a key that ends in `_s` seconds.
Fact = str | int | float | Sequence[int] | Sequence[str]
Facts = Mapping[str, Fact]


def nanoseconds(seconds: ArrayLike) -> Ints:
    """The nearest nanosecond: what was in order stays in order."""
    return np.rint(np.asarray(seconds, dtype=float) / NS).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Stretches:
    """Columns of one length; `kind` is ``kernel``, ``copy``, ``set``, ``graph`` or ``call``.

    `row` is the number of what did it, a stream or a host thread, and `rows` what each is called.
    `facts` are empty, or one for each.
    """

    name: Sequence[str]
    kind: Sequence[str]
    row: Ints
    rows: Mapping[int, str]
    start_ns: Ints
    end_ns: Ints
    facts: Sequence[Facts] = ()

    def __len__(self) -> int:
        return len(self.name)


_NO_TIMES = np.zeros(0, np.int64)
NOTHING = Stretches((), (), _NO_TIMES, {}, _NO_TIMES, _NO_TIMES)


@dataclass(frozen=True, eq=False)
class Layer:
    """One course of events: what was measured, or a schedule.

    It is over at `end_ns`: the latency or the bound. `call` has for each operation the place of the
    call that asked for it, or `NONE`. From `waits_ns` on, where given, the host waits for the
    device's end to reach it. `facts` are about the whole.
    """

    name: str
    measured: bool
    end_ns: int
    calls: Stretches
    operations: Stretches
    call: Ints
    waits_ns: tuple[int, int] | None = None
    facts: Facts | None = None


@dataclass(frozen=True, eq=False)
class Timeline:
    """One forward or step; the first layer is what was measured, the others schedules.

    `depth` is how many operations were asked for and not over, as (times in nanoseconds, counts):
    each count holds until the next time.
    """

    name: str
    layers: Sequence[Layer]
    depth: tuple[Ints, Ints]


class Planned(NamedTuple):
    """A timeline to be built: its name, and what makes one of a name."""

    name: str
    make: Callable[[str], Timeline]

    def build(self) -> Timeline:
        """The timeline; each call computes it anew."""
        return self.make(self.name)


_LEVELS = {0: "", 1: " (overlapping)"}


class Row(NamedTuple):
    """Stretches, by their places, of which none begins before what precedes it is over."""

    name: str
    which: Ints


def rows(found: Stretches) -> list[Row]:
    """The rows of a layer's stretches, by their numbers; in each they are in order of their start.

    What overlaps in one stream or thread goes to further rows, ``stream 7 (overlapping)``. Linear
    where nothing does, sorting aside.
    """
    made = []
    for number in np.unique(found.row).tolist():
        mine = np.flatnonzero(found.row == number)
        # Of what begins together, that without a duration first.
        mine = mine[np.lexsort((found.end_ns[mine], found.start_ns[mine]))]
        name = found.rows[number]
        for level, which in enumerate(_apart(found.start_ns[mine], found.end_ns[mine])):
            made.append(Row(name + _LEVELS.get(level, f" (overlapping {level})"), mine[which]))
    return made


def _apart(start: Ints, end: Ints) -> list[Ints]:
    """Places of stretches in order of their start, in as few lists as hold no overlap."""
    if not np.any(start[1:] < end[:-1]):
        return [np.arange(len(start))]
    lists: list[list[int]] = []
    until: list[int] = []
    for place, (begin, over) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        level = next((i for i, each in enumerate(until) if each <= begin), len(lists))
        if level == len(lists):
            lists.append([])
            until.append(0)
        lists[level].append(place)
        until[level] = over
    return [np.array(each, dtype=np.int64) for each in lists]


def queue_depth(asked_ns: Ints, end_ns: Ints) -> tuple[Ints, Ints]:
    """How many operations were asked for and not over, at each time when that changed."""
    times, place = np.unique(np.concatenate([asked_ns, end_ns]), return_inverse=True)
    steps = np.zeros(len(times), dtype=np.int64)
    np.add.at(steps, place[: len(asked_ns)], 1)
    np.add.at(steps, place[len(asked_ns) :], -1)
    return times, np.cumsum(steps)
