"""All advice on a result or a trace, in the order in which it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ftax_micro.analysis.advice.bounds import advise_case, advise_row
from ftax_micro.analysis.advice.choices import REFERENCE, best_modes, free_sizes, sweep_label
from ftax_micro.analysis.advice.contract import Advice, BestMode
from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.bounding.rows import BoundRow, case_label, rows_of_cases
from ftax_micro.analysis.crossover.hinge import SweepCrossover, crossovers
from ftax_micro.analysis.crossover.sweeps import sweeps
from ftax_micro.analysis.latency_view import CaseSummary, summarise_cases, workload_sizes
from ftax_micro.records import Case
from ftax_micro.results import Result

_ORDER = ("regime", "idle", "mode", "faster_device", "graph", "batch", "sequence", "width", "none")


def advise_result(
    source: str,
    result: Result,
    bounds: Sequence[CaseBounds],
    summaries: Sequence[CaseSummary] | None = None,
    swept: Sequence[SweepCrossover] | None = None,
) -> list[Advice]:
    """Advice on every case of `result` by its `bounds`: case by case, then on its sweeps, then on
    what there is none. `summaries` and `swept` are those of its cases (None: they are computed).
    """
    cases = [case for case in result.cases if not case.twin]
    confidence = result.plan.confidence
    rows = summarise_cases(cases, confidence) if summaries is None else summaries
    found_sweeps = crossovers(cases, confidence) if swept is None else swept
    name = _naming(cases)
    told = _ends(cases)
    found = list(best_modes(source, (each for each in rows if not each.case.twin), name, told))
    best = {each.case: each.mode for each in found if isinstance(each, BestMode)}
    for each, row in zip(bounds, rows_of_cases(source, bounds), strict=True):
        case = each.case
        if case.status != "ok":
            continue
        # Of the reference and of the fastest mode it is enough to know what would change.
        of_interest = case.mode in (REFERENCE, best.get(row.case, case.mode))
        changes = told(case) and of_interest
        found += advise_case(each, row, name(case), told=told(case), changes=changes)
    found += free_sizes(source, found_sweeps, sweep_label, confidence)
    return _in_order(found)


def advise_steps(rows: Sequence[BoundRow]) -> list[Advice]:
    """Advice on every row of traces; told is that on the medians over the steps of each trace and
    device, or on the step whose latency is the median one.
    """
    typical = _typical(rows)
    found: list[Advice] = []
    for row in rows:
        found += advise_row(row, row.case, "cuda", told=id(row) in typical)
    return _in_order(found)


def _in_order(found: Iterable[Advice]) -> list[Advice]:
    """By case, then by kind; what there is no advice on at the end."""
    every = list(found)
    place = {case: index for index, case in enumerate(dict.fromkeys(each.case for each in every))}

    def key(advice: Advice) -> tuple[bool, int, int]:
        return advice.kind == "none", place[advice.case], _ORDER.index(advice.kind)

    return sorted(every, key=key)


def _ends(cases: Sequence[Case]) -> Callable[[Case], bool]:
    """Whether a case stands at no place between the ends of a sweep: there one is like the next."""
    inner = {id(case) for sweep in sweeps(cases) for case in sweep.cases[1:-1]}
    return lambda case: id(case) not in inner


def _naming(cases: Sequence[Case]) -> Callable[[Case], str]:
    """Names without what all cases have in common, and their models without what theirs have."""
    everywhere = {(case.device, case.dtype) for case in cases}
    sizes: dict[str, set[tuple[object, ...]]] = {}
    for case in cases:
        sizes.setdefault(case.model, set()).add((*workload_sizes(case).items(), case.lengths))

    def name(case: Case) -> str:
        full = case_label(case).removeprefix(case.model).split()
        place, rest = full[:2], full[2:]
        own = rest if len(sizes[case.model]) > 1 else []
        return " ".join([case.model, *(place if len(everywhere) > 1 else []), *own])

    return name


def _typical(rows: Sequence[BoundRow]) -> set[int]:
    """Identities of the rows that stand for their trace and device."""
    groups: dict[tuple[str, str], list[BoundRow]] = {}
    for row in rows:
        if row.latency is not None:
            groups.setdefault((row.source, row.case.rpartition(" ")[2]), []).append(row)
    found = {id(row) for row in rows if row.latency is None}
    for group in groups.values():
        ordered = sorted(group, key=lambda row: row.latency.value if row.latency else 0.0)
        many = [row for row in group if row.steps > 1]
        found.add(id((many or [ordered[(len(ordered) - 1) // 2]])[0]))
    return found
