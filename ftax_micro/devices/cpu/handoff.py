"""Rows for handing an empty task to a worker thread, part by part."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cpu.cores import PLACEMENTS, Topology
from ftax_micro.glances import Glance, Sight
from ftax_micro.measurement import (
    SHORT_ROW_PROCESSES,
    BurstProbe,
    ShotProbe,
    measure,
    measure_counts,
    measure_shots,
    measure_slope,
    slope_counts,
)
from ftax_micro.records import BUSY, WORKER, ClockFacts, Plan, Setting, Verdict

# About the depth at which a CUDA stream blocks, so that both devices' bursts compare.
RING_CAPACITY = 1024
# Bursts end at half the ring: a fuller one would time the worker, not the hand-over.
_BURSTS = slope_counts(64, RING_CAPACITY // 2)
_RATE_TASKS = 10_000
_KNEE_HOLD_NS = 10_000_000
_KNEE_REPEATS = 5
_RECENT, _IDLE_NS = 0, 1_000_000
# Below this share of hand-overs that found the ring full, the host is the one that limits.
_HOST_LIMITED = 0.02
# Long enough for a blocked thread to be asleep, and no longer than in a launch of its own.
_WAITED_NS = 5_000
# After its last task, long enough for a blocking worker to be asleep for sure.
_ASLEEP_NS = 30_000
_WAITED_AXIS_NS = (2_000, 5_000, 20_000, 50_000, 200_000, 1_000_000, 10_000_000)
_IDLE_AXIS_NS = (0, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)

_WAITS: tuple[Setting, ...] = ({"wait": "spin"}, {"wait": "block"})


def handoff_rows(clock: ClockFacts, topology: Topology) -> list[FloorRow]:
    """``submit`` … ``queue_knee`` between two cores, with a spinning and a blocking worker."""
    bench = _Bench(clock, topology)
    placement = [{"wait": "spin", "placement": name} for name in PLACEMENTS]
    idle = [{"wait": w, "idle_ns": ns} for w in ("spin", "block") for ns in _IDLE_AXIS_NS]
    starts = [{"wait": w, "idle_ns": ns} for w in ("spin", "block") for ns in (_RECENT, _IDLE_NS)]
    styles = [{"wait": style} for style in ("spin", "yield", "block")]
    waited = [{**style, "waited_ns": ns} for style in styles for ns in _WAITED_AXIS_NS]

    def row(
        name: str, summary: str, measure_: Callable[[Setting, Plan], Outcome], **more: Any
    ) -> FloorRow:
        more.setdefault("settings", _WAITS)
        axes = {"placement": placement, **more.pop("axes", {})}
        return FloorRow(name, summary, measure_, axes=axes, **more)

    return [
        row(
            "submit",
            "host time of one hand-over, ring not full: a spinning worker is busy, a blocking "
            "one is woken by it",
            bench.submit,
            processes=SHORT_ROW_PROCESSES,
        ),
        row(
            "to_start",
            "hand-over begins to the task's first instruction",
            bench.to_start,
            settings=starts,
            axes={"idle": idle},
        ),
        row("spacing", "worker time from one queued empty task to the next", bench.spacing),
        row(
            "sync",
            "last task done to the waiting thread running again",
            bench.sync,
            settings=styles,
            axes={"waited": waited},
        ),
        row(
            "launch_sync",
            "one hand-over plus the wait for it",
            bench.launch_sync,
            axes={"idle": idle},
        ),
        row("launch_rate", "steady interval of long back-to-back hand-overs", bench.launch_rate),
        row(
            "queue_knee",
            "hand-overs that fit before one blocks (self-check: the ring's size)",
            bench.queue_knee,
            settings=({"wait": "spin"},),
        ),
    ]


@dataclass(frozen=True)
class _Worker:
    """A worker thread behind its ring, and the cores that host and worker are kept on."""

    ring: Any
    cores: tuple[int, int]

    @property
    def glance(self) -> Glance | None:
        """How fast both cores are at this moment, and how far apart; None where nobody knows which
        they are.
        """
        return None if min(self.cores) < 0 else self._look

    def _look(self) -> Sight:
        seen = self.ring.glance()
        host, worker = map(str, self.cores)
        return Sight({host: seen.host_work_s, worker: seen.worker_work_s}, seen.hop_s)


class _Bench:
    """Opens the worker a setting asks for and measures one row with it."""

    def __init__(self, clock: ClockFacts, topology: Topology) -> None:
        self._clock, self._topology = clock, topology

    def _open(self, setting: Setting, wait: str | None = None) -> _Worker:
        host = core().host
        cores = self._topology.pair(str(setting.get("placement", "other_core")))
        style = getattr(host.Wait, wait or str(setting.get("wait", "spin")))
        return _Worker(host.HandOff(*cores, style, RING_CAPACITY), cores)

    def submit(self, setting: Setting, plan: Plan) -> Outcome:
        worker = self._open(setting)
        if setting.get("wait") == "block":
            # A burst would wake the worker now and then: a number for the scheduler's mood. Each
            # hand-over finds it asleep instead, and has the wake-up in it.
            probe = functools.partial(worker.ring.submit_shots, idle_ns=_ASLEEP_NS)
            return self._of_shots(worker, probe, plan)
        outcome = self._of_bursts(worker, worker.ring.submit_burst, plan)
        # One that polls meanwhile takes the ring's cache lines away: another number, and what
        # results of before schema 8 have.
        return replace(outcome, facts={**outcome.facts, WORKER: BUSY})

    def spacing(self, setting: Setting, plan: Plan) -> Outcome:
        worker = self._open(setting)
        return self._of_bursts(worker, worker.ring.spacing_burst, plan)

    def to_start(self, setting: Setting, plan: Plan) -> Outcome:
        worker = self._open(setting)
        idle_ns = int(setting.get("idle_ns", _RECENT))
        probe = functools.partial(worker.ring.to_start, idle_ns=idle_ns)
        return self._of_shots(worker, probe, plan, idle_ns)

    def sync(self, setting: Setting, plan: Plan) -> Outcome:
        host = core().host
        name = str(setting.get("wait", "spin"))
        style = host.Wait.yield_ if name == "yield" else getattr(host.Wait, name)
        waited_ns = int(setting.get("waited_ns", _WAITED_NS))
        # A worker that was itself just woken wakes another sooner than one that spins: as in
        # `launch_sync`, so that the parts add up.
        worker = self._open(setting, wait="block" if name == "block" else "spin")
        probe = functools.partial(worker.ring.sync, style=style, waited_ns=waited_ns)
        return self._of_shots(worker, probe, plan, waited_ns)

    def launch_sync(self, setting: Setting, plan: Plan) -> Outcome:
        worker = self._open(setting)
        idle_ns = int(setting.get("idle_ns", 0))
        probe = functools.partial(worker.ring.launch_sync, idle_ns=idle_ns)
        return self._of_shots(worker, probe, plan, idle_ns)

    def launch_rate(self, setting: Setting, plan: Plan) -> Outcome:
        worker = self._open(setting)
        stalls: list[float] = []

        def probe(loops: int) -> float:
            sample = worker.ring.launch_rate(loops)
            stalls.append(sample.stalls / loops)
            return float(sample.total_s)

        data = measure(probe, plan, self._clock, loops=_RATE_TASKS, glance=worker.glance)
        limited = "host" if np.median(stalls) < _HOST_LIMITED else "worker"
        return Outcome(
            data, facts={"limited_by": limited, "stalled_share": float(np.median(stalls))}
        )

    def queue_knee(self, setting: Setting, plan: Plan) -> Outcome:
        worker = self._open(setting)

        def probe() -> int | None:
            # A host that loses its core while the worker is held never finds the ring full.
            count = int(worker.ring.queue_knee(_KNEE_HOLD_NS))
            return count if count >= 0 else None

        data = measure_counts(probe, _KNEE_REPEATS, plan)
        verdicts = []
        if any(count != RING_CAPACITY for count in data.samples):
            found = sorted(set(data.samples))
            sentence = f"the ring holds {RING_CAPACITY} tasks, but blocked after {found}"
            verdicts.append(Verdict(code="self_check", sentence=sentence))
        return Outcome(data, verdicts=verdicts)

    def _of_shots(self, worker: _Worker, probe: ShotProbe, plan: Plan, idle_ns: int = 0) -> Outcome:
        number = _shots(idle_ns)
        return Outcome(measure_shots(probe, plan, self._clock, number, worker.glance))

    def _of_bursts(self, worker: _Worker, probe: BurstProbe, plan: Plan) -> Outcome:
        return Outcome(measure_slope(probe, _BURSTS, plan, self._clock, glance=worker.glance))


def _shots(idle_ns: int) -> int:
    """Shots per draw so that one draw stays near 10 ms, and Ctrl-C is answered."""
    return int(min(32, max(1, 10_000_000 // max(idle_ns, 1))))
