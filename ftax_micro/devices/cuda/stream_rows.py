"""Rows for launches into a stream: submit, to_start, spacing, launch_sync, launch_rate, knee."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence

from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cuda.loops import DEFAULT_WAIT, HOLD_DEADLINE_S, Loops, row_measure
from ftax_micro.errors import Skip
from ftax_micro.measurement import (
    measure,
    measure_counts,
    measure_shots,
    measure_slope,
    slope_counts,
)
from ftax_micro.records import ClockFacts, Correction, Plan, Setting

_BURST_STEP = 32
_RATE_LAUNCHES = 10_000
_KNEE_REPEATS = 3
_RECENT_NS, _IDLE_NS = 0, 1_000_000
_IDLE_AXIS_NS = (0, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)

_APIS: Sequence[Setting] = tuple(
    {"api": api} for api in ("kernel", "kernel_ex", "cooperative", "dependent", "runtime")
)
_BYTES: Sequence[Setting] = tuple({"argument_bytes": n} for n in (0, 8, 64, 256, 1024, 4096))
_GRIDS: Sequence[Setting] = tuple({"grid": n} for n in (1, 32, 132, 1024, 16384))
_BLOCKS: Sequence[Setting] = tuple({"block": n} for n in (1, 32, 128, 256, 1024))
_STREAMS: Sequence[Setting] = tuple({"stream": kind} for kind in ("own", "legacy", "per_thread"))
_RUNTIME: Setting = {"api": "runtime"}
_SHAPE_AXES = {"argument_bytes": _BYTES, "grid": _GRIDS, "block": _BLOCKS}


def stream_rows(loops: Loops, clock: ClockFacts) -> list[FloorRow]:
    """The rows of one stream in the order of a launch's life."""
    bench = _Bench(loops, clock)
    idle = _idle_settings()
    waiting: Setting = {"wait": DEFAULT_WAIT}
    recent: Setting = {"idle_ns": _RECENT_NS}
    launches = {"api": _APIS, "stream": _STREAMS, **_SHAPE_AXES}
    # The kernel that stores takes the word and the value, whatever the axis says.
    stores = {name: axis for name, axis in launches.items() if name != "argument_bytes"}

    def row(
        name: str,
        summary: str,
        measure_: Callable[[Setting, Plan], Outcome],
        axes: Mapping[str, Sequence[Setting]],
        settings: Sequence[Setting] = ({},),
    ) -> FloorRow:
        return FloorRow(name, summary, row_measure(measure_), settings=settings, axes=axes)

    return [
        row(
            "submit",
            "host time inside one launch, queue not full",
            bench.submit,
            {**launches, "threads": _threads(), "idle": idle},
            settings=({}, _RUNTIME),
        ),
        row(
            "to_start",
            "launch call begins to the kernel's first instruction",
            bench.to_start,
            {"idle": idle, **_each_with(stores, recent)},
            settings=(recent, {"idle_ns": _IDLE_NS}),
        ),
        row(
            "spacing",
            "device time between two queued null kernels",
            bench.spacing,
            launches,
        ),
        row(
            "launch_sync",
            "one launch plus the wait for it",
            bench.launch_sync,
            _each_with({"idle": idle, **launches}, waiting),
            settings=(waiting, {**waiting, **_RUNTIME}),
        ),
        row("launch_rate", "interval of long back-to-back launches", bench.launch_rate, launches),
        row(
            "queue_knee",
            "launches that fit before the call blocks",
            bench.queue_knee,
            {"argument_bytes": _BYTES, "api": _APIS},
        ),
        row("round_trip", "one read of host memory inside a kernel", bench.round_trip, {}),
    ]


class _Bench:
    def __init__(self, loops: Loops, clock: ClockFacts) -> None:
        self._loops, self._clock = loops, clock

    def _bursts(self, setting: Setting) -> list[int]:
        return slope_counts(_BURST_STEP, self._loops.knee_for(setting) // 2)

    def submit(self, setting: Setting, plan: Plan) -> Outcome:
        probe = functools.partial(self._loops.submit, setting)
        return Outcome(measure_slope(probe, self._bursts(setting), plan, self._clock))

    def to_start(self, setting: Setting, plan: Plan) -> Outcome:
        probe = functools.partial(self._loops.to_start, setting)
        data = measure_shots(probe, plan, self._clock, per_draw=shots_per_draw(setting))
        trip_s = self._loops.round_trip_s
        leg = Correction(
            name="device_to_host_leg",
            value_s=trip_s / 2,
            low_s=0.0,
            high_s=trip_s,
            source="round_trip",
        )
        return Outcome(data, corrections=[leg])

    def spacing(self, setting: Setting, plan: Plan) -> Outcome:
        loops, session = self._loops, self._loops.session_for(setting)
        spec = loops.spec(setting)

        def probe(count: int) -> float:
            return float(loops.extension.spacing(session, spec, count, 1, HOLD_DEADLINE_S)[0])

        return Outcome(measure_slope(probe, self._bursts(setting), plan, self._clock))

    def launch_sync(self, setting: Setting, plan: Plan) -> Outcome:
        probe = functools.partial(self._loops.launch_sync, setting)
        return Outcome(measure_shots(probe, plan, self._clock, per_draw=shots_per_draw(setting)))

    def launch_rate(self, setting: Setting, plan: Plan) -> Outcome:
        loops, session = self._loops, self._loops.session_for(setting)
        left_s: list[float] = []
        total_s: list[float] = []

        def probe(launches: int) -> float:
            rate = loops.extension.launch_rate(session, loops.spec(setting), launches, 1)
            total_s.append(float(rate.total_s[0]))
            left_s.append(total_s[-1] - float(rate.submit_s[0]))
            return total_s[-1]

        data = measure(probe, plan, self._clock, loops=_RATE_LAUNCHES)
        # Where the device sets the pace the queue is full when the last call returns, and emptying
        # it takes a knee's worth of intervals; where the host does, it is all but empty.
        queued = sorted(left / total for left, total in zip(left_s, total_s, strict=True))
        share = queued[len(queued) // 2]
        full = share > loops.knee_for(setting) / 4 / _RATE_LAUNCHES
        facts = {"limited_by": "device" if full else "host", "after_last_call_share": share}
        return Outcome(data, facts={**facts})

    def queue_knee(self, setting: Setting, plan: Plan) -> Outcome:
        def find() -> int:
            found = self._loops.find_knee(setting)
            if found is None:
                raise Skip("no launch blocked: the queue has no knee within 8,192 launches")
            return found

        return Outcome(measure_counts(find, _KNEE_REPEATS, plan))

    def round_trip(self, _: Setting, plan: Plan) -> Outcome:
        return Outcome(measure_shots(self._loops.round_trips, plan, self._clock))


def shots_per_draw(setting: Setting) -> int:
    """Shots per draw so that one draw stays near 20 ms, and Ctrl-C is answered."""
    return int(min(32, max(1, 20_000_000 // max(int(setting.get("idle_ns", 0)), 1))))


def _idle_settings() -> list[Setting]:
    spinning: list[Setting] = [{"idle_ns": ns, "idle_by": "spin"} for ns in _IDLE_AXIS_NS]
    sleeping: list[Setting] = [{"idle_ns": ns, "idle_by": "sleep"} for ns in _IDLE_AXIS_NS[1:]]
    return spinning + sleeping


def _threads() -> list[Setting]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [{"threads": n} for n in (1, 2, 4, 8, 16) if n <= (cores or 1)]


def _each_with(axes: Mapping[str, Sequence[Setting]], base: Setting) -> dict[str, list[Setting]]:
    return {name: [{**base, **each} for each in settings] for name, settings in axes.items()}
