"""The cpu device's plain calls: what is called, and that it is called as often as said."""

from __future__ import annotations

import pytest

from ftax_micro.devices._extension import core
from ftax_micro.devices.cpu.calls import unrolled_probe


def test_an_unrolled_probe_calls_as_often_as_asked() -> None:
    calls = 0

    def function() -> None:
        nonlocal calls
        calls += 1

    probe = unrolled_probe(function)
    assert probe(7) > 0
    assert calls == 7
    probe(300)
    probe(7)
    assert calls == 314


@pytest.mark.parametrize("name", ["empty_noargs", "empty_pybind11"])
def test_the_empty_functions_return_nothing_and_take_nothing(name: str) -> None:
    function = getattr(core().host, name)
    assert function() is None
    with pytest.raises(TypeError):
        function(1)


def test_more_calls_take_longer() -> None:
    # A thousandfold, so that only a loop that was optimised away fails this.
    assert core().host.call_direct(10_000_000) > core().host.call_direct(10_000)
