"""One row in one group: its machines, their middle and spread, who is off, and the ratio."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ftax_micro import stats
from ftax_micro.analysis.comparing.ratios import RatioVerdict, verdict_of
from ftax_micro.analysis.pools.collecting import Collector, Series
from ftax_micro.analysis.pools.contract import Cell, Outlier
from ftax_micro.analysis.pools.spread import (
    OUTLIER_SCORE,
    median_estimate,
    middle,
    repeat_spread,
    scores,
    spread,
)
from ftax_micro.stats import Estimate

# By machine, each of its values with its file.
Members = dict[int, list[tuple[int, float]]]


def members_of(found: Collector, series: Series) -> dict[int, Members]:
    """By group, the values of each machine in the order they were read."""
    groups: dict[int, Members] = {}
    machine = found.machines.machine
    for file, group, value in zip(series.files, series.groups, series.values, strict=True):
        groups.setdefault(group, {}).setdefault(machine(file), []).append((file, value))
    return groups


def cell_of(found: Collector, members: Members, confidence: float, margin: float) -> Cell:
    """The numbers of a row in a group of these machines, at least one."""
    medians = machine_medians(members)
    return Cell(
        machines=len(members),
        files=len({file for values in members.values() for file, _ in values}),
        median=median_estimate(medians, confidence),
        least=min(medians),
        most=max(medians),
        between=spread(medians),
        within=repeat_spread(
            [[value for _, value in each] for each in members.values() if len(each) > 1]
        ),
        outliers=tuple(_outliers(found, members, medians, margin)),
    )


def machine_medians(members: Members) -> list[float]:
    """One value for each machine, however often it was measured."""
    return [
        values[0][1] if len(values) == 1 else middle([value for _, value in values])
        for values in members.values()
    ]


def _outliers(
    found: Collector, members: Members, medians: Sequence[float], margin: float
) -> Iterator[Outlier]:
    """Machines beyond `OUTLIER_SCORE`, and further from the median than what counts as none: of
    machines that agree to a clock's tick, one that is two ticks off has a great score.
    """
    centre = middle(medians)
    for values, median, score in zip(members.values(), medians, scores(medians), strict=True):
        if abs(score) <= OUTLIER_SCORE or abs(median - centre) <= margin * abs(centre):
            continue
        file, _ = max(values, key=lambda each: abs(each[1] - centre))
        yield Outlier(
            host=found.hosts[file],
            file=found.names[file],
            files=len({file for file, _ in values}),
            value=median,
            times=median / centre if centre else None,
            score=score,
        )


def ratio_of(
    members: Members, base: Members, level: float, margin: float, unit: str
) -> tuple[Estimate | None, RatioVerdict | None]:
    """The ratio of two groups' medians over machines, with an interval at `level`; None where one
    of them is not positive.
    """
    own = median_estimate(machine_medians(members), level)
    other = median_estimate(machine_medians(base), level)
    if own.value <= 0 or other.value <= 0:
        return None, None
    ratio = stats.ratio_interval(own, other)
    return ratio, verdict_of(ratio.low, ratio.high, margin, unit)
