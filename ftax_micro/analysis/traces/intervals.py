"""Where intervals of time meet, pairwise; linear in the pairs that do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ftax_micro.analysis.traces.events import Ints


class Meetings(NamedTuple):
    """What pairs of intervals have in common, [begin, end), by the index of either."""

    one: Ints
    other: Ints
    begin: Ints
    end: Ints

    @property
    def length(self) -> Ints:
        """Nanoseconds of each."""
        return self.end - self.begin


def meetings(begin: Ints, end: Ints, other_begin: Ints, other_end: Ints) -> Meetings:
    """Where each of some intervals meets each of others, which must be in order and disjoint.

    Empty ones meet nothing.
    """
    low = np.searchsorted(other_end, begin, side="right")
    high = np.searchsorted(other_begin, end, side="left")
    one, other = pairs(low, np.where(end > begin, high, low))
    first = np.maximum(begin[one], other_begin[other])
    last = np.minimum(end[one], other_end[other])
    some = last > first
    return Meetings(one[some], other[some], first[some], last[some])


def pairs(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """All (i, j) with low[i] ≤ j < high[i], by i and then j."""
    counts = np.maximum(high - low, 0)
    one = np.repeat(np.arange(len(low)), counts)
    inside = np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts)
    return one, low[one] + inside
