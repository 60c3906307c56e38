"""A clock that advances by what probes say they took, and such probes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ftax_micro import glances, measurement
from ftax_micro.errors import Interrupted
from ftax_micro.records import ClockFacts, Plan

CLOCK = ClockFacts(name="test", tick_s=1e-9, read_cost_s=20e-9)
PLAN = Plan(min_samples=30, min_time_s=0.01, timeout_s=1.0, patience_s=0.5, warmup_time_s=0.001)
INTERRUPTION = Interrupted("SIGINT", 130)


class Clock:
    """Stands for the `time` module of the code under test; whole picoseconds add up exactly.

    Reading costs nothing, except where the code under test spins: a microsecond a read there.
    """

    def __init__(self) -> None:
        self._now_ps = 0
        self._reads = 0

    def perf_counter(self) -> float:
        self._reads += 1
        if self._reads > 4:
            self._now_ps += 1_000_000
        return self._now_ps / 1e12

    def pass_(self, seconds: float) -> float:
        self._reads = 0
        self._now_ps += round(seconds * 1e12)
        return seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(measurement, "time", fake)
    monkeypatch.setattr(glances, "time", fake)
    return fake


class Looped:
    """A looped or burst probe: a fixed time once, and one for each operation; keeps its calls."""

    def __init__(self, clock: Clock, each_s: float, once_s: float = 0.0) -> None:
        self._clock, self._each_s, self._once_s = clock, each_s, once_s
        self.calls: list[int] = []

    def __call__(self, count: int) -> float:
        self.calls.append(count)
        return self._clock.pass_(self._once_s + count * self._each_s)


class Shots:
    """A shot probe that replays `values`, over and over."""

    def __init__(self, clock: Clock, values: Sequence[float]) -> None:
        self._clock, self._values, self.draws = clock, values, 0

    def __call__(self, count: int) -> list[float]:
        self.draws += 1
        self._clock.pass_(1e-6 * count)
        return [self._values[i % len(self._values)] for i in range(count)]


def interrupting(probe: Callable[[int], object], after: int) -> Callable[[int], float]:
    """`probe`, but the call after `after` good ones raises `Interrupted`."""
    calls = iter(range(after))

    def wrapped(count: int) -> float:
        if next(calls, None) is None:
            raise INTERRUPTION
        return probe(count)  # type: ignore[return-value]

    return wrapped
