"""How often must a graph be replayed before making it has paid? (docs/launch_anatomy.md)

Making a graph costs once; each replay then saves the difference to launching the same nodes into a
stream. Two costs are set against two savings:

* ``create``: capture + instantiate + upload, what a new graph costs before its first replay;
  ``update``: capture + update, what changing an existing one costs;
* ``host``: the host's time, N · `submit` against a + b N of the replay call; ``end_to_end``: until
  the device is done, `launch_sync` + (N − 1) · `launch_rate` against a + b N of the whole replay.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from ftax_micro.analysis.summary import Summary, summarise
from ftax_micro.records import FactValue, Measurement, Plan, Setting
from ftax_micro.stats import Estimate

Cost = Literal["create", "update"]
Saving = Literal["host", "end_to_end"]

_STEPS: dict[Cost, tuple[str, ...]] = {
    "create": ("capture", "instantiate", "upload"),
    "update": ("capture", "update"),
}
# An interval's end further away than this many powers of e is none.
_NO_BOUND = 50.0
_SAVINGS: tuple[Saving, ...] = ("host", "end_to_end")
# The row whose facts say it: the last step of each.
_TOLD_BY: dict[str, Cost] = {"upload": "create", "update": "update"}


@dataclass(frozen=True)
class BreakEven:
    """Replays of a graph of `nodes` null kernels after which making it has paid.

    `cost` and `saving` (of one replay) are seconds with their intervals. `replays` is a plain
    number; None, with the `reason`, where a replay saves nothing. Its `low` and `high` are the
    interval; `high` is None where the saving's interval reaches zero: then no number bounds it.
    """

    device: str
    nodes: int
    cost_of: Cost
    saved: Saving
    cost: Estimate
    saving: Estimate
    replays: float | None
    low: float | None
    high: float | None
    reason: str | None


def break_evens(rows: Iterable[Summary]) -> list[BreakEven]:
    """One for each number of nodes, cost and saving whose parts were all measured."""
    known = [row for row in rows if row.status == "ok" and row.value is not None]
    created = [r for r in known if r.name == "graph_create" and r.setting.get("step") == "capture"]
    found = []
    for row in created:
        parts = _Parts([each for each in known if each.device == row.device])
        for cost_of in _STEPS:
            for saved in _SAVINGS:
                each = _break_even(parts, row.device, int(row.setting["nodes"]), cost_of, saved)
                found.extend([each] if each is not None else [])
    return found


def with_break_evens(measurements: Sequence[Measurement], plan: Plan) -> list[Measurement]:
    """`measurements` with the break-even counts among the facts of the rows they belong to: of the
    last step of making a graph, and of its update.
    """
    if not any(each.name == "graph_create" for each in measurements):
        return list(measurements)
    found = break_evens(summarise(measurements, plan))
    return [_with_facts(each, found) for each in measurements]


def _with_facts(row: Measurement, found: Sequence[BreakEven]) -> Measurement:
    if row.name != "graph_create" or row.status != "ok":
        return row
    told = _TOLD_BY.get(str(row.setting.get("step")))
    facts: dict[str, FactValue] = {}
    for each in found:
        if (each.device, each.nodes, each.cost_of) != (row.device, row.setting["nodes"], told):
            continue
        name = f"break_even_replays_{each.saved}"
        facts |= {name: each.replays, f"{name}_low": each.low, f"{name}_high": each.high}
        if each.reason is not None:
            facts[f"{name}_reason"] = each.reason
    return msgspec.structs.replace(row, facts={**row.facts, **facts}) if facts else row


class _Parts:
    """The measured rows of one device, by name and setting."""

    def __init__(self, rows: Sequence[Summary]) -> None:
        self._rows = rows

    def find(self, name: str, setting: Setting) -> Estimate | None:
        for row in self._rows:
            if row.name == name and row.setting == setting and row.value is not None:
                return Estimate(row.value, row.low, row.high)
        return None

    def waited(self) -> Estimate | None:
        """`launch_sync` by the default launch: in whatever style its first row waits."""
        for row in self._rows:
            if row.name == "launch_sync" and set(row.setting) <= {"wait"} and row.value is not None:
                return Estimate(row.value, row.low, row.high)
        return None


def _break_even(
    parts: _Parts, device: str, nodes: int, cost_of: Cost, saved: Saving
) -> BreakEven | None:
    steps = [parts.find("graph_create", {"step": s, "nodes": nodes}) for s in _STEPS[cost_of]]
    cost = _sum([(1.0, step) for step in steps])
    replay = [
        (-1.0, parts.find("graph_launch", {"part": saved})),
        (-float(nodes), parts.find("graph_node", {"part": saved})),
    ]
    launches: list[tuple[float, Estimate | None]] = [(float(nodes), parts.find("submit", {}))]
    if saved == "end_to_end":
        launches = [(1.0, parts.waited()), (nodes - 1.0, parts.find("launch_rate", {}))]
    saving = _sum([*launches, *replay])
    if cost is None or saving is None:
        return None
    replays, low, high, reason = _count(cost, saving, nodes)
    return BreakEven(device, nodes, cost_of, saved, cost, saving, replays, low, high, reason)


def _count(
    cost: Estimate, saving: Estimate, nodes: int
) -> tuple[float | None, float | None, float | None, str | None]:
    if saving.value <= 0:
        launches = "one stream launch" if nodes == 1 else f"{nodes} stream launches"
        return None, None, None, f"a replay takes no less time than {launches}"
    replays = cost.value / saving.value
    if cost.low is None or cost.high is None or saving.low is None or saving.high is None:
        return replays, None, None, None
    # A ratio of independent estimates, joined as stats.ratio_interval does, which has no answer
    # where the saving may be zero; here the lower end still has one.
    low = replays * math.exp(-_apart(cost.value, cost.low, saving.high, saving.value))
    up = _apart(cost.high, cost.value, saving.value, saving.low)
    if up > _NO_BOUND:
        return replays, low, None, "what a replay saves is not distinguishable from nothing"
    return replays, low, replays * math.exp(up), None


def _apart(a: float, b: float, c: float, d: float) -> float:
    """|(ln a/b, ln c/d)|; infinite where `b` is zero."""
    return math.hypot(math.log(a / b), math.log(c / d)) if b > 0 and d > 0 else math.inf


def _sum(terms: Sequence[tuple[float, Estimate | None]]) -> Estimate | None:
    """Σ factor · estimate of independent estimates, the intervals' arms joined in quadrature
    (MOVER: Zou and Donner, Stat. Med. 27, 2008). None where a term is missing.
    """
    value = below = above = 0.0
    bounded = True
    for factor, term in terms:
        if term is None:
            return None
        value += factor * term.value
        if factor == 0:
            continue
        if term.low is None or term.high is None:
            bounded = False
            continue
        arms = (factor * (term.low - term.value), factor * (term.high - term.value))
        below, above = math.hypot(below, min(arms)), math.hypot(above, max(arms))
    return Estimate(value, value - below, value + above) if bounded else Estimate(value, None, None)
