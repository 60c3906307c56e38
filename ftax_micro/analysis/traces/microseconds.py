"""Microseconds as trace files write them, to whole nanoseconds.

They are integers, or have three decimals. A double cannot hold the decimals of the microseconds
since 1970, which is why later profilers count from a base time of their own; the files of those
between are read as decimal numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftax_micro.analysis.traces.events import Ints

# Below this many microseconds a double is near enough to three decimals to round back to them.
_EXACT = 2.0**43
_LARGEST = 1 << 52  # 142 years; as nanoseconds well inside 64 bits


def nanoseconds(values: Sequence[Any]) -> tuple[Ints, bool, NDArray[np.bool_]]:
    """Microseconds as whole nanoseconds, whether any had a fraction, and which are out of range.

    Takes ints, floats and Decimals. Whole and fractional part apart, because their product with
    1,000 together would round a second time.
    """
    array = np.array(values)
    if array.dtype.kind not in "if":  # Decimals, or integers of more than 64 bits
        array = np.array([Decimal(each) for each in values], dtype=object)
        beyond = np.array([abs(each) > _LARGEST for each in array], dtype=bool)
        array[beyond] = Decimal(0)
        exact = np.array([int((each * 1000).to_integral_value()) for each in array], dtype=np.int64)
        return exact, bool(np.any(exact % 1000)), beyond
    beyond = ~(np.abs(array) <= _LARGEST)
    if beyond.any():
        array = np.where(beyond, 0, array)
    whole = np.floor(array).astype(np.int64)
    fraction = np.rint((array - whole) * 1000).astype(np.int64)
    return whole * 1000 + fraction, bool(fraction.any()), beyond


def loses_decimals(value: Any) -> bool:
    """Whether decoding a number of microseconds as a double may have cost nanoseconds.

    A number with decimals only: also one that came out whole may have had others.
    """
    return type(value) is float and abs(value) > _EXACT
