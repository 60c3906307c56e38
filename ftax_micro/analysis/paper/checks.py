"""The paper's twelve findings and its Tables 1 and 3 beside what was measured (docs/bounds.md).

A finding is *confirmed*, *contradicted* or *ambiguous* by its instances (`paper_evidence.overall`),
or *not measured*, with what is missing. They are about GPUs: results of a cpu say nothing of them.
Times are the pipelined interval, as the paper's own script takes them, where both sides have it,
else latency.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ftax_micro import stats
from ftax_micro.analysis.crossover.hinge import SweepCrossover
from ftax_micro.analysis.crossover.sweeps import model_settings
from ftax_micro.analysis.paper import models
from ftax_micro.analysis.paper.evidence import (
    Machine,
    Statement,
    Verdict,
    above,
    below,
    machines,
    missing,
    overall,
    within,
)
from ftax_micro.analysis.paper.figures import FINDINGS, TABLE_1, TABLE_3, Finding, WidthRow
from ftax_micro.records import Case, GpuLoad
from ftax_micro.results import Result
from ftax_micro.stats import Estimate

# Models that Figure 9 compares GPUs by.
_ON_ALL_GPUS = ("bert_base", "resnet50")
# Shares of SM activity this near each other are not told apart: there is one reading of each.
_NEAR = 0.10


@dataclass(frozen=True)
class Check:
    """One finding on one GPU (or on several, where it compares them), with its instances.

    Without any, `reason` says why, and `needs` what would have to be measured.
    """

    finding: Finding
    verdict: Verdict
    gpu: str | None = None
    statements: tuple[Statement, ...] = ()
    reason: str | None = None
    needs: str | None = None


def check_paper(
    results: Iterable[Result], confidence: float = 0.95, known: Sequence[SweepCrossover] = ()
) -> list[Check]:
    """Every finding in the paper's order: for each GPU that has an instance of it, or once.

    `known`: as `Machine.known`.
    """
    gpus = machines(results, confidence, known)
    found = []
    for finding in FINDINGS:
        checks = _compared(finding, gpus) if finding.name in _ACROSS else _each(finding, gpus)
        if not checks:
            needs = _NEEDS[finding.name]
            reason = f"needs {needs}" if gpus else f"no result of a GPU; needs {needs}"
            checks = [Check(finding, "not_measured", reason=reason, needs=needs)]
        found += checks
    return found


def _each(finding: Finding, gpus: Sequence[Machine]) -> list[Check]:
    found = []
    for machine in gpus:
        statements = tuple(_ON_ONE[finding.name](machine))
        if any(each.verdict != "not_measured" for each in statements):
            found.append(Check(finding, overall(statements), machine.gpu, statements))
    return found


def _compared(finding: Finding, gpus: Sequence[Machine]) -> list[Check]:
    statements = tuple(_ACROSS[finding.name](gpus))
    if not statements:
        return []
    names = ", ".join(machine.gpu for machine in gpus)
    verdict = _any_of(statements) if finding.name == "9" else overall(statements)
    return [Check(finding, verdict, names, statements)]


def _any_of(statements: Sequence[Statement]) -> Verdict:
    """That of a claim that there is a case of it."""
    verdicts = {each.verdict for each in statements}
    if "confirmed" in verdicts:
        return "confirmed"
    return "contradicted" if verdicts == {"contradicted"} else "ambiguous"


def _faster_gpu_at_batch_1(gpus: Sequence[Machine]) -> list[Statement]:
    """Finding 9: the GPU that is faster at the largest common batch, at batch 1."""
    found = []
    for fast, slow, model, dtype in _ranked(gpus):
        pair = [machine.find("eager", dtype, 1, model) for machine in (fast, slow)]
        if pair[0] and pair[1]:
            text = f"{model} {dtype}, eager, batch 1: {fast.gpu} over {slow.gpu}"
            found.append(above(text, fast.ratio(pair[0], pair[1]), 1.0))
    return found


def _faster_gpu_crosses_later(gpus: Sequence[Machine]) -> list[Statement]:
    """Finding 10."""
    found = []
    for fast, slow, model, dtype in _ranked(gpus):
        swept = [machine.eager_sweeps.get((model, dtype)) for machine in (fast, slow)]
        ends = [each.crossover.x if each else None for each in swept]
        if ends[0] is not None and ends[1] is not None:
            text = f"{model} {dtype}: crossover on {fast.gpu} over that on {slow.gpu}"
            found.append(above(text, stats.ratio_interval(ends[0], ends[1]), 1.0))
    return found


def _ranked(gpus: Sequence[Machine]) -> Iterable[tuple[Machine, Machine, str, str]]:
    """Pairs of GPUs, the faster first, for each model and dtype on both: faster at the largest
    common batch beyond 1 is who takes less time there, with intervals apart.
    """
    for one, other in itertools.combinations(gpus, 2):
        for model, dtype in itertools.product(_ON_ALL_GPUS, one.dtypes):
            common = set(one.batches("eager", dtype, model))
            common &= set(other.batches("eager", dtype, model))
            largest = max(common, default=1)
            pair = [machine.find("eager", dtype, largest, model) for machine in (one, other)]
            if largest == 1 or not pair[0] or not pair[1]:
                continue
            ratio = one.ratio(pair[0], pair[1])
            if ratio.high is not None and ratio.high < 1:
                yield one, other, model, dtype
            elif ratio.low is not None and ratio.low > 1:
                yield other, one, model, dtype


def _table_1(machine: Machine) -> list[Statement]:
    """Each row against the first."""
    found = []
    for dtype in machine.dtypes:
        first, *others = ((row, _width_case(machine, dtype, row)) for row in TABLE_1)
        for row, case in others:
            text = (
                f"hidden size {row.hidden}, batch {row.batch}, sequence {row.sequence} over "
                f"the first row, eager {dtype}"
            )
            if first[1] is None or case is None:
                found.append(missing(text))
                continue
            paper = row.latency_s / first[0].latency_s
            found.append(within(text, machine.ratio(case, first[1]), models.FREE, paper=paper))
    return found


def _width_case(machine: Machine, dtype: str, row: WidthRow) -> Case | None:
    for name in machine.names:
        model, settings = model_settings(name)
        width = (settings.get("hidden_size", "768"), settings.get("intermediate_size", "3072"))
        if model != models.BERT or width != (str(row.hidden), str(row.feed_forward)):
            continue
        if settings.get("num_hidden_layers", "12") != "12":
            continue
        found = machine.find("eager", dtype, row.batch, name, sequence=row.sequence)
        if found is not None:
            return found
    return None


def _table_3(machine: Machine) -> list[Statement]:
    """Neighbours in the table's order: latency falls, and SM activity as the paper has it."""
    found = []
    for dtype in machine.dtypes:
        cases = [(row, machine.find(row.mode, dtype, 1, models.BERT)) for row in TABLE_3]
        rows = [(row, case) for row, case in cases if case is not None]
        for (above_it, first), (row, case) in itertools.pairwise(rows):
            text = f"{row.mode} over {above_it.mode}, {dtype}, batch 1"
            paper = row.latency_s / above_it.latency_s
            ratio = machine.ratio(case, first)
            found.append(below(f"time of {text}", ratio, 1.0, paper=paper))
            loads = (case.gpu_load, first.gpu_load)
            activity = _activity(
                f"SM activity of {text}", loads, row.sm_active / above_it.sm_active
            )
            found += [activity] if activity else []
    return found


def _activity(
    text: str, loads: tuple[GpuLoad | None, GpuLoad | None], paper: float
) -> Statement | None:
    """A ratio of two readings, on the same side of 1 as the paper's or not."""
    ours, theirs = (load.sm_activity if load else None for load in loads)
    if ours is None or not theirs:
        return None
    ratio = ours / theirs
    verdict: Verdict = "ambiguous"
    if abs(ratio - 1) > _NEAR:
        verdict = "confirmed" if (ratio > 1) == (paper > 1) else "contradicted"
    return Statement(text, verdict, Estimate(ratio, None, None), paper)


_ON_ONE: dict[str, Callable[[Machine], Sequence[Statement]]] = {
    "1": models.modes_at_batch_1,
    "2": models.flat_then_growing,
    "3": models.half_precision,
    "4": models.depth_and_width,
    "5": models.funnel,
    "6": models.efficient_variants,
    "7": models.fnet,
    "8": models.nested,
    "11": models.frameworks_at_large_batch,
    "12": models.operations_or_macs,
    "table 1": _table_1,
    "table 3": _table_3,
}
_ACROSS: dict[str, Callable[[Sequence[Machine]], Sequence[Statement]]] = {
    "9": _faster_gpu_at_batch_1,
    "10": _faster_gpu_crosses_later,
}
_NEEDS = {
    "1": "models in eager and in torchscript or onnxruntime at batch 1 in fp16",
    "2": "a sweep over batch in eager",
    "3": "a sweep over batch in eager in fp16 and in fp32",
    "4": "a model in eager at several depths, or at several widths with a sweep over batch",
    "5": "funnel and bert_base in eager at a small batch",
    "6": "squeezebert or mobilebert, and bert_base, in eager",
    "7": "fnet in eager and bert_base in onnxruntime at batch 1",
    "8": "bert_base with lengths=penn_treebank at batch 128 in better_transformer and cuda_graph",
    "9": "bert_base or resnet50 in eager at batch 1 and a larger one, on two GPUs",
    "10": "bert_base or resnet50 in eager over batch beyond the crossover, on two GPUs",
    "11": "a model beyond batch 16 in eager and in torchscript or onnxruntime",
    "12": "five framework-bound models in eager at batch 1, with operations and MACs counted",
    "table 1": "bert_base in eager at the table's widths, batches and lengths",
    "table 3": "bert_base at batch 1 in two modes",
}
