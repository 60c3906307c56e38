"""From raw samples to a row of numbers: the headline, its interval, its spread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median_high
from typing import NamedTuple

from ftax_micro import stats
from ftax_micro.analysis.core_distance import Distance, apart_verdict, distances, is_far
from ftax_micro.analysis.core_speed import is_slowed, slowdowns, slowed_verdict
from ftax_micro.analysis.undisturbed import undisturbed
from ftax_micro.records import Data, Measurement, Plan, Setting, Status, Verdict
from ftax_micro.stats import Estimate

# All our clocks count whole nanoseconds; some tick more coarsely.
_FINEST_TICK_S = 1e-9


@dataclass(frozen=True)
class Summary:
    """One row: all times seconds per operation, None where undefined or not measured.

    `value` is the headline less the corrections; `low`/`high` its statistical interval;
    `systematic_low`/`systematic_high` where the value could lie for any truth of the corrections.
    `p5` … `minimum` describe single samples (None for slopes). `step` is what the clock's tick
    leaves of the value, 0 without one: no digit below it was measured. `count` is the number of
    samples or bursts, over `processes` processes. For ``unit == "count"`` the numbers are plain
    counts. `slowdown` is how many times slower than at its fastest in the run a core was beside
    the row, `distance` how far apart its two cores were (`core_distance`), both in the median over
    processes, as the value is; in `disturbed_processes` of them either was too much. `undisturbed`
    is what the row is without the samples beside which a core was slowed or both were far apart,
    where there were such and enough are left (`undisturbed`); the view of a result fills it in.
    """

    device: str
    name: str
    setting: Setting
    status: Status
    reason: str | None
    unit: str = "s"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    systematic_low: float | None = None
    systematic_high: float | None = None
    p5: float | None = None
    p95: float | None = None
    p99: float | None = None
    minimum: float | None = None
    step: float = 0.0
    noise: float | None = None
    outliers: int | None = None
    count: int = 0
    censored: int = 0
    processes: int = 1
    stop_reason: str | None = None
    is_slope: bool = False
    worst_residual: float | None = None
    verdicts: tuple[Verdict, ...] = ()
    slowdown: float | None = None
    distance: Distance | None = None
    disturbed_processes: int = 0
    undisturbed: Estimate | None = None

    @property
    def half_width(self) -> float | None:
        """Half the statistical interval, in the unit of `value`."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def setting_text(self) -> str:
        """``key=value`` pairs, as shown in tables and used to match rows of different files."""
        return setting_text(self.setting)


class RowCounts(NamedTuple):
    """How many rows there are, have a value from some process, and failed in some."""

    every: int
    measured: int
    failed: int


def setting_text(setting: Setting) -> str:
    """A setting as one line of text: ``wait=spin idle_ns=0``."""
    return " ".join(f"{key}={value}" for key, value in setting.items())


def row_key(measurement: Measurement) -> tuple[str, str, str]:
    """Device, name and setting: what measurements of one row by several processes share."""
    return measurement.device, measurement.name, setting_text(measurement.setting)


def count_rows(measurements: Iterable[Measurement]) -> RowCounts:
    """The rows of `measurements`, each counted once however many processes measured it."""
    every = list(measurements)
    return RowCounts(
        every=len({row_key(each) for each in every}),
        measured=len({row_key(each) for each in every if each.data is not None}),
        failed=len({row_key(each) for each in every if each.status == "failed"}),
    )


def summarise(
    measurements: Iterable[Measurement],
    plan: Plan | None = None,
    *,
    confidence: float | None = None,
) -> list[Summary]:
    """One summary per (device, row, setting), in order of first appearance.

    Measurements of several processes are joined: the value is the median over processes, the
    interval spans the processes' own intervals between order statistics (their envelope below six
    processes), because differences between processes are not reduced by more samples in one of
    them.
    """
    level = confidence or (plan.confidence if plan else 0.95)
    every = list(measurements)
    groups: dict[tuple[str, str, str], list[Measurement]] = {}
    slowed: dict[tuple[str, str, str], list[float | None]] = {}
    apart: dict[tuple[str, str, str], list[Distance | None]] = {}
    for each, slowdown, distance in zip(every, slowdowns(every), distances(every), strict=True):
        key = row_key(each)
        groups.setdefault(key, []).append(each)
        slowed.setdefault(key, []).append(slowdown)
        apart.setdefault(key, []).append(distance)
    return [
        _disturbed(_summary(group, level), slowed[key], apart[key]) for key, group in groups.items()
    ]


def with_undisturbed(
    rows: Sequence[Summary], measurements: Sequence[Measurement], confidence: float
) -> list[Summary]:
    """`rows` of `measurements`, each with what it is of its undisturbed samples alone."""
    found: dict[tuple[str, str, str], list[Estimate]] = {}
    disturbed = set()
    for each, quiet in zip(measurements, undisturbed(measurements), strict=True):
        if each.data is None or each.data.unit != "s":
            continue
        key = row_key(each)
        if quiet is not each.data:
            disturbed.add(key)
        if quiet is not None:
            shift = sum(correction.value_s for correction in each.corrections)
            found.setdefault(key, []).append(_shifted(estimate_of(quiet, confidence), shift))
    return [
        replace(row, undisturbed=_joined(found[key], confidence))
        if row.status == "ok"
        and (key := (row.device, row.name, row.setting_text)) in disturbed & found.keys()
        else row
        for row in rows
    ]


def _disturbed(
    row: Summary, slowed: Sequence[float | None], apart: Sequence[Distance | None]
) -> Summary:
    """`row`, a median over processes, with what was beside the median one of them, and beside how
    many there was too much.
    """
    if row.status != "ok":
        return row
    slowdown = median_high(known) if (known := [each for each in slowed if each]) else None
    distance = median_high(ways) if (ways := [each for each in apart if each]) else None
    return replace(
        row,
        slowdown=slowdown,
        distance=distance,
        disturbed_processes=sum(
            is_slowed(factor) or (way is not None and is_far(way.times))
            for factor, way in zip(slowed, apart, strict=True)
        ),
        verdicts=(*row.verdicts, *slowed_verdict(slowdown), *apart_verdict(distance)),
    )


def estimate_of(data: Data, confidence: float) -> Estimate:
    """The headline of `data` with its interval, corrections not yet applied."""
    if data.estimate == "median":
        return stats.median_interval(data.samples, confidence)
    counts = [level.count for level in data.levels]
    levels = [level.samples_s for level in data.levels]
    resamples = stats.resamples_for(confidence)
    line = stats.slope_interval(counts, levels, confidence, resamples=resamples)
    return line.slope if data.estimate == "slope" else line.intercept


def step_of(data: Data) -> float:
    """The step that the clock's tick leaves in the headline of `data`, in its unit.

    Samples are seconds per operation, so a tick seen in them is divided by the loops already. That
    of bursts is not: their slope spreads it over the range of the counts. A count has a step of 1.
    """
    if data.unit == "count":
        return 1.0
    if data.estimate == "median":
        return max(stats.resolution(data.samples), _FINEST_TICK_S / data.loops)
    step_s = max(_FINEST_TICK_S, *(stats.resolution(level.samples_s) for level in data.levels))
    if data.estimate == "intercept":
        return step_s
    counts = [level.count for level in data.levels]
    return step_s / (max(counts) - min(counts))


def _summary(group: Sequence[Measurement], confidence: float) -> Summary:
    first = group[0]
    measured = [m for m in group if m.status == "ok" and m.data is not None]
    if len(measured) < len(group):  # one process that failed fails the row: it must not go unseen
        worst = next(m for m in group if m not in measured)
        return Summary(
            first.device,
            first.name,
            first.setting,
            worst.status,
            worst.reason,
            processes=len(group),
        )
    data = [m.data for m in measured if m.data is not None]
    shifts = [sum(c.value_s for c in m.corrections) for m in measured]
    estimates = [estimate_of(d, confidence) for d in data]
    joined = _joined([_shifted(e, s) for e, s in zip(estimates, shifts, strict=True)], confidence)
    value = joined.value
    below, above = _systematic(measured)
    values = [x - s for d, s in zip(data, shifts, strict=True) for x in d.samples]
    return Summary(
        device=first.device,
        name=first.name,
        setting=first.setting,
        status="ok",
        reason=None,
        unit=data[0].unit,
        value=value,
        low=joined.low,
        high=joined.high,
        systematic_low=value - below,
        systematic_high=value + above,
        count=sum(len(d.samples) + sum(len(x.samples_s) for x in d.levels) for d in data),
        censored=sum(d.censored for d in data),
        processes=len(group),
        stop_reason=_common([d.stop_reason for d in data]),
        is_slope=data[0].estimate != "median",
        worst_residual=_worst_residual(data[0]),
        verdicts=tuple(v for m in measured for v in m.verdicts),
        p5=stats.percentile(values, 5),
        p95=stats.percentile(values, 95),
        p99=stats.percentile(values, 99),
        minimum=min(values, default=None),
        step=max(step_of(d) for d in data),
        noise=stats.noise(values) if values else None,
        outliers=stats.outliers(values) if values else None,
    )


def _worst_residual(data: Data) -> float | None:
    if data.estimate == "median":
        return None
    counts = [level.count for level in data.levels]
    samples = [level.samples_s for level in data.levels]
    return stats.slope_interval(counts, samples, resamples=1).worst_residual


def _systematic(measured: Sequence[Measurement]) -> tuple[float, float]:
    """How far below and above the truth could lie, whichever process' corrections are wrong."""
    below = max(sum(c.high_s - c.value_s for c in m.corrections) for m in measured)
    above = max(sum(c.value_s - c.low_s for c in m.corrections) for m in measured)
    return below, above


def _shifted(estimate: Estimate, shift: float) -> Estimate:
    return Estimate(*(None if v is None else v - shift for v in estimate))  # type: ignore[arg-type]


def _joined(estimates: Sequence[Estimate], confidence: float) -> Estimate:
    if len(estimates) == 1:
        return estimates[0]
    values = sorted(e.value for e in estimates)
    lows = sorted(e.value if e.low is None else e.low for e in estimates)
    highs = sorted(e.value if e.high is None else e.high for e in estimates)
    ranks = stats.median_ranks(len(values), confidence) or (0, len(values) - 1)
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    return Estimate(middle, lows[ranks[0]], highs[ranks[1]])


def _common(reasons: Sequence[str]) -> str:
    return " ".join(sorted(set(reasons)))
