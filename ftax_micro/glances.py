"""How fast were the cores while a row was measured, and how far apart? Glances between its rounds.

A machine that is shared with others is disturbed for milliseconds at a time. A look before a row
and one after it (`DeviceState.fixed_work_s`) say nothing of what came and went in between; a glance
every millisecond costs a few hundredths of the row's time, and tells beside which samples a core
was slow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from ftax_micro.records import CoreSpeeds


class Sight(NamedTuple):
    """What a glance sees: by core, for each that the row uses, seconds per round of the fixed work;
    and, where these are two, seconds for a cache line from one to the other and back.
    """

    work_s: Mapping[str, float]
    hop_s: float | None = None


Glance = Callable[[], Sight]

# Neighbours stay for milliseconds; a glance takes some 10 to 100 µs (the worker may sleep).
_APART_S = 1e-3
# A tenth of a picosecond: a fiftieth of a percent of a round, and short in a file.
_DECIMALS = 13
# A tenth of a nanosecond: a thousandth of a hop.
_HOP_DECIMALS = 10


class Glances:
    """The glances beside one row; none where there is no way to take one."""

    def __init__(self, glance: Glance | None) -> None:
        self._glance = glance
        # Samples that a series had at each glance, and what was seen: one list, to which an
        # interruption adds a glance or none.
        self._seen: list[tuple[int, Sight]] = []
        self._taken_s = 0.0

    def take(self, samples: int) -> None:
        """Glance now, each series having so many samples; not twice at the same place."""
        if self._glance is None or (self._seen and self._seen[-1][0] == samples):
            return
        self._seen.append((samples, self._glance()))
        self._taken_s = time.perf_counter()

    def take_if_due(self, samples: int) -> None:
        """Glance unless the last one is less than a millisecond ago."""
        if self._glance is not None and time.perf_counter() - self._taken_s >= _APART_S:
            self.take(samples)

    def speeds(self) -> CoreSpeeds | None:
        """What was seen; None where nothing was, or only once."""
        if len(self._seen) < 2:
            return None
        marks = [samples for samples, _ in self._seen]
        works = [sight.work_s for _, sight in self._seen]
        hops = [sight.hop_s for _, sight in self._seen]
        return CoreSpeeds(
            work_s={core: [round(each[core], _DECIMALS) for each in works] for core in works[0]},
            hop_s=[round(hop_s, _HOP_DECIMALS) for hop_s in hops if hop_s is not None],
            samples=[after - before for before, after in pairwise(marks)],
        )
