"""Operations of several streams: which are of one, and which overlap what is before them there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def stream_places(stream: Integers) -> Iterator[slice | Integers]:
    """The places of each stream's operations, in their order; `stream` (N,) has their streams."""
    if stream.size == 0:
        return
    if np.all(stream == stream[0]):
        yield slice(None)
        return
    order = np.argsort(stream, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(stream[order])) + 1)


def of_stream(value: Array, place: slice | Integers) -> Array:
    """Of what is (…, N), or (…, 1) where it is the same for all: the operations at `place`."""
    return value if value.shape[-1] == 1 else value[..., place]


def earlier(group: Integers, number: ArrayLike) -> Integers:
    """(M,): how much of `number` (M,) what is before each of the same `group` (M,) has in all."""
    each = np.asarray(number, dtype=np.int64)
    found = np.zeros_like(each)
    for one in np.unique(group):
        mine = group == one
        found[mine] = np.cumsum(each[mine]) - each[mine]
    return found


def overlapping(stream: Integers, start_s: ArrayLike, duration_s: ArrayLike) -> Booleans:
    """(N,): which operations begin before all that is before them in their stream has ended.

    `start_s` and `duration_s` are (N,) or (forwards, N): of several forwards, the median counts.
    """
    starts = np.atleast_2d(np.asarray(start_s, dtype=float))
    ends = starts + np.atleast_2d(np.asarray(duration_s, dtype=float))
    found = np.zeros(starts.shape[-1], dtype=bool)
    for place in stream_places(stream):
        until = np.maximum.accumulate(ends[:, place], axis=1)[:, :-1]
        early = np.median(starts[:, place][:, 1:] - until, axis=0) < 0
        found[np.arange(found.size)[place][1:]] = early
    return found
