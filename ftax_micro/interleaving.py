"""Timing several ways to do the same work side by side, in blocks that take turns.

The problem: A measured first and B after it differ by whatever drifted in between (clocks, heat,
neighbours), and A and B by turns, forward by forward, disturb each other: caches, and the worker
threads that a runtime leaves spinning.
  wrong:  all of A, then all of B            A B A B A B …
  right:  a block of A, a block of B, and round again, each block's first forward kept apart
Between two stamps lie one forward and, for `latency_s`, the wait for its output. What a forward
returns is released after the last stamp. Python's garbage collector is off inside a block and runs
between blocks.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ftax_micro import stats
from ftax_micro.errors import Interrupted
from ftax_micro.records import Data, Plan, StopReason
from ftax_micro.stopping import StoppingCriterion

# A block is long enough to be past what the block before left in the caches, and short enough that
# some tens of rounds fit into a measurement.
_BLOCK_S = 0.2
_MOST_PER_BLOCK = 50
_LEAST_PER_BLOCK = 2
# The paper's protocol: 10 forwards before the 100 that count. A quick run has fewer.
_WARMUPS, _QUICK_WARMUPS = 10, 3


@dataclass(frozen=True)
class ForwardProbe:
    """One way to do the work: `forward()` starts it, `synchronise()` returns when it is done.

    `synchronise` is None where `forward` returns with the work done; host time and latency are then
    the same. `host` is False where `forward` synchronises inside and its return tells nothing of
    the host's own work.
    """

    forward: Callable[[], Any]
    synchronise: Callable[[], None] | None = None
    host: bool = True
    pipelined: bool = True


@dataclass(frozen=True)
class ForwardTimes:
    """Seconds per forward: `latency`, and `host` and `pipelined` where they exist.

    `latency` and `host` have one sample per forward; `pipelined` one per block, whose forwards were
    synchronised once. `blocks` holds how many latency samples each block has, in order.
    """

    latency: Data
    host: Data | None
    pipelined: Data | None
    blocks: list[int]


@dataclass
class _Series:
    """What one probe has gathered, and whether it needs more."""

    probe: ForwardProbe
    plan: Plan
    per_block: int = _LEAST_PER_BLOCK
    warmup: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    host: list[float] = field(default_factory=list)
    pipelined: list[float] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    elapsed_s: float = 0.0
    reason: StopReason | None = None

    def __post_init__(self) -> None:
        self.criterion = StoppingCriterion(self.plan, self._half_width)

    def _half_width(self) -> float | None:
        return stats.median_interval(self.latency, self.plan.confidence).half_width


def measure_interleaved(
    probes: Mapping[str, ForwardProbe],
    plan: Plan,
    on_block: Callable[[str, int], None] | None = None,
) -> dict[str, ForwardTimes]:
    """Times of each probe, by name, from blocks that take turns until each has enough.

    `plan` holds for each probe by itself (minimum samples, timeout of its own blocks' time, …); one
    that is done takes no further turn. `on_block(name, samples)` is called after each block.
    Errors: what a probe raises; `Interrupted` before every probe has a block, afterwards what was
    taken is returned with that reason.
    """
    series = {name: _Series(probe, plan) for name, probe in probes.items()}
    order = list(series)
    try:
        for name in order:
            _warm_up(series[name])
        while any(each.reason is None for each in series.values()):
            for name in order:
                if series[name].reason is None:
                    _take_block(series[name])
                    if on_block:
                        on_block(name, len(series[name].latency))
            order = order[::-1]  # so that drift falls on all alike
    except Interrupted:
        if not all(each.latency for each in series.values()):
            raise
        for each in series.values():
            each.reason = each.reason or "interrupted"
    return {name: _times(each) for name, each in series.items()}


def _warm_up(series: _Series) -> None:
    count = _QUICK_WARMUPS if series.plan.quick else _WARMUPS
    with _collector_off():
        series.warmup = [pair[1] for pair in _forwards(series.probe, count)]
    typical_s = sorted(series.warmup)[count // 2]
    wanted = math.ceil(_BLOCK_S / max(typical_s, 1e-9))
    series.per_block = min(_MOST_PER_BLOCK, max(_LEAST_PER_BLOCK, wanted))


def _take_block(series: _Series) -> None:
    begin_s = time.perf_counter()
    with _collector_off():
        # The first of a block meets what the block before left behind.
        series.warmup += [pair[1] for pair in _forwards(series.probe, 1)]
        pairs = _forwards(series.probe, series.per_block)
        if series.probe.pipelined:
            series.pipelined.append(_pipelined(series.probe, series.per_block))
    series.host += [pair[0] for pair in pairs]
    series.latency += [pair[1] for pair in pairs]
    series.blocks.append(len(pairs))
    series.elapsed_s += time.perf_counter() - begin_s
    series.criterion.add(len(pairs), series.elapsed_s)
    if series.criterion.is_finished():
        series.reason = series.criterion.reason


def _forwards(probe: ForwardProbe, count: int) -> list[tuple[float, float]]:
    """Host time and latency of `count` forwards, one after the other."""
    now, forward, synchronise = time.perf_counter_ns, probe.forward, probe.synchronise
    pairs = []
    for _ in range(count):
        begin = now()
        output = forward()
        returned = end = now()
        if synchronise is not None:
            synchronise()
            end = now()
        del output
        pairs.append(((returned - begin) * 1e-9, (end - begin) * 1e-9))
    return pairs


def _pipelined(probe: ForwardProbe, count: int) -> float:
    """Seconds per forward of `count` forwards with one wait at the end (the paper's figure)."""
    now, forward, synchronise = time.perf_counter_ns, probe.forward, probe.synchronise
    begin = now()
    for _ in range(count):
        forward()
    if synchronise is not None:
        synchronise()
    return (now() - begin) * 1e-9 / count


def _times(series: _Series) -> ForwardTimes:
    def data(samples: list[float], warmup: list[float]) -> Data:
        return Data(
            estimate="median",
            stop_reason=series.reason or "interrupted",
            samples=samples,
            warmup=warmup,
            elapsed_s=series.elapsed_s,
        )

    latency = data(series.latency, series.warmup)
    host = data(series.host, []) if series.probe.host else None
    pipelined = data(series.pipelined, []) if series.pipelined else None
    return ForwardTimes(latency, host, pipelined, series.blocks)


@contextlib.contextmanager
def _collector_off() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
