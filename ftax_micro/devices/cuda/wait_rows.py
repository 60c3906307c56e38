"""The row for waiting: last kernel done until the waiting thread runs again, by wait style."""

from __future__ import annotations

import functools
import random

from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cpu.cores import Topology
from ftax_micro.devices.cuda.loops import (
    HOLD_DEADLINE_S,
    SYNC_LEAD_S,
    Loops,
    row_measure,
)
from ftax_micro.measurement import measure_shots
from ftax_micro.records import ClockFacts, Correction, Plan, Setting

_STYLES = ("spin", "yield", "blocking", "event_query")


def wait_rows(loops: Loops, clock: ClockFacts, topology: Topology) -> list[FloorRow]:
    """``sync`` in every style a thread can wait in."""
    return [
        FloorRow(
            "sync",
            "last kernel done to the waiting thread running again",
            row_measure(functools.partial(_sync, loops, clock, topology)),
            settings=tuple({"wait": style} for style in _STYLES),
        )
    ]


def _sync(
    loops: Loops, clock: ClockFacts, topology: Topology, setting: Setting, plan: Plan
) -> Outcome:
    waiter, releaser = topology.pair()
    style = str(setting["wait"])
    query = style == "event_query"
    method = loops.extension.WaitMethod.event_query if query else loops.extension.WaitMethod.stream
    trip_s = loops.round_trip_s
    session = loops.session(None if query else style)

    phase = random.Random(0)

    def probe(shots: int) -> list[float]:
        # A fixed lead would meet the kernel's polling at the same phase each time.
        leads_s = [SYNC_LEAD_S + phase.random() * trip_s for _ in range(shots)]
        return [
            loops.extension.sync_wait(
                session, method, 1, lead_s, waiter, releaser, HOLD_DEADLINE_S
            ).seconds[0]
            for lead_s in leads_s
        ]

    data = measure_shots(probe, plan, clock)
    # The kernel polls by reads that are each a round trip: a store is seen by a read that reaches
    # the host just after it (half a round trip back) or by the one after that, issued up to a round
    # trip later. On average that is one round trip, and between a half and one and a half.
    leg = Correction(
        name="host_to_device_leg",
        value_s=trip_s,
        low_s=trip_s / 2,
        high_s=trip_s * 1.5,
        source="round_trip",
    )
    return Outcome(
        data, corrections=[leg], facts={"waiter_core": waiter, "releaser_core": releaser}
    )
