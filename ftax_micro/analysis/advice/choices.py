"""Advice from comparisons: the mode that saves most, and the sizes that cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ftax_micro import stats
from ftax_micro.analysis.advice.contract import Advice, BestMode, FreeSize, NoAdvice, Size
from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.crossover.hinge import SweepCrossover
from ftax_micro.analysis.crossover.sweeps import Sweep
from ftax_micro.analysis.latency_view import CaseSummary
from ftax_micro.records import Case
from ftax_micro.stats import Estimate

REFERENCE = "eager"
# Of the smallest size's latency: a size that takes no more beyond it costs nothing.
FREE = 0.05
# In the names of settings that make a model wider, in all libraries.
_WIDER = ("hidden_size", "hidden_dim", "dim", "width", "channels", "embd", "d_model")
_DEEPER = ("layers", "depth", "n_layer")

Naming = Callable[[Case], str]


def best_modes(
    source: str, rows: Iterable[CaseSummary], name: Naming, told: Callable[[Case], bool]
) -> Iterator[Advice]:
    """For every workload of some cases, without twins: the mode that saves most over eager."""
    groups: dict[str, list[CaseSummary]] = {}
    for row in rows:
        groups.setdefault(case_label(row.case), []).append(row)
    for label, asked in groups.items():
        timed = [row for row in asked if row.case.status == "ok" and row.latency is not None]
        if not timed:
            continue
        first = timed[0].case
        where = {"source": source, "case": label, "name": name(first), "told": told(first)}
        yield _best_mode(timed, len(asked), where)


def _best_mode(timed: Sequence[CaseSummary], asked: int, where: dict[str, Any]) -> Advice:
    reference = next((row for row in timed if row.case.mode == REFERENCE), None)
    if reference is None or reference.latency is None:
        reason = f"{REFERENCE} has no time to compare with"
        return NoAdvice(mode="", subject="the fastest mode", reason=reason, **where)
    latency = reference.latency
    others = [(row, row.speedup) for row in timed if row is not reference and row.speedup]
    if not others:
        if asked == 1:
            reason = f"no mode but {REFERENCE} was asked for"
            return NoAdvice(mode=REFERENCE, subject="the fastest mode", reason=reason, **where)
        return BestMode(mode=REFERENCE, reference=REFERENCE, latency=latency, **where)
    sure = [each for each in others if each[1].low is not None and each[1].low > 1]
    best, ratio = max(sure or others, key=lambda each: each[1].value)
    rivals = [row.case.mode for row, one in others if row is not best and _may_reach(one, ratio)]
    share = _saved_share(ratio)
    return BestMode(
        mode=best.case.mode,
        reference=REFERENCE,
        latency=latency,
        best=best.latency,
        ratio=ratio,
        rivals=tuple(rivals),
        saving=Estimate(*(None if each is None else each * latency.value for each in share)),  # type: ignore[arg-type]
        share=share,
        **where,
    )


def _may_reach(one: Estimate, ratio: Estimate) -> bool:
    """Whether the interval of a ratio reaches into that of the largest one."""
    most = one.value if one.high is None else one.high
    least = ratio.value if ratio.low is None else ratio.low
    return most >= least


def _saved_share(ratio: Estimate) -> Estimate:
    """Of the reference's latency, which is `ratio` times the mode's."""
    low, high = ratio.low, ratio.high
    return Estimate(
        1 - 1 / ratio.value,
        None if low is None else 1 - 1 / low,
        None if high is None else 1 - 1 / high,
    )


def free_sizes(
    source: str,
    swept: Iterable[SweepCrossover],
    name: Callable[[Sweep], str],
    confidence: float = 0.95,
) -> Iterator[Advice]:
    """For every sweep over batch, sequence or width: how far it goes at no cost."""
    for found in swept:
        kind = _kind(found.sweep.axis)
        if kind is not None and found.sweep.plausible:
            yield _free_size(source, found, kind, name(found.sweep), confidence)


def _kind(axis: str) -> str | None:
    """What a sweep over `axis` tells, None for what is not asked: more layers are never free."""
    if axis in ("batch", "sequence"):
        return axis
    keys = axis.split("+")
    if any(word in key for key in keys for word in _DEEPER):
        return None
    return "width" if any(word in key for key in keys for word in _WIDER) else None


def _free_size(
    source: str, found: SweepCrossover, kind: str, name: str, confidence: float
) -> Advice:
    sweep, crossover = found.sweep, found.crossover
    (first, samples), *rest = sweep.points
    base = stats.median_interval(samples, confidence)
    sizes = [
        Size(x, stats.ratio_interval(stats.median_interval(each, confidence), base))
        for x, each in rest
    ]
    within = [each for each in sizes if each.ratio.high is not None and each.ratio.high <= 1 + FREE]
    free = within[-1] if within else None
    beyond = next((each for each in sizes if free is None or each.value > free.value), None)
    # Of a sum, work overtakes dispatch at the crossover: nothing is free below it.
    hinge = crossover.law == "max"
    return FreeSize(
        kind=kind,
        source=source,
        case=sweep_label(sweep),
        name=name,
        mode=sweep.mode,
        latency=base,
        axis=sweep.axis.partition("+")[0],
        first=first,
        free=free,
        beyond=beyond,
        crossover=crossover.x if hinge else None,
        why_no_crossover=crossover.reason if hinge else None,
    )


def sweep_label(sweep: Sweep) -> str:
    """A sweep in words, without its mode and axis: ``bert_base cuda:0 fp16 sequence 128``."""
    sizes = [f"{name} {size}" for name, size in sweep.sizes]
    more = [sweep.lengths] if sweep.lengths else []
    return " ".join([sweep.model, sweep.device, sweep.dtype, *sizes, *more])
