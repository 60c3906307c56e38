"""Seconds to text and back."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftax_micro.units import (
    decimals_for,
    decimals_of_step,
    digits_for,
    format_interval,
    format_seconds,
    format_share,
    format_short,
    parse_seconds,
    scale_of,
)

times = st.floats(min_value=1e-10, max_value=1e4)


@pytest.mark.parametrize(
    ("value_s", "unit"),
    [(2.0, "s"), (1.0, "s"), (0.999, "ms"), (1e-3, "ms"), (2e-6, "µs"), (-2e-6, "µs"), (0, "ns")],
)
def test_the_unit_makes_the_number_readable(value_s: float, unit: str) -> None:
    assert scale_of(value_s)[1] == unit


@given(times)
def test_a_scaled_value_is_below_a_thousand_where_a_unit_allows_it(value_s: float) -> None:
    factor, symbol = scale_of(value_s)
    scaled = value_s / factor
    assert scaled < 1000 * (1 + 1e-9) or symbol == "s"
    assert scaled >= 1 or symbol == "ns"


@pytest.mark.parametrize(
    ("spread", "places"),
    [(0.05, 3), (0.5, 2), (5.0, 1), (50.0, 0), (5000.0, 0), (1e-9, 4), (0.0, 3), (math.inf, 3)],
)
def test_decimals_show_the_spread_to_two_digits(spread: float, places: int) -> None:
    assert decimals_for(spread) == places


@pytest.mark.parametrize(
    ("value_s", "spread_s", "text"),
    [
        (None, None, "–"),
        (0.0, None, "0 ns"),
        (-1e-19, None, "0 ns"),
        (1.234567e-6, None, "1.23 µs"),
        (999.6e-9, None, "1 µs"),
        (-999.9e-6, None, "-1 ms"),
        (999.4e-9, None, "999 ns"),
        (999.9e-9, 40e-9, "1.000 µs"),
        (999.9e-9, 2e-9, "999.9 ns"),
        (1234.0, None, "1234 s"),
        (1.234567e-6, 5e-9, "1.2346 µs"),
        (1.234567e-6, 5e-8, "1.235 µs"),
        (123.4567e-9, 30e-9, "123 ns"),
        (-123.4567e-9, 3e-9, "-123.5 ns"),
        (2.5, 0.0, "2.50 s"),
    ],
)
def test_seconds_are_shown_as_far_as_they_are_known(
    value_s: float | None, spread_s: float | None, text: str
) -> None:
    assert format_seconds(value_s, spread_s) == text


@given(times, st.none() | st.floats(min_value=1e-12, max_value=1e4))
def test_no_text_has_a_thousand_of_a_unit_that_another_is_a_thousand_of(
    value_s: float, spread_s: float | None
) -> None:
    number, unit = format_seconds(value_s, spread_s).split()
    assert float(number) < 1000 or unit == "s"


@given(times)
def test_text_without_a_spread_keeps_three_digits(value_s: float) -> None:
    text = format_seconds(value_s)
    assert "e" not in text
    assert parse_seconds(text) == pytest.approx(value_s, rel=0.005)


@pytest.mark.parametrize(
    ("low_s", "high_s", "text"),
    [
        (None, 1e-6, "–"),
        (1e-6, None, "–"),
        (0.9e-6, 1.1e-6, "0.90 … 1.10 µs"),
        (990e-9, 1010e-9, "0.990 … 1.010 µs"),
        (-2e-9, 30e-9, "-2 … 30 ns"),
        (-3e-6, 1e-9, "-3.0 … 0.0 µs"),
    ],
)
def test_an_interval_has_one_unit(low_s: float | None, high_s: float | None, text: str) -> None:
    assert format_interval(low_s, high_s) == text


@pytest.mark.parametrize(
    ("step", "places"), [(1.0, 0), (2.0, 0), (1e-3, 3), (1.0000000001e-3, 3), (0.25, 1), (40.0, 0)]
)
def test_no_place_lies_below_a_step(step: float, places: int) -> None:
    assert decimals_of_step(step) == places


@pytest.mark.parametrize(
    ("value_s", "spread_s", "step_s", "text"),
    [
        (133e-9, 0.0, 1e-9, "133 ns"),
        (133e-9, 1e-9, 1e-9, "133 ns"),
        (5.674e-6, 9e-9, 1e-9, "5.674 µs"),
        (5.674e-6, 9e-9, 0.0, "5.6740 µs"),
        (5.674e-6, 90e-9, 1e-9, "5.674 µs"),
        (5.674e-6, 900e-9, 1e-9, "5.67 µs"),
        (24.203e-9, 18e-12, 1e-14, "24.203 ns"),  # a looped value: a tick over the loops
        (52e-6, 0.0, 0.0, "52.0 µs"),
        (0.0, 0.0, 1e-9, "0 ns"),
    ],
)
def test_a_value_has_no_digit_below_its_step(
    value_s: float, spread_s: float, step_s: float, text: str
) -> None:
    assert digits_for(value_s, spread_s, step_s).text(value_s) == text


def test_all_numbers_of_a_row_have_one_unit_and_as_many_places() -> None:
    digits = digits_for(653e-9, 260e-9)
    assert digits.text(653e-9) == "653 ns"
    assert digits.interval(564e-9, 1086e-9) == "564 … 1086 ns"
    assert digits.interval(564e-9, None) == "–"
    assert digits.text(None) == "–"
    assert digits.plus_minus(-75e-9, 36e-9) == "-75 ± 36 ns"
    assert digits.text(-0.2e-9) == "0 ns"  # not -0


@pytest.mark.parametrize(
    ("value_s", "text"), [(0, "0"), (1e-3, "1ms"), (10e-6, "10µs"), (1, "1s"), (1.5e-3, "1.5ms")]
)
def test_a_chosen_time_is_one_word_that_is_read_again(value_s: float, text: str) -> None:
    assert format_short(value_s) == text
    assert parse_seconds(text) == pytest.approx(value_s)


@pytest.mark.parametrize(
    ("share", "texts"),
    [
        ((0.5, 0.4, 0.6), ("50 %", "40 … 60 %")),
        ((0.5, 0.495, 0.505), ("50.0 %", "49.5 … 50.5 %")),
        ((0.031, 0.02, 0.05), ("3.1 %", "2.0 … 5.0 %")),
        ((-0.0001, -0.02, 0.05), ("0.0 %", "-2.0 … 5.0 %")),
        ((0.25, 0.2501, 0.2501), ("25.0 %", None)),
        ((0.25, None, None), ("25 %", None)),
    ],
)
def test_a_share_has_the_digits_that_its_interval_supports(
    share: tuple[float, float | None, float | None], texts: tuple[str, str | None]
) -> None:
    assert format_share(*share) == texts


@pytest.mark.parametrize(
    ("text", "value_s"),
    [
        ("10us", 10e-6),
        ("10µs", 10e-6),
        ("10μs", 10e-6),
        (" 2 ms ", 2e-3),
        ("100ns", 100e-9),
        ("0.5s", 0.5),
        ("3", 3.0),
        ("1e-3", 1e-3),
        ("0", 0.0),
    ],
)
def test_times_are_read_with_their_unit(text: str, value_s: float) -> None:
    assert parse_seconds(text) == pytest.approx(value_s, rel=1e-12)


@pytest.mark.parametrize("text", ["", "s", "ms", "ten", "-1s", "nan", "inf", "infs", "5 min", "1h"])
def test_anything_else_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_seconds(text)


def test_a_spread_that_is_rounding_is_none() -> None:
    assert format_seconds(24e-6, 3e-21) == "24.0 µs"
    assert format_seconds(24e-6, 3e-12) == "24.0000 µs"
