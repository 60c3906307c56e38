"""Times that no forward and no call can take: someone took one unit for another.

A wrong unit is a factor of a thousand or a million, so that limits may be generous: none is near
what was ever measured, and what is beyond one is wrong beyond doubt rather than slow.
"""

from __future__ import annotations

import numpy as np

from ftax_micro.analysis.traces.correlation import Correlation
from ftax_micro.analysis.traces.events import NS, Trace
from ftax_micro.units import format_seconds

# The slowest forward of models that people run takes seconds on a laptop.
LONGEST_S = 100.0
# Of arithmetic: a core without vector instructions does that much a second, and a GPU to come, at
# the lowest precision, not that much. What a known amount of work takes lies between.
SLOWEST_FLOPS, FASTEST_FLOPS = 1e9, 1e17
# A call from Python into anything takes longer.
SHORTEST_S = 50e-9
# A launch call takes 2 to 10 µs, a traced one at most tens. Of many, the shortest never waited for
# the device; not even the median of them takes less than 100 ns, with the tracer's own part in it.
LONGEST_CALL_S, SHORTEST_CALL_S = 1e-3, 100e-9
_ENOUGH_CALLS = 10


def impossible_latency(latency_s: float, macs: int | None = None) -> str | None:
    """What is wrong with the latency of a forward of so many multiply-accumulates, or None."""
    flops = 0 if macs is None else 2 * macs
    longest = max(LONGEST_S, flops / SLOWEST_FLOPS)
    shortest = max(SHORTEST_S, flops / FASTEST_FLOPS)
    if shortest <= latency_s <= longest:
        return None
    limit = (
        f"over {format_seconds(longest)}"
        if latency_s > longest
        else (f"under {format_seconds(shortest)}")
    )
    return f"a latency of {format_seconds(latency_s)} can't be right ({limit}): look at its unit"


def impossible_clock(trace: Trace, correlation: Correlation) -> str | None:
    """What is wrong with the times of a trace, by those of its launch calls, or None."""
    took = trace.calls.duration_ns[correlation.call[correlation.first]] * NS
    if len(took) < _ENOUGH_CALLS:
        return None
    least, middle = float(took.min()), float(np.median(took))
    if least > LONGEST_CALL_S:
        return (
            f"the shortest of {len(took):,} launch calls takes {format_seconds(least)}, where a "
            "call takes microseconds: the times of the trace can't be right, look at their unit"
        )
    if middle < SHORTEST_CALL_S and trace.tick_ns == 1:
        return (
            f"half of {len(took):,} launch calls take under {format_seconds(middle)}, where a call "
            "takes microseconds: the times of the trace can't be right, look at their unit"
        )
    return None
