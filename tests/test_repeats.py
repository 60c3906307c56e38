"""Maximal repeats, against looking at all sequences there are, and which of them are taken."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ftax_micro.analysis.bounding.repeats import choose, maximal_repeats, without_overlap


def symbols(text: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([ord(each) for each in text], dtype=np.int64)


def found(text: str, longest: int = 32, least: int = 2) -> dict[str, list[int]]:
    return {
        text[each.first[0] : each.first[0] + each.length]: each.first.tolist()
        for each in maximal_repeats(symbols(text), longest, least)
    }


def test_what_comes_again_and_nothing_inside_of_it() -> None:
    assert found("abcXabcYabc", least=3) == {"abc": [0, 4, 8]}
    assert found("abcXabcYabZ") == {"ab": [0, 4, 8], "abc": [0, 4]}
    assert found("abcdef") == {}
    assert found("") == {}


def test_a_period_is_the_repeat_and_not_two_of_them() -> None:
    repeats = found("abcabcabcabc", least=3)
    assert repeats["abc"] == [0, 3, 6, 9]
    assert all(len(each) <= 3 for each in repeats)
    assert found("aaaaaaaa", least=3)["aa"] == list(range(7))


def test_no_longer_than_asked() -> None:
    assert set(found("abcdeXabcdeY", longest=3)) == {"abc", "bcd", "cde"}


def starts(text: str, part: str) -> list[int]:
    return [i for i in range(len(text)) if text.startswith(part, i)]


def uneven(text: str, part: str) -> bool:
    """Whether it overlaps itself twice in a row, once more than the other time."""
    steps = [b - a for a, b in itertools.pairwise(starts(text, part))]
    return any(a != b and max(a, b) < len(part) for a, b in itertools.pairwise(steps))


@given(st.text("abc", max_size=24), st.integers(2, 6), st.integers(2, 4))
@settings(max_examples=150, deadline=None)
def test_the_same_by_hand(text: str, longest: int, least: int) -> None:
    parts = {text[i : i + n] for n in range(2, longest + 1) for i in range(len(text) - n + 1)}
    # How many fit of what overlaps itself unevenly is known from above only.
    assume(not any(uneven(text, part) for part in parts))
    number = {part: text.count(part) for part in parts if text.count(part) >= least}
    maximal = {
        part: starts(text, part)
        for part, times in number.items()
        if all(part not in (each[1:], each[:-1]) or n < times for each, n in number.items())
    }
    assert found(text, longest, least) == maximal


@given(st.lists(st.integers(0, 40), unique=True), st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_without_overlap_as_many_as_fit(places: list[int], length: int) -> None:
    taken = without_overlap(np.array(sorted(places), dtype=np.int64), length).tolist()
    assert all(b - a >= length for a, b in itertools.pairwise(taken))
    # Every place is taken, or begins inside one that is.
    assert all(any(each <= place < each + length for each in taken) for place in places)


def test_what_is_worth_most_is_taken_first_and_the_rest_from_what_is_left() -> None:
    text = "abcdXabcdYabcdZcdWcdVcd"
    repeats = maximal_repeats(symbols(text), 32, 3)
    worth = np.ones(len(text))
    first, second = choose(repeats, worth, 3, 9)
    assert (first.length, first.first.tolist()) == (4, [0, 5, 10])
    assert (second.length, second.first.tolist()) == (2, [15, 18, 21])
    # Where the long one is worth less, the short one takes all of its places.
    worth = np.array([10.0 if each == "d" else 0.1 for each in text])
    (only,) = choose(repeats, worth, 3, 9)
    assert (only.length, only.first.tolist()) == (2, [2, 7, 12, 15, 18, 21])


def test_nothing_is_taken_that_is_worth_nothing() -> None:
    repeats = maximal_repeats(symbols("abXabYab"), 32, 3)
    assert choose(repeats, np.zeros(8), 3, 9) == []
    assert len(choose(repeats, np.ones(8), 3, 9)) == 1
    assert choose(repeats, np.ones(8), 4, 9) == []
    assert choose(repeats, np.ones(8), 3, 0) == []


def test_what_overlaps_itself_is_taken_without_overlap() -> None:
    (run,) = choose(maximal_repeats(symbols("a" * 12), 3, 3), np.ones(12), 3, 1)
    assert run.first.tolist() == [0, 3, 6, 9]
