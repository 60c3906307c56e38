"""Rows for plain calls: through a pointer, from Python into the extension, of a Python function.

Python's calls are measured as a slope over unrolled calls: a generated function holds n call
statements, so that the loop, the two clock reads and the entry fall into the intercept.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.glances import Glance
from ftax_micro.measurement import (
    SHORT_ROW_PROCESSES,
    BurstProbe,
    measure,
    measure_slope,
    slope_counts,
)
from ftax_micro.records import ClockFacts, Plan, Setting

# 50 … 300 calls: the longest function is a few microseconds, far above the clock's tick, and still
# small enough to stay in the first-level instruction cache of the interpreter's data.
_CALLS = slope_counts(50, 300)


def call_rows(clock: ClockFacts, glance: Glance | None) -> list[FloorRow]:
    """``call_direct``, ``call_extension`` (METH_NOARGS and pybind11 apart) and ``call_python``."""
    return [
        FloorRow(
            "call_direct",
            "one call of an empty C function through an opaque pointer",
            functools.partial(_call_direct, clock, glance),
        ),
        FloorRow(
            "call_extension",
            "one call from Python of an empty function of the extension",
            functools.partial(_call_extension, clock, glance),
            settings=({"binding": "noargs"}, {"binding": "pybind11"}),
            processes=SHORT_ROW_PROCESSES,
        ),
        FloorRow(
            "call_python",
            "one call from Python of an empty Python function",
            functools.partial(_call_python, clock, glance),
            processes=SHORT_ROW_PROCESSES,
        ),
    ]


def unrolled_probe(function: Callable[[], object]) -> BurstProbe:
    """A burst probe that calls `function` as often as asked, without a loop around the calls."""
    compiled: dict[int, Callable[[Callable[[], object], Callable[[], int]], int]] = {}

    def probe(count: int) -> float:
        from time import perf_counter_ns

        if count not in compiled:
            compiled[count] = _unrolled(count)
        return compiled[count](function, perf_counter_ns) / 1e9

    return probe


def _unrolled(count: int) -> Callable[[Callable[[], object], Callable[[], int]], int]:
    lines = [
        "def burst(f, now):",
        "    begin = now()",
        *["    f()"] * count,
        "    return now() - begin",
    ]
    namespace: dict[str, Callable[[Callable[[], object], Callable[[], int]], int]] = {}
    exec("\n".join(lines), namespace)
    return namespace["burst"]


def empty_function() -> None:
    """The callee of ``call_python``."""


def _call_direct(clock: ClockFacts, glance: Glance | None, _: Setting, plan: Plan) -> Outcome:
    return Outcome(measure(core().host.call_direct, plan, clock, glance=glance))


def _call_extension(
    clock: ClockFacts, glance: Glance | None, setting: Setting, plan: Plan
) -> Outcome:
    function = getattr(core().host, f"empty_{setting['binding']}")
    probe = unrolled_probe(function)
    return Outcome(measure_slope(probe, _CALLS, plan, clock, glance=glance))


def _call_python(clock: ClockFacts, glance: Glance | None, _: Setting, plan: Plan) -> Outcome:
    probe = unrolled_probe(empty_function)
    return Outcome(measure_slope(probe, _CALLS, plan, clock, glance=glance))
