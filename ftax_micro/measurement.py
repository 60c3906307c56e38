"""The measuring core: calibrate, warm up, sample until the criterion says stop.

Three shapes of probe cover everything that is measured here:

* a **looped** probe, ``probe(loops) -> elapsed seconds``: the operation repeats between two reads;
* a **shot** probe, ``probe(count) -> values``: every value is its own pair of stamps, in seconds;
* a **burst** probe, ``probe(count) -> elapsed seconds`` of one burst of `count` operations, whose
  slope over the counts is the cost of one operation, free of entry, timer and synchronisation cost.

Each returns `Data`: all raw values, warm-up apart, with the reason why sampling ended.
`Interrupted` (Ctrl-C, SIGTERM) ends sampling early: what was taken is returned with that reason,
and only where nothing was taken yet does it propagate. Whoever measures row after row asks for its
flag in between. With a `glance` the speed of the cores is kept beside the samples (`glances`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle

import numpy as np

from ftax_micro import stats
from ftax_micro.errors import FtaxError, Interrupted
from ftax_micro.glances import Glance, Glances
from ftax_micro.records import ClockFacts, Data, Estimate, Level, Plan, StopReason
from ftax_micro.stopping import StoppingCriterion

LoopProbe = Callable[[int], float]
ShotProbe = Callable[[int], Sequence[float]]
BurstProbe = Callable[[int], float]
LevelProbe = Callable[[int], Sequence[float]]

# One draw yields further values of one series.
_Draw = Callable[[], Sequence[float]]
_Series = list[list[float]]

# A looped sample shorter than this many clock ticks is mostly quantisation, a single shot shorter
# than ten of them is; such values are refused rather than reported.
MIN_LOOPED_TICKS = 100
MIN_SHOT_TICKS = 10
# Looped samples aim at this length: thousands fit into the default time, and one clock read (20-30
# ns) is far below a tenth of a percent of it.
_TARGET_SAMPLE_S = 100e-6
_MOST_LOOPS = 1 << 40
_SHOTS_PER_DRAW = 32
# Part of what an operation of nanoseconds takes is settled as its process is loaded, by where code
# and memory come to lie: a few percent of a call. No number of samples in that process shows it,
# nor where a hypervisor puts two cores in the next second: a tenth of a hand-over. On one machine
# ten medians of a call over three processes spread by a percent and ten single ones by 3 to 6; on
# another, where a call keeps one of several speeds for a second, over three by 4 to 10, over five
# by 4 to 6. More processes would be too long for a quick run.
SHORT_ROW_PROCESSES = 5
# Resamples while deciding whether to go on; the reported interval uses more.
_LOOK_RESAMPLES = 200


class ResolutionError(FtaxError):
    """A value too short for the clock that would have measured it."""


def calibrate(probe: LoopProbe, clock: ClockFacts, target_s: float = _TARGET_SAMPLE_S) -> int:
    """Loops that make one sample last about `target_s` and at least 100 clock ticks and reads.

    Grows from one loop upwards, at most tenfold a step, so that an unexpectedly slow operation
    costs two samples, not thousands. Errors: `ResolutionError` where no number of loops becomes
    measurable.
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


def measure(
    probe: LoopProbe,
    plan: Plan,
    clock: ClockFacts,
    loops: int | None = None,
    glance: Glance | None = None,
) -> Data:
    """Samples of a looped probe, in seconds per operation.

    `loops` fixes the operations inside one sample; by default they are calibrated. Errors:
    `ResolutionError` when samples come out shorter than 100 clock ticks (10 for one operation a
    sample); `Interrupted` before the first sample; what the probe raises.
    """
    count = loops or calibrate(probe, clock)
    draws = [lambda: [probe(count) / count]]
    sampling = _Sampling(draws, plan, _median_half_width(plan), glance)
    sampling.run()
    return _median_data(sampling, count, MIN_LOOPED_TICKS if count > 1 else MIN_SHOT_TICKS, clock)


def measure_shots(
    probe: ShotProbe,
    plan: Plan,
    clock: ClockFacts,
    per_draw: int | None = None,
    glance: Glance | None = None,
) -> Data:
    """Single-shot samples, each in seconds, `per_draw` at a time.

    A shot may be censored (its value could not be observed): the probe returns NaN for it, and it
    is counted, not stored. Errors: `ResolutionError` when the median is under 10 clock ticks, or
    when nothing but censored shots came back; `Interrupted` before the first sample.
    """
    number = per_draw or min(_SHOTS_PER_DRAW, plan.min_samples)
    sampling = _Sampling([lambda: probe(number)], plan, _median_half_width(plan), glance)
    sampling.run()
    return _median_data(sampling, 1, MIN_SHOT_TICKS, clock)


def measure_counts(probe: Callable[[], int | None], repeats: int, plan: Plan) -> Data:
    """A plain count found `repeats` times (a queue's depth), stored with unit ``"count"``.

    A probe that could not observe its count returns None: it is counted as censored, not stored.
    Errors: `ResolutionError` where none could be observed; `Interrupted` before the first count.
    """
    begin_s = time.perf_counter()
    elapsed_s = 0.0
    samples: list[float] = []
    censored = 0
    reason: StopReason = "fixed_count"
    try:
        for _ in range(repeats):
            count = probe()
            if count is None:
                censored += 1
            else:
                samples.append(float(count))
            elapsed_s = time.perf_counter() - begin_s
            if elapsed_s >= plan.timeout_s and len(samples) + censored < repeats:
                reason = "timeout"
                break
    except Interrupted:
        if not samples:
            raise
        reason = "interrupted"
    if not samples:
        raise ResolutionError(f"none of {censored} counts could be observed")
    return Data(
        estimate="median",
        unit="count",
        stop_reason=reason,
        samples=samples,
        censored=censored,
        elapsed_s=elapsed_s,
    )


def measure_slope(
    probe: BurstProbe,
    counts: Sequence[int],
    plan: Plan,
    clock: ClockFacts,
    estimate: Estimate = "slope",
    glance: Glance | None = None,
) -> Data:
    """Bursts of every count, interleaved, until the slope (or intercept) is known well enough.

    Levels alternate up and down from round to round, so that drift falls on all of them alike.
    Samples are seconds per whole burst; warm-up bursts are stored level by level. Errors:
    `ResolutionError` where the longest burst is under 100 ticks; `ValueError` for fewer than two
    distinct counts; `Interrupted` before every count has a burst.
    """
    return measure_levels(lambda count: [probe(count)], counts, plan, clock, estimate, glance)


def measure_levels(
    probe: LevelProbe,
    counts: Sequence[int],
    plan: Plan,
    clock: ClockFacts,
    estimate: Estimate = "slope",
    glance: Glance | None = None,
) -> Data:
    """As `measure_slope`, for a probe that yields several bursts of one count at a time, as many of
    each count.

    For operations whose size is expensive to change, such as a graph of `count` nodes.
    """
    if len(set(counts)) < 2:
        raise ValueError("a slope needs two distinct counts")

    def half_width(series: _Series) -> float | None:
        line = stats.slope_interval(counts, series, plan.confidence, resamples=_LOOK_RESAMPLES)
        return (line.intercept if estimate == "intercept" else line.slope).half_width

    sampling = _Sampling([partial(probe, count) for count in counts], plan, half_width, glance)
    sampling.run()
    longest_s = max(float(np.median(samples)) for samples in sampling.series)
    _refuse_short(longest_s, MIN_LOOPED_TICKS, clock)
    pairs = zip(counts, sampling.series, strict=True)
    return Data(
        estimate=estimate,
        stop_reason=sampling.reason,
        levels=[Level(count=count, samples_s=samples) for count, samples in pairs],
        warmup=sampling.warmup,
        elapsed_s=sampling.elapsed_s,
        core_speeds=sampling.glances.speeds(),
    )


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
    """The one sampling loop: warm-up, then round after round until the criterion ends it.

    Each of `draws` yields further values of one series: looped and shot probes have one series, a
    slope one for each burst size. A round draws once from every series. NaN is a censored value.
    `half_width` is that of the present interval over all series, None where undefined.
    """

    def __init__(
        self,
        draws: Sequence[_Draw],
        plan: Plan,
        half_width: Callable[[_Series], float | None],
        glance: Glance | None,
    ) -> None:
        self._draws, self._plan, self._half_width = draws, plan, half_width
        self.glances = Glances(glance)
        self.series: _Series = [[] for _ in draws]
        self.warmup: list[float] = []
        self.censored = 0
        self.reason: StopReason = "interrupted"
        self.elapsed_s = 0.0

    def run(self) -> None:
        """Fill `series`. Errors: `Interrupted` where it comes before every series has a value."""
        self._warm_up()
        begin_s = time.perf_counter()
        criterion = StoppingCriterion(self._plan, lambda: self._half_width(self.series))
        try:
            self.glances.take(0)
            for order in self._orders():
                taken = self._round(order, self.series)
                self.glances.take_if_due(len(self.series[0]))
                self._pace(begin_s)
                self.elapsed_s = time.perf_counter() - begin_s
                criterion.add(taken, self.elapsed_s)
                if criterion.is_finished():
                    break
            self.reason = criterion.reason or "interrupted"
            self.glances.take(len(self.series[0]))
        except Interrupted:
            if not all(self.series):
                raise

    def _pace(self, begin_s: float) -> None:
        """Spread fast samples, so that the most there may be span the minimum time.

        Otherwise a row of 0.3 µs shots would be a snapshot of a few milliseconds. Waits by
        spinning: a core that sleeps between two draws would be found cold by the next.
        """
        plan = self._plan
        share = min(1.0, sum(map(len, self.series)) / max(plan.max_samples, plan.min_samples))
        due_s = begin_s + plan.min_time_s * share
        while time.perf_counter() < due_s:
            pass

    def _warm_up(self) -> None:
        end_s = time.perf_counter() + self._plan.warmup_time_s
        series: _Series = [[] for _ in self._draws]
        for order in self._orders():
            self._round(order, series)
            if time.perf_counter() >= end_s:
                break
        self.warmup = [value for values in series for value in values]
        self.censored = 0

    def _orders(self) -> Iterator[Sequence[int]]:
        upwards = range(len(self._draws))
        return cycle((upwards, upwards[::-1]))

    def _round(self, order: Sequence[int], series: _Series) -> int:
        """One draw from every series into `series`; how many values could be observed."""
        taken = 0
        for index in order:
            values = self._draws[index]()
            observed = [float(value) for value in values if not math.isnan(value)]
            series[index].extend(observed)
            taken += len(observed)
            self.censored += len(values) - len(observed)
        return taken


def _median_half_width(plan: Plan) -> Callable[[_Series], float | None]:
    def half_width(series: _Series) -> float | None:
        if not series[0]:
            return None
        return stats.median_interval(series[0], plan.confidence).half_width

    return half_width


def _median_data(sampling: _Sampling, loops: int, ticks: int, clock: ClockFacts) -> Data:
    samples = sampling.series[0]
    if not samples:
        raise ResolutionError("every shot was censored: over before it could be observed")
    _refuse_short(abs(float(np.median(samples))) * loops, ticks, clock)
    return Data(
        estimate="median",
        stop_reason=sampling.reason,
        loops=loops,
        samples=samples,
        warmup=sampling.warmup,
        censored=sampling.censored,
        elapsed_s=sampling.elapsed_s,
        core_speeds=sampling.glances.speeds(),
    )


def _refuse_short(sample_s: float, ticks: int, clock: ClockFacts) -> None:
    if sample_s < ticks * clock.tick_s:
        raise ResolutionError(
            f"a sample of {sample_s * 1e9:.1f} ns is under {ticks} ticks "
            f"of the {clock.name} clock ({clock.tick_s * 1e9:.1f} ns each)"
        )
