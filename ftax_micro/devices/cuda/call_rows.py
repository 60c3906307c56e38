"""Rows for the driver's other calls at 4 bytes: copies, sets, events, waiting for nothing."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cuda.loops import Loops, row_measure
from ftax_micro.measurement import measure_shots, measure_slope, slope_counts
from ftax_micro.records import ClockFacts, Plan, Setting

_BURST_STEP = 16
_PARTS: Sequence[Setting] = ({"part": "submit"}, {"part": "end_to_end"})
_COPIES: Sequence[Setting] = (*_PARTS, *({**part, "memory": "pageable"} for part in _PARTS))

_ROWS: dict[str, tuple[str, str, Sequence[Setting]]] = {
    "memcpy_h2d": ("memcpy_h2d", "asynchronous copy of 4 bytes to the device", _COPIES),
    "memcpy_d2h": ("memcpy_d2h", "asynchronous copy of 4 bytes to the host", _COPIES),
    "memset": ("memset", "set of 4 bytes on the device", _PARTS),
    "event_record": ("event_record", "record of an event without timing", _PARTS),
    "stream_sync_idle": ("stream_sync", "wait for a stream with nothing in it", ({},)),
    "stream_query_idle": ("stream_query", "query of a stream with nothing in it", ({},)),
}


def call_rows(loops: Loops, clock: ClockFacts) -> list[FloorRow]:
    """``memcpy_h2d`` … ``stream_query_idle``: host time of the call, and until it is done."""
    return [
        FloorRow(
            name,
            summary,
            row_measure(functools.partial(_call, loops, clock, call)),
            settings=settings,
        )
        for name, (call, summary, settings) in _ROWS.items()
    ]


def _call(loops: Loops, clock: ClockFacts, name: str, setting: Setting, plan: Plan) -> Outcome:
    session = loops.session()
    suffix = "_pageable" if setting.get("memory") == "pageable" else ""
    call = getattr(loops.extension.Call, name + suffix)
    if setting.get("part") == "end_to_end":
        return Outcome(
            measure_shots(
                lambda shots: list(loops.extension.call_end_to_end(session, call, shots)),
                plan,
                clock,
            )
        )

    def probe(count: int) -> float:
        return float(loops.extension.call_submit(session, call, count, 1)[0])

    return Outcome(measure_slope(probe, slope_counts(_BURST_STEP, loops.knee() // 2), plan, clock))
