"""Rows for CUDA graphs: replay as T(N) = a + b · N, and the cost of making one."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cuda.loops import Loops, row_measure
from ftax_micro.measurement import measure_levels, measure_shots
from ftax_micro.records import ClockFacts, Estimate, Plan, Setting

_NODES = (1, 32, 128, 256, 512, 1024)
# Replays before the graph's size changes: making one costs more than replaying it often.
_REPLAYS = 10
_PARTS: Sequence[Setting] = ({"part": "host"}, {"part": "end_to_end"})
_WIDTHS: Sequence[Setting] = tuple({"part": "end_to_end", "width": n} for n in (1, 2, 4, 8, 16))
_STEPS = ("capture", "instantiate", "upload", "update")
_CREATED_NODES = 128
_CREATED_AXIS: Sequence[Setting] = tuple(
    {"step": step, "nodes": n} for step in _STEPS for n in (1, 32, 128, 1024)
)
_GRAPHS_PER_DRAW = 5


def graph_rows(loops: Loops, clock: ClockFacts) -> list[FloorRow]:
    """``graph_launch`` (a), ``graph_node`` (b) and ``graph_create``, step by step."""
    replayed = functools.partial(_replay, loops, clock)
    return [
        FloorRow(
            "graph_launch",
            "replay of a graph of null kernels, however few: a of T(N) = a + b N",
            row_measure(functools.partial(replayed, "intercept")),
            settings=_PARTS,
            axes={"width": _WIDTHS},
        ),
        FloorRow(
            "graph_node",
            "each further node of a replay: b of T(N) = a + b N",
            row_measure(functools.partial(replayed, "slope")),
            settings=_PARTS,
            axes={"width": _WIDTHS},
        ),
        FloorRow(
            "graph_create",
            "making a graph of null kernels by capture",
            row_measure(functools.partial(_create, loops, clock)),
            settings=tuple({"step": step, "nodes": _CREATED_NODES} for step in _STEPS),
            axes={"nodes": _CREATED_AXIS},
        ),
    ]


def _replay(
    loops: Loops, clock: ClockFacts, estimate: Estimate, setting: Setting, plan: Plan
) -> Outcome:
    session, width = loops.session(), int(setting.get("width", 1))
    spec = loops.spec({})

    def probe(nodes: int) -> list[float]:
        replays = loops.extension.graph_replay(
            session, spec, nodes, min(width, nodes), min(_REPLAYS, plan.min_samples)
        )
        return list(replays.launch_s if setting["part"] == "host" else replays.total_s)

    return Outcome(measure_levels(probe, _NODES, plan, clock, estimate))


def _create(loops: Loops, clock: ClockFacts, setting: Setting, plan: Plan) -> Outcome:
    session, spec = loops.session(), loops.spec({})

    def probe(graphs: int) -> list[float]:
        costs = loops.extension.graph_create(session, spec, int(setting["nodes"]), 1, graphs)
        return list(getattr(costs, f"{setting['step']}_s"))

    return Outcome(measure_shots(probe, plan, clock, per_draw=_GRAPHS_PER_DRAW))
