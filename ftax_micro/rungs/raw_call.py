"""One call of an empty C function through an opaque pointer, in a C++ loop."""

from __future__ import annotations

from ftax_micro.devices._extension import core
from ftax_micro.measurement import slope_counts
from ftax_micro.rungs.contract import CALL_PROCESSES, Place, Program, Rung

# A call takes about a nanosecond: the longest burst is far above the clock's tick.
_CALLS = slope_counts(20_000, 120_000)


def _make(_place: Place, _arguments: int) -> Program:
    return Program(core().host.call_direct, _CALLS)


RUNG = Rung(
    name="raw_call",
    summary=(
        "A C++ loop calls an empty C function through a pointer that the compiler cannot see "
        "through. It is the least that handing over control costs on this machine."
    ),
    source="csrc/host_calls.hpp",
    operation={"cpu": "call"},
    below={"cpu": None},
    make=_make,
    processes=CALL_PROCESSES,
)
