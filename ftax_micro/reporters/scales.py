"""Logarithmic axes, alike in pages and pictures: ticks, what they say, where bars begin."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ftax_micro.analysis.report.figure import Axis
from ftax_micro.analysis.sheet import Unit
from ftax_micro.units import format_seconds

# Of sizes; a batch of 1,024 is no 1.024 k.
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_PREFIXED_FROM = 1e5
# More ticks than this overlap; beyond so many decades 2 and 5 between them do.
_MOST_TICKS, _DECADES_ALONE = 12, 2


def value_text(value: float, unit: Unit) -> str:
    """One number of a figure for people: seconds, or a size with the prefix of its thousands."""
    if unit is Unit.SECONDS:
        return format_seconds(value)
    for factor, prefix in _PREFIXES:
        if value >= factor and value >= _PREFIXED_FROM:
            return f"{value / factor:.4g} {prefix}"
    return f"{value:.4g}"


def ticks(axis: Axis, values: Sequence[float]) -> list[float]:
    """Decades, with 2 and 5 between few of them; few sizes of a sweep themselves."""
    distinct = sorted({value for value in values if value > 0})
    if not distinct:
        return []
    if axis.unit is not Unit.SECONDS and len(distinct) <= _MOST_TICKS and _apart(distinct):
        return distinct
    first, last = (math.floor(math.log10(each)) for each in (distinct[0], distinct[-1]))
    steps = (1, 2, 5) if last - first <= _DECADES_ALONE else (1,)
    # Beyond what is shown: a reader may pan.
    return [float(f"{step}e{n}") for n in range(first - 2, last + 3) for step in steps]


def _apart(values: Sequence[float]) -> bool:
    """Whether texts beside them would not touch."""
    return all(high / low > 1.2 for low, high in itertools.pairwise(values))


def bar_ends(values: Sequence[float]) -> tuple[float, float]:
    """Of an axis of bars, which have no beginning on it: the decade below the shortest, and room
    beyond the longest.
    """
    return 10.0 ** math.floor(math.log10(min(values) * 0.8)), max(values) * 1.6
