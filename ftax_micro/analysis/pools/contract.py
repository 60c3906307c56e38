"""What is known of many results: groups of machines, and each row's numbers in each of them."""

from __future__ import annotations

from dataclasses import dataclass

from ftax_micro.analysis.comparing.matching import row_title
from ftax_micro.analysis.comparing.ratios import RatioVerdict
from ftax_micro.analysis.pools.collecting import GroupKey
from ftax_micro.analysis.pools.values import RowName
from ftax_micro.stats import Estimate


@dataclass(frozen=True)
class Group:
    """Machines that agree in the keys; `values` None: a file does not tell."""

    values: GroupKey
    machines: int
    files: int

    @property
    def label(self) -> str:
        """The values on one line."""
        return ", ".join("not known" if value is None else value for value in self.values)


@dataclass(frozen=True)
class Outlier:
    """A machine that is off the others of its group on a row: `value` is its own, `times` its ratio
    to the group's median (None where that is 0), `score` how many standard deviations that is
    (`spread.scores`). `file` is the one that is furthest off, of `files`.
    """

    host: str
    file: str
    files: int
    value: float
    times: float | None
    score: float


@dataclass(frozen=True)
class Cell:
    """One row in one group. All numbers in the row's unit, spreads as a share of the median.

    `median` is that of the machines' medians, with an interval at the pool's confidence; `between`
    is the standard deviation from machine to machine, `within` that of one machine's repeats, both
    robust and None where there is one of a kind. `ratio` is to the baseline's group.
    """

    machines: int
    files: int
    median: Estimate
    least: float
    most: float
    between: float | None
    within: float | None
    outliers: tuple[Outlier, ...]
    ratio: Estimate | None = None
    verdict: RatioVerdict | None = None


@dataclass(frozen=True)
class PooledRow:
    """A row in all groups, None where no file of a group has it. `told` are the aspects in which it
    was measured another way than a row of the same name.
    """

    row: RowName
    unit: str
    told: str
    cells: tuple[Cell | None, ...]

    @property
    def title(self) -> str:
        """What it is about, on one line."""
        row = self.row
        text = row_title(row.device, row.name, dict(row.shown), row.quantity)
        return f"{text} ({self.told})" if self.told else text


@dataclass(frozen=True)
class Pool:
    """Results of many machines, by group; `unread` are files with the reason why they are not in
    it. `margin` is the relative difference that counts as none.
    """

    keys: tuple[str, ...]
    groups: tuple[Group, ...]
    baseline: int
    confidence: float
    margin: float
    comparisons: int
    rows: tuple[PooledRow, ...]
    unread: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
