"""Rows of a bound analysis, whatever they come from: cases of results, steps of traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftax_micro.analysis.bounding.bounds import Bounds
from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.latency_view import workload_sizes
from ftax_micro.records import Case, Status
from ftax_micro.stats import Estimate


@dataclass(frozen=True)
class BoundRow:
    """One case or step: seconds, None where there is no value; `reason` says why there are no
    bounds, `status` is ``skipped`` then.

    `launch_bound` is launch-limited, `graph_bound` that of one replayed graph. `tax` is latency
    less the bound of the mode's own launch path. `regime` is the most exact word, `paper_regime`
    the paper's. `notes` are what a reader has to know. Of traces alone are known: `idle_by_cause`,
    `occupied`, the time in which the device worked for other steps alone, the medians of launch
    delays and of queue depths, and of how many `steps` a row has the medians.
    """

    source: str
    case: str
    mode: str
    status: Status
    reason: str | None
    latency: Estimate | None = None
    device_bound: Estimate | None = None
    launch_bound: Estimate | None = None
    graph_bound: Estimate | None = None
    busy: Estimate | None = None
    idle: Estimate | None = None
    launches: int | None = None
    operations: int | None = None
    tax: Estimate | None = None
    tax_share: Estimate | None = None
    regime: str | None = None
    paper_regime: str | None = None
    why: str | None = None
    idle_by_cause: tuple[tuple[str, float], ...] = ()
    occupied: Estimate | None = None
    launch_delay: float | None = None
    queue_depth: float | None = None
    steps: int = 1
    notes: tuple[str, ...] = ()


def rows_of_cases(source: str, found: Sequence[CaseBounds]) -> list[BoundRow]:
    """A row for every case."""
    return [_of_case(source, each) for each in found]


def _of_case(source: str, found: CaseBounds) -> BoundRow:
    case, bounds = found.case, found.bounds
    label = case_label(case)
    if bounds is None:
        status: Status = "failed" if case.status == "failed" else "skipped"
        return BoundRow(source, label, case.mode, status, found.reason)
    binds = found.regime
    return BoundRow(
        *(source, label, case.mode, "ok", found.reason),
        latency=bounds.latency,
        device_bound=bounds.device.seconds if bounds.device else None,
        launch_bound=bounds.launch.seconds if bounds.launch else None,
        graph_bound=bounds.graph.seconds if bounds.graph else None,
        busy=found.busy,
        idle=found.idle,
        launches=found.launches,
        operations=found.operations,
        tax=bounds.tax,
        tax_share=bounds.tax_share,
        regime=binds.text if binds else None,
        paper_regime=binds.paper if binds else None,
        why=binds.reason if binds else None,
        notes=(*untaxed(bounds), *found.notes),
    )


def untaxed(bounds: Bounds | None) -> tuple[str, ...]:
    """What is said of a tax whose interval holds zero; nothing of any other."""
    none_seen = bounds is not None and bounds.taxed is False
    return ("its tax is not distinguishable from zero",) if none_seen else ()


def case_label(case: Case) -> str:
    """A case in words, without its mode: ``bert_base cpu fp32 batch 1 sequence 128``."""
    sizes = [f"{name} {size}" for name, size in workload_sizes(case).items()]
    more = [case.lengths] if case.lengths else []
    return " ".join([case.model, case.device, case.dtype, *sizes, *more])
