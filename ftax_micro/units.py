"""Seconds to text, at the edge and nowhere else.

Digits follow the interval and the clock: a value is shown to the place where its uncertainty
begins, and never beyond the step it was measured in, so that a table never claims more than was
measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
# In the order they are tried: "s" ends all of them.
_SUFFIXES = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))

_SMALL_SHARE, _NARROW_SHARE = 0.1, 0.02
# A spread over its value under which it is what arithmetic makes of samples that are all the same.
_ROUNDING = 1e-12


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


def decimals_of_step(step: float) -> int:
    """Decimal places beyond which a value that comes in steps of `step` (same unit) has none."""
    # Steps are differences of floats: 1.0000000001 µs must not cost a place.
    return max(0, math.ceil(-math.log10(step) - 1e-3))


@dataclass(frozen=True)
class Digits:
    """One unit and one number of decimal places, for all the numbers of a row."""

    factor_s: float
    symbol: str
    places: int

    def text(self, value_s: float | None) -> str:
        """`value_s` with its unit, or a dash."""
        return "–" if value_s is None else f"{self._number(value_s)} {self.symbol}"

    def interval(self, low_s: float | None, high_s: float | None) -> str:
        """Both ends and their unit, or a dash where there is none."""
        if low_s is None or high_s is None:
            return "–"
        return f"{self._number(low_s)} … {self._number(high_s)} {self.symbol}"

    def plus_minus(self, value_s: float, spread_s: float) -> str:
        """A value, the half-width of what is known of it, and their unit."""
        return f"{self._number(value_s)} ± {self._number(spread_s)} {self.symbol}"

    def _number(self, value_s: float) -> str:
        text = f"{value_s / self.factor_s:.{self.places}f}"
        return text.removeprefix("-") if float(text) == 0 else text


def digits_for(value_s: float, spread_s: float | None = None, step_s: float = 0.0) -> Digits:
    """How to write `value_s`, known to within `spread_s` (a half-width), and in steps of `step_s`.

    Without a spread, or with one of 0: three significant digits, and all of those before the point.
    A step of 0 is one that was not seen.
    """
    digits = _digits_in(scale_of(value_s), value_s, spread_s, step_s)
    shown_s = round(abs(value_s) / digits.factor_s, digits.places) * digits.factor_s
    if scale_of(shown_s)[0] > digits.factor_s:  # 999.9 ns to whole ns is 1 µs
        return _digits_in(scale_of(shown_s), shown_s, spread_s, step_s)
    return digits


def _digits_in(
    scale: tuple[float, str], value_s: float, spread_s: float | None, step_s: float
) -> Digits:
    factor, symbol = scale
    if spread_s is not None and spread_s > _ROUNDING * abs(value_s):
        places = decimals_for(spread_s / factor)
    else:
        size = abs(value_s) / factor
        places = max(0, 2 - math.floor(math.log10(size))) if size else 0
    if step_s > 0:
        places = min(places, decimals_of_step(step_s / factor))
    return Digits(factor, symbol, places)


def format_seconds(value_s: float | None, spread_s: float | None = None) -> str:
    """`value_s` with its unit, rounded where `spread_s` (a half-width, seconds) begins.

    Without a spread three significant digits are shown, and all of those before the point.
    """
    if value_s is None:
        return "–"
    if spread_s is not None:
        return digits_for(value_s, spread_s).text(value_s)
    factor, symbol = scale_of(float(f"{value_s:.3g}"))  # 999.9 ns are 1 µs to three digits
    text = f"{value_s / factor:.3g}"
    text = text if "e" not in text else format(value_s / factor, ".0f")
    return f"{text.removeprefix('-') if float(text) == 0 else text} {symbol}"


def format_interval(low_s: float | None, high_s: float | None, step_s: float = 0.0) -> str:
    """An interval in the unit of its upper end, or a dash where there is none."""
    if low_s is None or high_s is None:
        return "–"
    largest_s = max(abs(low_s), abs(high_s))
    return digits_for(largest_s, (high_s - low_s) / 2, step_s).interval(low_s, high_s)


def format_share(
    value: float, low: float | None = None, high: float | None = None
) -> tuple[str, str | None]:
    """A share of 1 in per cent, and its interval where it has one: ``16 %``, ``15 … 17 %``.

    Small ones, and those known to a per cent, have a decimal; an interval within that is none.
    """
    narrow = low is not None and high is not None and high - low < _NARROW_SHARE
    places = 1 if narrow or abs(value) < _SMALL_SHARE else 0

    def number(share: float) -> str:
        text = f"{share * 100:.{places}f}"
        return text.removeprefix("-") if float(text) == 0 else text

    ends = None if low is None or high is None else (number(low), number(high))
    told = ends is not None and set(ends) != {number(value)}
    return f"{number(value)} %", f"{' … '.join(ends)} %" if ends and told else None


def format_short(value_s: float) -> str:
    """A time that was chosen, not measured, in one word that `parse_seconds` reads: ``1ms``."""
    factor, symbol = scale_of(value_s)
    return f"{value_s / factor:g}{symbol}" if value_s else "0"


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


def parse_sizes(text: str, most: int) -> list[int]:
    """Whole numbers from 1 to `most` by commas, ``1..128`` standing for 1, 2, 4 … up to 128.

    Errors: `ValueError` with a sentence for the user.

    >>> parse_sizes("3,1..8", 100)
    [3, 1, 2, 4, 8]
    """
    found: list[int] = []
    for part in (each.strip() for each in text.split(",")):
        first, dots, last = part.partition("..")
        size = _size(first, most)
        end = _size(last, most) if dots else size
        if end < size:
            raise ValueError(f"{part} goes down")
        while size <= end:
            found.append(size)
            size *= 2
    return list(dict.fromkeys(found))


def _size(text: str, most: int) -> int:
    if not text.strip().isdecimal():
        raise ValueError(f"{text!r} is no whole number")
    if not 1 <= int(text) <= most:
        raise ValueError(f"{text} is not between 1 and {most}")
    return int(text)
