"""Rows under a tracer, measured in a process of their own, and the gap that needs one.

`submit`, `to_start` and `launch_sync` under a tracer stand beside those without: the difference is
what the tracer costs. `begin_to_begin` and `kernel_duration` exist only under one, being read off
its records. `begin_to_begin` is the floor of SKIP (arXiv 2504.11750) and of TaxBreak (arXiv
2603.12465).

`gap` is what a full queue leaves between two kernels. Their spacing is measured here, without a
tracer, since one delays every launch; how long they run only a tracer tells, and hardly changes.
Kernels of several lengths show whether what is left between them is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from ftax_micro.devices.contract import TRACER, FloorRow, Outcome, Subtracted
from ftax_micro.devices.cuda.loops import DEFAULT_WAIT, Loops, row_measure
from ftax_micro.devices.cuda.traced_loops import TracedLoops, begins_to_begins, durations
from ftax_micro.errors import NeedsOwnProcess
from ftax_micro.measurement import measure_shots, measure_slope, slope_counts
from ftax_micro.records import ClockFacts, FactValue, Plan, Setting, Verdict

_CUPTI: Setting = {TRACER: "cupti"}
# Rows with a traced point beside the untraced ones: their first, which is the default.
_BESIDE = ("submit", "to_start", "launch_sync")
_APIS: Sequence[Setting] = tuple({"api": api, **_CUPTI} for api in ("kernel", "runtime"))
# As good as no time, and up to well above any gap.
_SPINS: Sequence[Setting] = tuple({"spin_ns": ns} for ns in (0, 2_000, 5_000, 20_000))
_BURST_STEP = 32
_SHOTS_PER_DRAW = 32
_KERNELS_PER_DRAW = 64
_NULL, _SPIN = "ftax_null", "ftax_spin"


def with_traced_rows(rows: Sequence[FloorRow], loops: Loops, clock: ClockFacts) -> list[FloorRow]:
    """`rows`, some with a traced point beside the untraced ones, and the rows that need a tracer.

    Where `loops` are not `TracedLoops`, a traced point asks for a process of its own.
    """
    bench = _Bench(loops, clock)
    beside = [bench.beside(row) if row.name in _BESIDE else row for row in rows]
    return [
        *beside,
        FloorRow(
            "begin_to_begin",
            "launch call begins to kernel begins, both as the tracer sees them",
            row_measure(bench.begin_to_begin),
            settings=_APIS,
        ),
        FloorRow(
            "kernel_duration",
            "a queued kernel from begin to end, as the tracer sees it",
            row_measure(bench.kernel_duration),
            settings=tuple({**each, **_CUPTI} for each in _SPINS),
        ),
        FloorRow(
            "gap",
            "what a full queue leaves between two kernels: their spacing less their duration",
            row_measure(bench.gap),
            settings=_SPINS,
            subtracted=Subtracted("kernel_duration", _CUPTI),
        ),
    ]


class _Bench:
    def __init__(self, loops: Loops, clock: ClockFacts) -> None:
        self._loops, self._clock = loops, clock

    def beside(self, row: FloorRow) -> FloorRow:
        """`row` with its first point under the tracer as well."""

        def measure(setting: Setting, plan: Plan) -> Outcome:
            if TRACER not in setting:
                return row.measure(setting, plan)
            loops = self._traced()
            return _told(row.measure(setting, plan), loops)

        settings = (*row.settings, {**row.settings[0], **_CUPTI})
        return replace(row, measure=measure, settings=settings)

    def begin_to_begin(self, setting: Setting, plan: Plan) -> Outcome:
        loops = self._traced()
        launch: Setting = {**setting, "wait": DEFAULT_WAIT}

        def probe(shots: int) -> list[float]:
            # The first launch after records were taken pays for a fresh buffer: it is left out.
            loops.launch_sync(launch, shots + 1)
            return begins_to_begins(loops.take(), _NULL, shots + 1)[1:]

        number = min(_SHOTS_PER_DRAW, plan.min_samples)
        data = measure_shots(probe, plan, self._clock, per_draw=number)
        early = sum(value < 0 for value in data.samples)
        outcome = Outcome(data, facts={"negative_values": early})
        if early:
            sentence = f"{early} of {len(data.samples)} kernels began before their launch call: "
            sentence += "the tracer's clocks of host and device do not agree"
            verdict = Verdict(code="begins_before_call", sentence=sentence)
            outcome = replace(outcome, verdicts=[verdict])
        return _told(outcome, loops)

    def kernel_duration(self, setting: Setting, plan: Plan) -> Outcome:
        loops = self._traced()
        number = max(1, min(_KERNELS_PER_DRAW, loops.knee() // 2))
        loops.begin()  # looking for the knee has launched thousands

        def probe(kernels: int) -> list[float]:
            loops.spin_spacing(int(setting["spin_ns"]), kernels)
            return durations(loops.take(), _SPIN, kernels)

        return _told(Outcome(measure_shots(probe, plan, self._clock, per_draw=number)), loops)

    def gap(self, setting: Setting, plan: Plan) -> Outcome:
        """The spacing alone; the kernels' duration is taken off it by whoever has both."""
        probe = functools.partial(self._loops.spin_spacing, int(setting["spin_ns"]))
        counts = slope_counts(_BURST_STEP, self._loops.knee() // 2)
        return Outcome(measure_slope(probe, counts, plan, self._clock))

    def _traced(self) -> TracedLoops:
        if not isinstance(self._loops, TracedLoops):
            raise NeedsOwnProcess("no tracer was started in this process before the driver")
        self._loops.begin()
        return self._loops


def _told(outcome: Outcome, loops: TracedLoops) -> Outcome:
    """`outcome` with the tracer's facts, and with what it lost."""
    loops.take()
    facts: dict[str, FactValue] = {**outcome.facts, **loops.facts, "records_dropped": loops.dropped}
    verdicts = list(outcome.verdicts)
    if loops.dropped:
        sentence = f"the tracer lost {loops.dropped} records"
        verdicts.append(Verdict(code="records_dropped", sentence=sentence))
    return replace(outcome, facts=facts, verdicts=verdicts)
