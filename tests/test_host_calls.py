"""The extension's ways from Python into an empty C function take what they say, and no more."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from ftax_micro import _core

WAYS: list[tuple[int, Callable[..., None]]] = [
    (0, _core.host.call_0),
    (5, _core.host.call_5),
    (19, _core.host.call_19),
]
each_way = pytest.mark.parametrize(("arguments", "call"), WAYS)
LARGEST, SMALLEST = 2**63 - 1, -(2**63)


@each_way
def test_a_call_takes_as_many_integers_of_64_bits_as_it_says(
    arguments: int, call: Callable[..., None]
) -> None:
    for value in (LARGEST, SMALLEST, -1, 0):
        call(*[value] * arguments)


@each_way
def test_another_number_of_arguments_is_refused(arguments: int, call: Callable[..., None]) -> None:
    for given in {abs(arguments - 1), arguments + 1, 40}:
        with pytest.raises(TypeError, match=f"takes {arguments} integers, not {given}"):
            call(*[0] * given)


@pytest.mark.parametrize("call", [_core.host.call_5, _core.host.call_19])
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (1.0, TypeError),
        ("1", TypeError),
        (LARGEST + 1, OverflowError),
        (SMALLEST - 1, OverflowError),
    ],
)
def test_what_is_no_integer_of_64_bits_is_refused(
    call: Callable[..., None], wrong: object, error: type[Exception]
) -> None:
    arguments = next(number for number, each in WAYS if each is call)
    for place in (0, arguments - 1):
        given: list[object] = [0] * arguments
        given[place] = wrong
        with pytest.raises(error):
            call(*given)


@pytest.mark.parametrize("arguments", [0, 5, 19])
def test_the_address_is_that_of_a_function_that_can_be_called(arguments: int) -> None:
    address = _core.host.empty_function_address(arguments)
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * arguments)
    assert prototype(address)(*range(arguments)) is None
    assert address == _core.host.empty_function_address(arguments)


def test_there_is_no_empty_function_with_another_number_of_arguments() -> None:
    with pytest.raises(ValueError, match="0, 5 and 19"):
        _core.host.empty_function_address(3)
