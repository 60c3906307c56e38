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

import gc
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ftax_micro import stats
from ftax_micro.collector import collector_off, old_objects_set_aside
from ftax_micro.errors import Interrupted, RecompiledError
from ftax_micro.records import Data, DeviceState, Plan, Record, StopReason
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
    the host's own work. `compilations` tells how much this process has compiled so far: a
    forward during which that changes fails.
    """

    forward: Callable[[], Any]
    synchronise: Callable[[], None] | None = None
    host: bool = True
    pipelined: bool = True
    compilations: Callable[[], int] = lambda: 0


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


class Block(Record, frozen=True, kw_only=True):
    """One turn of one probe; seconds per forward.

    `warmup` are the forwards kept apart: the first of the block, and before a probe's first block
    in a process its warm-up. `host` is empty and `pipelined` None where the probe has no such time.
    `elapsed_s` is what the turn took, warm-up before a first block left out. `before` and `after`
    are the device's states around it, where they were read.
    """

    latency: list[float]
    host: list[float] = msgspec.field(default_factory=list)
    pipelined: float | None = None
    warmup: list[float] = msgspec.field(default_factory=list)
    elapsed_s: float = 0.0
    before: DeviceState | None = None
    after: DeviceState | None = None


class Watch:
    """Who is told of turns as they are taken; never inside one. Does nothing by itself."""

    def turn_begins(self, name: str) -> None:
        """The probe called `name` warms up or takes a block next."""

    def turn_ends(self, name: str, block: Block) -> None:
        """It has taken `block`."""

    def probe_ends(self, name: str, reason: StopReason) -> None:
        """It has enough."""

    def probe_fails(self, name: str, error: Exception) -> None:  # noqa: ARG002
        """The probe called `name` raised `error` and takes no further turn, unless this raises."""
        raise error


@dataclass
class _Series:
    """What one probe has gathered, and whether it needs more."""

    name: str
    probe: ForwardProbe
    plan: Plan
    state: Callable[[], DeviceState | None]
    per_block: int = _LEAST_PER_BLOCK
    warmup: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    taken: list[Block] = field(default_factory=list)
    elapsed_s: float = 0.0
    reason: StopReason | None = None
    failed: bool = False

    def __post_init__(self) -> None:
        self.criterion = StoppingCriterion(self.plan, self._half_width)

    @property
    def going(self) -> bool:
        return self.reason is None and not self.failed

    def keep(self, block: Block) -> None:
        self.taken.append(block)
        self.latency += block.latency
        self.elapsed_s += block.elapsed_s
        self.criterion.add(len(block.latency), self.elapsed_s)
        if self.criterion.is_finished():
            self.reason = self.criterion.reason

    def _half_width(self) -> float | None:
        return stats.median_interval(self.latency, self.plan.confidence).half_width


def measure_interleaved(
    probes: Mapping[str, ForwardProbe],
    plan: Plan,
    watch: Watch | None = None,
    known: Mapping[str, Sequence[Block]] | None = None,
    state: Callable[[], DeviceState | None] = lambda: None,
) -> dict[str, ForwardTimes]:
    """Times of each probe, by name, from blocks that take turns until each has enough.

    `plan` holds for each probe by itself (minimum samples, timeout of its own blocks' time, …); one
    that is done takes no further turn. `known` are blocks taken before, in another process: a
    probe goes on from there, its stopping criterion too. `state` is read around each block.
    Errors: what a probe raises, unless `watch` takes it: then that probe is not in what is
    returned; `Interrupted` before every probe has a block, afterwards what was taken is returned
    with that reason.
    """
    told = watch or Watch()
    series = [_Series(name, probe, plan, state) for name, probe in probes.items()]
    for each in series:
        for block in (known or {}).get(each.name, ()):
            each.keep(block)
        if each.reason is not None:  # enough before
            told.probe_ends(each.name, each.reason)
    try:
        gc.collect()
        with old_objects_set_aside():
            _take_turns(series, told)
    except Interrupted:
        if not all(each.taken for each in series if not each.failed):
            raise
        for each in series:
            each.reason = each.reason or "interrupted"
    return {
        each.name: times_of(each.taken, each.reason or "interrupted")
        for each in series
        if not each.failed
    }


def _take_turns(series: Sequence[_Series], told: Watch) -> None:
    order = list(series)
    for each in order:
        _turn(each, told, _warm_up)
    while any(each.going for each in series):
        for each in order:
            _turn(each, told, _take_block)
        order = order[::-1]  # so that drift falls on all alike


def times_of(blocks: Sequence[Block], reason: StopReason) -> ForwardTimes:
    """What `blocks` of one probe, at least one, come to; `reason` is why there are no more."""

    def data(samples: list[float], warmup: list[float]) -> Data:
        return Data(
            estimate="median",
            stop_reason=reason,
            samples=samples,
            warmup=warmup,
            elapsed_s=sum(block.elapsed_s for block in blocks),
        )

    latency = [value for block in blocks for value in block.latency]
    warmup = [value for block in blocks for value in block.warmup]
    host = [value for block in blocks for value in block.host]
    pipelined = [block.pipelined for block in blocks if block.pipelined is not None]
    return ForwardTimes(
        data(latency, warmup),
        data(host, []) if host else None,
        data(pipelined, []) if pipelined else None,
        [len(block.latency) for block in blocks],
    )


def _turn(series: _Series, watch: Watch, take: Callable[[_Series], Block | None]) -> None:
    """One warm-up or block, told of before and after."""
    if not series.going:
        return
    watch.turn_begins(series.name)
    try:
        compiled = series.probe.compilations()
        block = take(series)
        if series.probe.compilations() != compiled:
            raise RecompiledError("compiled again while it was timed")
    except Interrupted:
        raise
    except Exception as error:
        series.failed = True
        watch.probe_fails(series.name, error)
        return
    if block is None:
        return
    series.keep(block)
    watch.turn_ends(series.name, block)
    if series.reason is not None:
        watch.probe_ends(series.name, series.reason)


def _warm_up(series: _Series) -> None:
    """The protocol's warm-up; shorter where it would take longer than the measurement may."""
    count = _QUICK_WARMUPS if series.plan.quick else _WARMUPS
    end_s = time.perf_counter() + series.plan.timeout_s
    gc.collect()
    with collector_off():
        while len(series.warmup) < count and (not series.warmup or time.perf_counter() < end_s):
            series.warmup.append(_forwards(series.probe, 1)[0][1])
    typical_s = sorted(series.warmup)[len(series.warmup) // 2]
    wanted = math.ceil(_BLOCK_S / max(typical_s, 1e-9))
    series.per_block = min(_MOST_PER_BLOCK, max(_LEAST_PER_BLOCK, wanted))


def _take_block(series: _Series) -> Block:
    before = series.state()
    begin_s = time.perf_counter()
    probe, count = series.probe, series.per_block
    warmup, series.warmup = series.warmup, []
    gc.collect()
    with collector_off():
        # The first of a block meets what the block before left behind.
        warmup += [pair[1] for pair in _forwards(probe, 1)]
        pairs = _forwards(probe, count)
        pipelined = _pipelined(probe, count) if probe.pipelined else None
    elapsed_s = time.perf_counter() - begin_s
    return Block(
        latency=[pair[1] for pair in pairs],
        host=[pair[0] for pair in pairs] if probe.host else [],
        pipelined=pipelined,
        warmup=warmup,
        elapsed_s=elapsed_s,
        before=before,
        after=series.state(),
    )


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
