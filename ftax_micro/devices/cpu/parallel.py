"""The row for fork-join regions, the floor of operators that run on several cores."""

from __future__ import annotations

import functools

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cpu.cores import Topology
from ftax_micro.errors import Skip
from ftax_micro.measurement import measure
from ftax_micro.records import ClockFacts, Plan, Setting


def parallel_rows(clock: ClockFacts, topology: Topology) -> list[FloorRow]:
    """``parallel_region``: one thread per physical core, spinning and blocking."""
    threads: list[Setting] = [
        {"wait": "spin", "threads": n} for n in _powers(len(topology.one_per_physical_core()))
    ]
    return [
        FloorRow(
            "parallel_region",
            "an empty fork-join over one thread per physical core",
            functools.partial(_parallel_region, clock, topology),
            settings=({"wait": "spin"}, {"wait": "block"}),
            axes={"threads": threads},
        )
    ]


def _powers(most: int) -> list[int]:
    sizes = [2**i for i in range(1, max(1, most.bit_length())) if 2**i <= most]
    return sizes if not sizes or sizes[-1] == most else [*sizes, most]


def _parallel_region(
    clock: ClockFacts, topology: Topology, setting: Setting, plan: Plan
) -> Outcome:
    cores = topology.one_per_physical_core() or [-1, -1]
    cores = cores[: int(setting.get("threads", len(cores)))]
    if len(cores) < 2:
        raise Skip("one core only: a parallel region needs two")
    host = core().host
    team = host.Team(cores, getattr(host.Wait, str(setting["wait"])))
    return Outcome(measure(team.parallel_region, plan, clock), facts={"threads": len(cores)})
