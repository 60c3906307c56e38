"""What recorded results can say about a finding of the paper: cases looked up, claims judged.

A finding is a claim about all its instances (every model, batch, dtype that was measured), so one
instance that contradicts it contradicts it, and it is confirmed only where all confirm it. An
instance is decided only where its whole interval lies on one side of the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ftax_micro import stats
from ftax_micro.analysis.crossover.hinge import SweepCrossover, crossovers
from ftax_micro.records import Case
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

Verdict = Literal["confirmed", "contradicted", "ambiguous", "not_measured"]
Unit = Literal["ratio", "share", "s", "size", "correlation"]

# The inputs of the paper's protocol.
_SIZES = {"sequence": 128, "image": 224, "audio": 32_000}


@dataclass(frozen=True)
class Statement:
    """One instance of a finding: what was found, beside the paper's figure where it gives one.

    `shown_only` instances do not bear on the finding's verdict as long as there are others: what
    they would show lies outside of what was measured.
    """

    text: str
    verdict: Verdict
    measured: Estimate | None = None
    paper: float | None = None
    unit: Unit = "ratio"
    shown_only: bool = False


@dataclass(frozen=True)
class Machine:
    """A GPU by its model, and all cases measured on such a one; twins apart. `known`: crossovers
    of any sweeps at this confidence, which need not be computed again.
    """

    gpu: str
    cases: tuple[Case, ...]
    confidence: float = 0.95
    known: Sequence[SweepCrossover] = ()

    def find(self, mode: str, dtype: str, batch: int, model: str, **other: object) -> Case | None:
        """The last timed case of that kind at the paper's input sizes, but for `other` fields."""
        wanted = {"lengths": None, **other}
        for case in reversed(self._kinds.get((mode, dtype, batch, model), [])):
            if all(getattr(case, key) == value for key, value in wanted.items()) and all(
                key in other or getattr(case, key) in (None, size) for key, size in _SIZES.items()
            ):
                return case
        return None

    @cached_property
    def _kinds(self) -> dict[tuple[str, str, int, str], list[Case]]:
        found: dict[tuple[str, str, int, str], list[Case]] = {}
        for case in self.cases:
            found.setdefault((case.mode, case.dtype, case.batch, case.model), []).append(case)
        return found

    @cached_property
    def dtypes(self) -> list[str]:
        """Those measured, in order."""
        return list(dict.fromkeys(case.dtype for case in self.cases))

    @cached_property
    def names(self) -> list[str]:
        """The models measured, in order."""
        return list(dict.fromkeys(case.model for case in self.cases))

    def models(self, mode: str, dtype: str, batch: int) -> list[str]:
        """Those measured so, in order."""
        return [name for name in self.names if self.find(mode, dtype, batch, name)]

    def batches(self, mode: str, dtype: str, model: str) -> list[int]:
        """Those measured so, ascending."""
        sizes = sorted(self._sizes.get((mode, dtype, model), ()))
        return [size for size in sizes if self.find(mode, dtype, size, model)]

    @cached_property
    def _sizes(self) -> dict[tuple[str, str, str], set[int]]:
        """Batches by what else was asked for: of thousands of cases, few are of one kind."""
        found: dict[tuple[str, str, str], set[int]] = {}
        for case in self.cases:
            found.setdefault((case.mode, case.dtype, case.model), set()).add(case.batch)
        return found

    @cached_property
    def eager_sweeps(self) -> dict[tuple[str, str], SweepCrossover]:
        """The batch sweep in eager of each model and dtype, at the paper's input sizes."""
        own = [
            found
            for model in self.names
            for dtype in self.dtypes
            for batch in self.batches("eager", dtype, model)
            if (found := self.find("eager", dtype, batch, model)) is not None
        ]
        return {
            (each.sweep.cases[0].model, each.sweep.dtype): each
            for each in crossovers(own, self.confidence, self.known)
            if each.sweep.axis == "batch"
        }

    def framework_bound_to(self, model: str, dtype: str) -> float | None:
        """The batch up to which eager is surely flat; None where its sweep does not say."""
        swept = self.eager_sweeps.get((model, dtype))
        if swept is None:
            return None
        crossover = swept.crossover
        if crossover.x is not None:
            return crossover.x.low
        return swept.sweep.values[-1] if crossover.plateau is not None else None

    def ratio(self, case: Case, other: Case) -> Estimate:
        """Time of `case` over that of `other`: the paper's pipelined interval where both have it,
        else their latency.
        """
        pair = [(each.pipelined, each.latency) for each in (case, other)]
        both = all(pipelined is not None for pipelined, _ in pair)
        data = [pipelined if both else latency for pipelined, latency in pair]
        times = [stats.median_interval(d.samples, self.confidence) for d in data if d is not None]
        return stats.ratio_interval(*times)

    def saved(self, case: Case, other: Case) -> Estimate:
        """The share of the time of `other` that `case` does without."""
        return less_than_one(self.ratio(case, other))


def machines(
    results: Iterable[Result], confidence: float = 0.95, known: Sequence[SweepCrossover] = ()
) -> list[Machine]:
    """One for every model of GPU in `results`, with the timed cases of all of them; times that are
    not positive are no evidence. `known`: as `Machine.known`.
    """
    found: dict[str, list[Case]] = {}
    for result in results:
        gpus = {each.name: each.model for each in result.devices if each.kind == "cuda"}
        for case in result.cases:
            if case.device in gpus and _timed(case) and not case.twin:
                found.setdefault(gpus[case.device] or "unknown GPU", []).append(case)
    return [Machine(gpu, tuple(cases), confidence, known) for gpu, cases in found.items()]


def _timed(case: Case) -> bool:
    data = [each for each in (case.latency, case.pipelined) if each is not None]
    return (
        case.status == "ok"
        and case.latency is not None
        and all(min(each.samples) > 0 for each in data)
    )


def above(text: str, measured: Estimate, line: float, *, paper: float | None = None) -> Statement:
    """A ratio or share that is claimed to be above `line`."""
    return Statement(text, _side(measured, line), measured, paper)


def below(text: str, measured: Estimate, line: float, *, paper: float | None = None) -> Statement:
    """A ratio that is claimed to be below `line`."""
    return Statement(text, _side(_negative(measured), -line), measured, paper)


def within(
    text: str, measured: Estimate, margin: float, *, paper: float | None = None
) -> Statement:
    """A ratio that is claimed to be 1, give or take a `margin` of either."""
    return Statement(text, _within(measured, margin), measured, paper)


def missing(text: str) -> Statement:
    """An instance without which the finding cannot be confirmed, and which was not measured."""
    return Statement(text, "not_measured")


def overall(statements: Sequence[Statement]) -> Verdict:
    """That of a claim about all of them."""
    bearing = [each for each in statements if not each.shown_only] or statements
    verdicts = {each.verdict for each in bearing}
    if "contradicted" in verdicts:
        return "contradicted"
    if verdicts == {"confirmed"}:
        return "confirmed"
    return "ambiguous" if verdicts - {"not_measured"} else "not_measured"


def mean(estimates: Sequence[Estimate]) -> Estimate:
    """Their mean, with the ends' distances joined in quadrature. Errors: `ValueError` for none."""
    if not estimates:
        raise ValueError("no estimates")
    n = len(estimates)
    value = sum(each.value for each in estimates) / n
    if any(each.low is None or each.high is None for each in estimates):
        return Estimate(value, None, None)
    down = math.hypot(*(each.value - (each.low or 0.0) for each in estimates)) / n
    up = math.hypot(*((each.high or 0.0) - each.value for each in estimates)) / n
    return Estimate(value, value - down, value + up)


def less_than_one(ratio: Estimate) -> Estimate:
    """1 − ratio."""
    low = None if ratio.high is None else 1 - ratio.high
    high = None if ratio.low is None else 1 - ratio.low
    return Estimate(1 - ratio.value, low, high)


def _side(measured: Estimate, line: float) -> Verdict:
    if measured.low is not None and measured.low >= line:
        return "confirmed"
    if measured.high is not None and measured.high < line:
        return "contradicted"
    return "ambiguous"


def _within(measured: Estimate, margin: float) -> Verdict:
    if measured.low is None or measured.high is None:
        return "ambiguous"
    if 1 / (1 + margin) <= measured.low and measured.high <= 1 + margin:
        return "confirmed"
    if measured.high < 1 / (1 + margin) or measured.low > 1 + margin:
        return "contradicted"
    return "ambiguous"


def _negative(measured: Estimate) -> Estimate:
    low = None if measured.high is None else -measured.high
    high = None if measured.low is None else -measured.low
    return Estimate(-measured.value, low, high)
