"""What is to be said of a row during which the device changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ftax_micro.records import DeviceState, Verdict

# A fall of the SM clock by more than this from the start of a row to its end is a verdict (§8).
_CLOCK_FALL = 0.05

States: TypeAlias = tuple[DeviceState | None, DeviceState | None]


def clock_verdicts(states: Sequence[States]) -> list[Verdict]:
    """The verdict on a row whose SM clock fell from before its first state to after any; or none.

    `states` are pairs of before and after, in their order.
    """
    clocks = [
        (before.sm_clock_hz, after.sm_clock_hz) for before, after in states if before and after
    ]
    known = [(before, after) for before, after in clocks if before and after]
    if not known:
        return []
    fall = 1 - min(after for _, after in known) / known[0][0]
    if fall <= _CLOCK_FALL:
        return []
    sentence = f"the SM clock fell by {fall:.0%} during this row"
    return [Verdict(code="clock_fell", sentence=sentence)]
