"""Seconds to text, at the edge and nowhere else.

Digits follow the interval: a value is shown to the place where its uncertainty begins, so that a
table never claims more than was measured.
"""

from __future__ import annotations

import math

_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
# In the order they are tried: "s" ends all of them.
_SUFFIXES = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))


def scale_of(value_s: float) -> tuple[float, str]:
    """The unit (seconds per unit, its symbol) in which `value_s` reads as 1 … 999."""
    size = abs(value_s)
    for factor, symbol in _SCALES:
        if size >= factor:
            return factor, symbol
    return _SCALES[-1]


def decimals_for(spread: float) -> int:
    """Decimal places that show `spread` (same unit as the value) to two significant digits."""
    if not math.isfinite(spread) or spread <= 0:
        return 3
    return min(4, max(0, 1 - math.floor(math.log10(spread))))


def format_seconds(value_s: float | None, spread_s: float | None = None) -> str:
    """`value_s` with its unit, rounded where `spread_s` (a half-width, seconds) begins.

    Without a spread three significant digits are shown, and all of those before the point.
    """
    if value_s is None:
        return "–"
    factor, symbol = scale_of(value_s)
    value = value_s / factor
    if spread_s is None:
        text = f"{value:.3g}"
        return f"{text if 'e' not in text else format(value, '.0f')} {symbol}"
    return f"{value:.{decimals_for(spread_s / factor)}f} {symbol}"


def format_interval(low_s: float | None, high_s: float | None) -> str:
    """An interval in the unit of its upper end, or a dash where there is none."""
    if low_s is None or high_s is None:
        return "–"
    factor, symbol = scale_of(max(abs(low_s), abs(high_s)))
    places = decimals_for((high_s - low_s) / 2 / factor)
    return f"{low_s / factor:.{places}f} … {high_s / factor:.{places}f} {symbol}"


def parse_seconds(text: str) -> float:
    """Seconds from ``10us``, ``0.5s``, ``2ms``, ``100ns`` or a plain number of seconds.

    Errors: `ValueError` for anything else, negative or not finite.
    """
    # Both signs for micro, µ and the Greek μ, are typed.
    number = text.strip().replace("\N{MICRO SIGN}", "u").replace("\N{GREEK SMALL LETTER MU}", "u")
    factor = 1.0
    for suffix, unit_s in _SUFFIXES:
        if number.endswith(suffix):
            number, factor = number.removesuffix(suffix), unit_s
            break
    try:
        value_s = float(number) * factor
    except ValueError:
        value_s = math.nan
    if not math.isfinite(value_s) or value_s < 0:
        raise ValueError(f"{text!r} is not a time: a number, then s, ms, us or ns")
    return value_s
