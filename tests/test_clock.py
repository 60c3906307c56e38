"""The measured clock: what it is asked for must make sense."""

from __future__ import annotations

import pytest

from ftax_micro.devices._extension import core


@pytest.mark.parametrize("rounds", [0, -1, 1_000_001])
def test_a_count_of_rounds_that_makes_no_sense_is_refused(rounds: int) -> None:
    with pytest.raises(ValueError, match=rf"rounds must be 1 to 1000000, not {rounds}"):
        core().host.measure_clock(rounds)


def test_one_round_is_enough_to_see_the_clock_tick_and_cost() -> None:
    facts = core().host.measure_clock(1)
    assert facts.tick_s >= 1e-9
    assert facts.read_cost_s > 0
