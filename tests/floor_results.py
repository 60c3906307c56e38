"""A launch floor of a GPU with chosen costs, as a result has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fake_results import correction, result, row

from ftax_micro.records import Data, Level, Measurement, Setting
from ftax_micro.results import Result

GPU = "cuda:0"
US = 1e-6
# Seconds; the names are those of `FloorValues`, the node's part on the host apart.
COSTS: dict[str, float] = {
    "to_start": 4.0 * US,
    "gap": 1.0 * US,
    "sync": 3.0 * US,
    "launch": 2.0 * US,
    "copy": 2.5 * US,
    "set": 1.5 * US,
    "graph_host": 5.0 * US,
    "graph_node_host": 0.02 * US,
    "graph_launch": 9.0 * US,
    "graph_node": 1.5 * US,
    "kernel_duration": 1.0 * US,
}
_COUNTS = (10, 20, 30, 40)


def _noisy(value: float, rng: Any, size: int, spread: float) -> list[float]:
    """Right-skewed, with the median `value`."""
    return [float(x) for x in value * np.exp(spread * (rng.gamma(2.0, size=size) - 1.678347))]


def _line(
    name: str, setting: Setting, a: float, b: float, rng: Any, size: int, spread: float, **data: Any
) -> Measurement:
    levels = [Level(count=n, samples_s=_noisy(a + n * b, rng, size, spread)) for n in _COUNTS]
    values: dict[str, Any] = {"estimate": "slope", "stop_reason": "interval", "levels": levels}
    return Measurement(
        device=GPU, name=name, setting=setting, status="ok", data=Data(**{**values, **data})
    )


def floor_rows(
    seed: int = 0,
    *,
    size: int = 100,
    spread: float = 0.02,
    costs: Mapping[str, float] = COSTS,
) -> list[Measurement]:
    """All rows that bounds need, of `size` samples each."""
    rng = np.random.default_rng(seed)

    def shots(name: str, setting: Setting, value: float, shift: float = 0.0) -> Measurement:
        legs = [correction(shift, 0.0, 2 * shift)] if shift else []
        samples = [x + shift for x in _noisy(value, rng, size, spread)]
        return row(name, samples, device=GPU, setting=setting, corrections=legs)

    def slope(name: str, setting: Setting, b: float) -> Measurement:
        return _line(name, setting, 1 * US, b, rng, size, spread)

    def graph(name: str, part: str, a: float, b: float, estimate: str) -> Measurement:
        return _line(name, {"part": part}, a, b, rng, size, spread, estimate=estimate)

    host, whole = costs["graph_host"], costs["graph_launch"]
    host_node, node = costs["graph_node_host"], costs["graph_node"]
    null = costs["kernel_duration"]
    return [
        slope("submit", {}, costs["launch"]),
        slope("submit", {"api": "runtime"}, costs["launch"] * 1.2),
        slope("submit", {"tracer": "cupti"}, costs["launch"] * 3),
        shots("to_start", {"idle_ns": 0}, costs["to_start"] * 1.5, 0.5 * US),
        shots("to_start", {"idle_ns": 1_000_000}, costs["to_start"], 0.5 * US),
        shots("to_start", {"idle_ns": 0, "tracer": "cupti"}, costs["to_start"] / 2),
        shots("sync", {"wait": "spin"}, costs["sync"], 0.5 * US),
        shots("sync", {"wait": "blocking"}, costs["sync"] * 4, 0.5 * US),
        slope("memcpy_h2d", {"part": "submit"}, costs["copy"] * 1.1),
        slope("memcpy_d2h", {"part": "submit"}, costs["copy"]),
        slope("memset", {"part": "submit"}, costs["set"]),
        graph("graph_launch", "host", host, host_node, "intercept"),
        graph("graph_launch", "end_to_end", whole, node, "intercept"),
        graph("graph_node", "host", host, host_node, "slope"),
        graph("graph_node", "end_to_end", whole, node, "slope"),
        shots("kernel_duration", {"spin_ns": 0, "tracer": "cupti"}, null),
        *(_gap(spin, costs["gap"], rng, size, spread) for spin in (0, 2_000, 5_000, 20_000)),
    ]


def _gap(spin_ns: int, gap: float, rng: Any, size: int, spread: float) -> Measurement:
    took = 1 * US + spin_ns * 1e-9
    found = _line("gap", {"spin_ns": spin_ns}, 1 * US, took + gap, rng, size, spread / 10)
    taken = correction(took, took, took, "traced_duration")
    return Measurement(
        **{name: getattr(found, name) for name in ("device", "name", "setting", "status", "data")},
        corrections=[taken],
    )


def floor_result(seed: int = 0, **settings: Any) -> Result:
    """A result with `floor_rows`, and a plain call of 2 ns on the cpu."""
    direct = row("call_direct", [2e-9] * 30)
    return result(direct, *floor_rows(seed, **settings))
