"""Sequences that come again: maximal repeats of a sequence, and which of them to take.

A repeat is maximal where no longer one around it comes as often, counted without overlap: of a
layer of twenty operations that is repeated twelve times, that is the layer, not what every two
neighbouring layers have in common. Sequences of one more at a time are numbered by those of one
less, so that all lengths up to `longest` cost `longest` sorts, and less the rarer repeats get.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Repeat:
    """A sequence of `length` symbols that begins at each of the places `first`, ascending, where
    neighbours may overlap.
    """

    length: int
    first: Integers


class _Level(NamedTuple):
    """Repeated sequences of one length: the number of each and its places, both ascending, and by
    number how often it comes without overlap.
    """

    number: Integers
    place: Integers
    apart: Integers


def maximal_repeats(symbols: Integers, longest: int, least: int) -> list[Repeat]:
    """Maximal repeats of 2 to `longest` symbols that come at least `least` times without overlap.

    Repeats of the full `longest` count as maximal. A symbol that comes once is in none, which keeps
    parts of the sequence apart.
    """
    found: list[Repeat] = []
    _, single = np.unique(symbols, return_inverse=True)
    level = _frequent(single, np.arange(len(symbols)), 1, least)
    for length in range(2, longest + 1):
        longer = _longer(level, single, length, least)
        found += _of_level(level, longer, length - 1, len(symbols)) if length > 2 else []
        level = longer
        if not len(level.place):
            return found
    return found + _of_level(level, _NOTHING, longest, len(symbols))


_NOTHING = _Level(*(np.empty(0, dtype=np.int64) for _ in range(3)))


def _longer(level: _Level, single: Integers, length: int, least: int) -> _Level:
    """The sequences of `length`: those of one less and the symbol behind."""
    inside = level.place + length - 1 < len(single)
    number, place = level.number[inside], level.place[inside]
    both = number * (single.max(initial=0) + 1) + single[place + length - 1]
    return _frequent(both, place, length, least)


def _frequent(key: Integers, place: Integers, length: int, least: int) -> _Level:
    """What has the same key is the same sequence."""
    if not len(key):
        return _NOTHING
    order = np.argsort(key, kind="stable")
    key, place = key[order], place[order]
    number = np.concatenate([[0], np.cumsum(np.diff(key) != 0)])
    apart = _apart(number, place, length)
    often = apart >= least
    kept = often[number]
    renumbered = np.cumsum(often) - 1
    return _Level(renumbered[number[kept]], place[kept], apart[often])


def _apart(number: Integers, place: Integers, length: int) -> Integers:
    """By number, how many of its places fit without overlap.

    Exact where those that overlap are equally far from each other, as in all that is periodic; else
    not less than that.
    """
    step = np.diff(place)
    begins = np.concatenate([[True], (np.diff(number) != 0) | (step >= length)])
    begin = np.flatnonzero(begins)
    members = np.diff(np.concatenate([begin, [len(place)]]))
    # Steps inside a cluster; a cluster of one has none.
    inner = np.concatenate([[0], np.where(begins[1:], 0, step)])
    widest = np.maximum.reduceat(inner, begin)
    nearest = np.minimum.reduceat(np.where(begins, length, inner), begin)
    even = -(-members // -(-length // np.maximum(nearest, 1)))
    span = place[begin + members - 1] - place[begin]
    fits = np.where((widest == nearest) | (members == 1), even, 1 + span // length)
    return np.bincount(number[begin], weights=fits).astype(np.int64)


def _of_level(level: _Level, longer: _Level, length: int, count: int) -> list[Repeat]:
    """The sequences of one length that none around them comes as often as."""
    if not len(level.place):
        return []
    around = np.zeros(count + 1, dtype=np.int64)  # one more at the end, for the place before 0
    around[longer.place] = longer.apart[longer.number]
    most = np.maximum(around[level.place], around[level.place - 1])
    border = np.flatnonzero(np.concatenate([[True], np.diff(level.number) != 0, [True]]))
    contained = np.maximum.reduceat(most, border[:-1])
    return [
        Repeat(length, level.place[border[each] : border[each + 1]])
        for each in np.flatnonzero(contained < level.apart).tolist()
    ]


def without_overlap(first: Integers, length: int) -> Integers:
    """Of ascending places the first, and each that begins where the last one taken has ended."""
    if len(first) < 2 or int(np.diff(first).min()) >= length:
        return first
    following = np.searchsorted(first, first + length).tolist()
    taken = [0]
    while (place := following[taken[-1]]) < len(first):
        taken.append(place)
    return first[taken]


def choose(
    repeats: Sequence[Repeat], worth: Array, least: int, most: int, within: float = 0.0
) -> list[Repeat]:
    """Up to `most` repeats that do not overlap, one after the other the one that is worth most.

    What a place of a repeat is worth is the sum of `worth` of its symbols but the first; what one
    has taken is nobody else's, and who has fewer than `least` places left is out. So is what is
    worth less than `within` times the first one.
    """
    before = np.concatenate([[0.0], np.cumsum(worth)])
    taken = np.zeros(len(worth) + 1, dtype=np.int64)
    used = taken  # how many places before each are taken

    def value(repeat: Repeat) -> float:
        return float((before[repeat.first + repeat.length] - before[repeat.first + 1]).sum())

    def left_of(repeat: Repeat) -> Repeat:
        free = repeat.first[used[repeat.first + repeat.length] == used[repeat.first]]
        return Repeat(repeat.length, without_overlap(free, repeat.length))

    # What is left of a repeat is never worth more than it was: only the head has to be looked at.
    queue = [(-value(each), number) for number, each in enumerate(repeats)]
    heapq.heapify(queue)
    chosen: list[Repeat] = []
    enough = 0.0
    while queue and len(chosen) < most:
        _, number = heapq.heappop(queue)
        left = left_of(repeats[number])
        gain = value(left)
        if len(left.first) < least or not gain > enough:
            continue
        if queue and -gain > queue[0][0]:
            heapq.heappush(queue, (-gain, number))
            continue
        enough = enough or within * gain
        chosen.append(left)
        taken[places_of(left)] = 1
        used = np.concatenate([[0], np.cumsum(taken[:-1])])
    return chosen


def places_of(repeat: Repeat) -> Integers:
    """All places of all its symbols."""
    return np.asarray((repeat.first[:, np.newaxis] + np.arange(repeat.length)).ravel())
