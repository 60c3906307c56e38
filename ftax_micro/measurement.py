"""The measuring core: calibrate, warm up, sample until the criterion says stop.

Three shapes of probe cover everything that is measured here:

* a **looped** probe, ``probe(loops) -> elapsed seconds``: the operation repeats between two clock reads;
* a **shot** probe, ``probe(count) -> values``: every value is its own pair of stamps (seconds each);
* a **burst** probe, ``probe(count) -> elapsed seconds`` of one burst of `count` operations, whose slope
  over the counts is the cost of one operation, free of entry, timer and synchronisation cost.

Each returns `Data`: all raw values, warm-up apart, with the reason why sampling ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import cycle

import numpy as np

from ftax_micro import stats
from ftax_micro.errors import FtaxError, Interrupted
from ftax_micro.records import ClockFacts, Data, Estimate, Level, Plan, StopReason
from ftax_micro.stopping import StoppingCriterion

LoopProbe = Callable[[int], float]
ShotProbe = Callable[[int], Sequence[float]]
BurstProbe = Callable[[int], float]

# A looped sample shorter than this many clock ticks is mostly quantisation, a single shot shorter than
# ten of them is (design §9); such values are refused rather than reported.
MIN_LOOPED_TICKS = 100
MIN_SHOT_TICKS = 10
# Looped samples aim at this length: thousands fit into the default time, and one clock read (20-30 ns)
# is far below a tenth of a percent of it.
_TARGET_SAMPLE_S = 100e-6
_MOST_LOOPS = 1 << 40
_SHOTS_PER_DRAW = 32
# Resamples while deciding whether to go on; the reported interval uses more.
_LOOK_RESAMPLES = 200


class ResolutionError(FtaxError):
    """A value too short for the clock that would have measured it."""


def calibrate(probe: LoopProbe, clock: ClockFacts, target_s: float = _TARGET_SAMPLE_S) -> int:
    """Loops that make one sample last about `target_s` and at least 100 clock ticks and reads.

    Doubles from one loop upwards, so that an unexpectedly slow operation costs two samples, not
    thousands. Errors: `ResolutionError` where no number of loops becomes measurable.
    """
    floor_s = MIN_LOOPED_TICKS * max(clock.tick_s, clock.read_cost_s)
    wanted_s = max(target_s, floor_s)
    loops = 1
    while loops <= _MOST_LOOPS:
        elapsed_s = probe(loops)
        if elapsed_s >= wanted_s / 2:
            return max(1, round(loops * wanted_s / elapsed_s)) if elapsed_s < wanted_s else loops
        growth = wanted_s / elapsed_s if elapsed_s > floor_s / 10 else 10.0
        loops = max(loops + 1, int(loops * min(10.0, growth)))
    raise ResolutionError("the operation takes no measurable time however often it is repeated")


def measure(probe: LoopProbe, plan: Plan, clock: ClockFacts, loops: int | None = None) -> Data:
    """Samples of a looped probe, in seconds per operation.

    `loops` fixes the operations inside one sample; by default they are calibrated. Errors:
    `ResolutionError` when samples come out shorter than 100 clock ticks; what the probe raises.
    """
    count = loops or calibrate(probe, clock)
    raw = _Sampling(lambda: [probe(count) / count], plan)
    raw.run()
    _refuse_short(raw.values, count, MIN_LOOPED_TICKS if count > 1 else MIN_SHOT_TICKS, clock)
    return raw.data(loops=count)


def measure_shots(probe: ShotProbe, plan: Plan, clock: ClockFacts, per_draw: int | None = None) -> Data:
    """Single-shot samples, each in seconds, `per_draw` at a time.

    A shot may be censored (its value could not be observed): the probe returns NaN for it, and it is
    counted, not stored. Errors: `ResolutionError` when the median is under 10 clock ticks, or when
    nothing but censored shots came back.
    """
    number = per_draw or min(_SHOTS_PER_DRAW, plan.min_samples)
    raw = _Sampling(lambda: probe(number), plan)
    raw.run()
    _refuse_short(raw.values, 1, MIN_SHOT_TICKS, clock)
    return raw.data(loops=1)


def measure_counts(probe: Callable[[], int], repeats: int, plan: Plan) -> Data:
    """A plain count found `repeats` times (a queue's depth), stored with unit ``"count"``."""
    begin = time.perf_counter()
    samples: list[float] = []
    reason: StopReason = "fixed_count"
    for _ in range(repeats):
        samples.append(float(probe()))
        if time.perf_counter() - begin >= plan.timeout_s:
            reason = "timeout"
            break
    elapsed_s = time.perf_counter() - begin
    return Data(estimate="median", unit="count", samples=samples, stop_reason=reason, elapsed_s=elapsed_s)


def measure_slope(
    probe: BurstProbe,
    counts: Sequence[int],
    plan: Plan,
    clock: ClockFacts,
    estimate: Estimate = "slope",
) -> Data:
    """Bursts of every count, interleaved, until the slope (or intercept) is known well enough.

    Levels alternate up and down from round to round, so that drift falls on all of them alike. Samples
    are seconds per whole burst. Errors: `ResolutionError` where the longest burst is under 100 ticks;
    `ValueError` for fewer than two distinct counts.
    """
    if len(set(counts)) < 2:
        raise ValueError("a slope needs two distinct counts")
    sampling = _LevelSampling(probe, counts, plan, estimate)
    sampling.run()
    longest_s = max(float(np.median(level.samples_s)) for level in sampling.levels())
    if longest_s < MIN_LOOPED_TICKS * clock.tick_s:
        raise ResolutionError(_too_short(longest_s, MIN_LOOPED_TICKS, clock))
    return sampling.data()


def slope_counts(step: int, most: int, levels: int = 6) -> list[int]:
    """Burst sizes d, 2d, 3d … with d = `step` shrunk so that the last is at most `most`.

    Errors: `ValueError` where `most` leaves no two sizes.
    """
    if most < 2:
        raise ValueError(f"at most {most} operations leave no slope")
    kept = min(levels, most)
    d = max(1, min(step, most // kept))
    return [d * i for i in range(1, kept + 1)]


class _Sampling:
    """Draws batches of values until the criterion ends it; keeps what it has when interrupted."""

    def __init__(self, draw: Callable[[], Sequence[float]], plan: Plan) -> None:
        self._draw, self._plan = draw, plan
        self.values: list[float] = []
        self.warmup: list[float] = []
        self.censored = 0
        self._reason: StopReason = "interrupted"
        self._begin = time.perf_counter()

    def run(self) -> None:
        end_s = time.perf_counter() + self._plan.warmup_time_s
        while True:
            self.warmup.extend(self._observed(self._draw(), count=False))
            if time.perf_counter() >= end_s:
                break
        self._begin = time.perf_counter()
        criterion = StoppingCriterion(self._plan, self._half_width)
        try:
            while not criterion.is_finished():
                values = self._draw()
                self.values.extend(self._observed(values))
                criterion.add(len(values), time.perf_counter() - self._begin)
        except (Interrupted, KeyboardInterrupt):
            if len(self.values) < self._plan.min_samples:
                raise
        self._reason = criterion.reason or "interrupted"

    def _observed(self, values: Sequence[float], count: bool = True) -> list[float]:
        seen = [float(value) for value in values if value == value]
        self.censored += (len(values) - len(seen)) if count else 0
        return seen

    def _half_width(self) -> float | None:
        if not self.values:
            return None
        return stats.median_interval(self.values, self._plan.confidence).half_width

    def data(self, loops: int) -> Data:
        return Data(
            estimate="median",
            stop_reason=self._reason,
            loops=loops,
            samples=self.values,
            warmup=self.warmup,
            censored=self.censored,
            elapsed_s=time.perf_counter() - self._begin,
        )


class _LevelSampling:
    """Draws one burst of every count a round until the criterion ends it."""

    def __init__(self, probe: BurstProbe, counts: Sequence[int], plan: Plan, estimate: Estimate) -> None:
        self._probe, self._counts, self._plan, self._estimate = probe, list(counts), plan, estimate
        self._samples: list[list[float]] = [[] for _ in counts]
        self._warmup: list[float] = []
        self._reason: StopReason = "interrupted"
        self._begin = time.perf_counter()

    def run(self) -> None:
        end_s = time.perf_counter() + self._plan.warmup_time_s
        while True:
            self._warmup.extend(self._probe(count) for count in self._counts)
            if time.perf_counter() >= end_s:
                break
        self._begin = time.perf_counter()
        criterion = StoppingCriterion(self._plan, self._half_width)
        order = list(range(len(self._counts)))
        for indices in cycle((order, order[::-1])):
            if criterion.is_finished():
                break
            for index in indices:
                self._samples[index].append(self._probe(self._counts[index]))
            criterion.add(len(indices), time.perf_counter() - self._begin)
        self._reason = criterion.reason or "interrupted"

    def _half_width(self) -> float | None:
        line = stats.slope_interval(
            self._counts, self._samples, self._plan.confidence, resamples=_LOOK_RESAMPLES
        )
        return (line.slope if self._estimate == "slope" else line.intercept).half_width

    def levels(self) -> list[Level]:
        pairs = zip(self._counts, self._samples, strict=True)
        return [Level(count=count, samples_s=samples) for count, samples in pairs]

    def data(self) -> Data:
        return Data(
            estimate=self._estimate,
            stop_reason=self._reason,
            levels=self.levels(),
            warmup=self._warmup,
            elapsed_s=time.perf_counter() - self._begin,
        )


def _refuse_short(values: Sequence[float], loops: int, ticks: int, clock: ClockFacts) -> None:
    if not values:
        raise ResolutionError("every shot was censored: nothing could be observed")
    sample_s = float(np.median(values)) * loops
    if sample_s < ticks * clock.tick_s:
        raise ResolutionError(_too_short(sample_s, ticks, clock))


def _too_short(sample_s: float, ticks: int, clock: ClockFacts) -> str:
    return (
        f"a sample of {sample_s * 1e9:.1f} ns is under {ticks} ticks "
        f"of the {clock.name} clock ({clock.tick_s * 1e9:.1f} ns each)"
    )
