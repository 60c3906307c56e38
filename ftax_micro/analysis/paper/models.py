"""The paper's findings that one GPU can confirm or contradict: modes, batches and models.

Each function takes a machine and returns the instances of its finding that were measured there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ftax_micro import stats
from ftax_micro.analysis.crossover.sweeps import Sweep, sweeps
from ftax_micro.analysis.paper.evidence import (
    Machine,
    Statement,
    Verdict,
    above,
    below,
    mean,
    missing,
    within,
)
from ftax_micro.analysis.paper.figures import (
    FNET_SAVED,
    FRAMEWORKS_DIFFER_TO_BATCH,
    NESTED_BATCH,
    NESTED_SAVED,
    SAVED_OVER_EAGER,
)
from ftax_micro.analysis.resampling import Array, percentile_interval
from ftax_micro.records import Case
from ftax_micro.stats import Estimate

BERT = "bert_base"
# Other GPUs and newer frameworks: of a share that the paper found, this much is the same finding.
_OF_THE_FIGURE = 0.5
# Drift between two cases; less than this is no difference.
FREE = 0.05
# "Hardly" in words.
_HARDLY = 0.10
# Where a model's own sweep does not say up to which batch it is framework-bound.
_SMALL_BATCH = 4
# A forward whose host returns so late leaves the device little to do afterwards.
_HOST_SHARE = 0.8
_FEWEST_MODELS = 5
_RESAMPLES = 2000


def modes_at_batch_1(machine: Machine) -> list[Statement]:
    """Finding 1."""
    found = []
    for mode, paper in SAVED_OVER_EAGER.items():
        saved = [
            machine.saved(case, eager)
            for model in machine.models("eager", "fp16", 1)
            if (case := machine.find(mode, "fp16", 1, model))
            and (eager := machine.find("eager", "fp16", 1, model))
        ]
        text = f"{mode} off eager's time, batch 1, fp16"
        if not saved:
            found.append(missing(text))
            continue
        found.append(_of_size(f"{text}, mean over {len(saved)} models", mean(saved), paper))
    return found


def flat_then_growing(machine: Machine) -> list[Statement]:
    """Finding 2: every model has a plateau, and two of them differ in where it ends."""
    found = []
    placed: dict[str, list[tuple[str, Estimate]]] = {}
    for (model, dtype), each in machine.eager_sweeps.items():
        crossover = each.crossover
        text = f"{model} {dtype}: crossover of eager over batch"
        if crossover.x is not None:
            found.append(Statement(text, "confirmed", crossover.x, None, "size"))
            placed.setdefault(dtype, []).append((model, crossover.x))
        elif crossover.reason and "no plateau" in crossover.reason:
            found.append(Statement(f"{text}: {crossover.reason}", "contradicted"))
        else:
            note = f"{text}: {crossover.reason}"
            found.append(Statement(note, "ambiguous", shown_only=True))
    for dtype, ends in placed.items():
        if len(ends) > 1:
            low, high = min(ends, key=lambda e: e[1].value), max(ends, key=lambda e: e[1].value)
            text = f"{dtype}: crossover of {high[0]} over that of {low[0]}"
            ratio = stats.ratio_interval(high[1], low[1])
            apart = ratio.low is not None and ratio.low > 1
            found.append(Statement(text, "confirmed" if apart else "ambiguous", ratio))
    return found


def half_precision(machine: Machine) -> list[Statement]:
    """Finding 3."""
    found = []
    for model in dict.fromkeys(model for model, _ in machine.eager_sweeps):
        half, full = (machine.eager_sweeps.get((model, dtype)) for dtype in ("fp16", "fp32"))
        if half is None or full is None:
            continue
        x_full = full.crossover.x
        if half.crossover.x is not None and x_full is not None:
            text = f"{model}: crossover in fp16 over that in fp32"
            found.append(above(text, stats.ratio_interval(half.crossover.x, x_full), 1.0))
        elif x_full is not None and half.crossover.plateau is not None:
            last = half.sweep.values[-1]
            beyond = x_full.high is not None and x_full.high < last
            text = f"{model}: fp16 is flat up to {last:g}, fp32 up to its crossover"
            verdict: Verdict = "confirmed" if beyond else "ambiguous"
            found.append(Statement(text, verdict, x_full, None, "size"))
        bound_to = machine.framework_bound_to(model, "fp32") or 0
        pair = [machine.find("eager", dtype, 1, model) for dtype in ("fp16", "fp32")]
        if bound_to >= 1 and pair[0] and pair[1]:
            text = f"{model}: fp16 over fp32 in eager at batch 1, framework-bound"
            found.append(above(text, machine.ratio(pair[0], pair[1]), 1 - FREE))
    return found


def depth_and_width(machine: Machine) -> list[Statement]:
    """Finding 4: deepest over shallowest, and widest over narrowest where that is flat."""
    depth, width = [], []
    for sweep in sweeps(each for each in machine.cases if each.mode == "eager"):
        least, most = sweep.cases[0], sweep.cases[-1]
        ratio, scope = machine.ratio(most, least), _scope(sweep)
        if "layer" in sweep.axis:
            depth.append(above(f"{scope}, deepest over shallowest", ratio, 1 + FREE))
        elif any(word in sweep.axis for word in ("hidden", "embd", "width")):
            bound_to = machine.framework_bound_to(most.model, most.dtype)
            if bound_to is not None and most.batch <= bound_to:
                width.append(below(f"{scope}, widest over narrowest", ratio, 1 + FREE))
    return [*(depth or [missing("depth")]), *(width or [missing("width, framework-bound")])]


def funnel(machine: Machine) -> list[Statement]:
    """Finding 5: at batches up to which BERT is framework-bound."""
    return [
        above(f"funnel over {BERT}, eager {dtype}, batch {batch}", ratio, 1.0)
        for dtype, batch, ratio in _against_bert(machine, "funnel")
        if batch <= (machine.framework_bound_to(BERT, dtype) or _SMALL_BATCH)
    ]


def efficient_variants(machine: Machine) -> list[Statement]:
    """Finding 6: at the smallest batch, and at the largest where that is beyond the crossover."""
    found = []
    for model in ("squeezebert", "mobilebert"):
        for dtype in machine.dtypes:
            ratios = [row for row in _against_bert(machine, model) if row[0] == dtype]
            if not ratios:
                continue
            (_, least, small), (_, most, large) = ratios[0], ratios[-1]
            text = f"{model} over {BERT}, eager {dtype}, batch"
            found.append(above(f"{text} {least}", small, 1.0))
            swept = machine.eager_sweeps.get((BERT, dtype))
            x = swept.crossover.x if swept else None
            if x is not None and x.high is not None and most > x.high:
                found.append(below(f"{text} {most}", large, 1.0))
            elif most > least:
                note = f"{text} {most}, not surely beyond the crossover of {BERT}"
                found.append(Statement(note, "ambiguous", large))
    return found


def fnet(machine: Machine) -> list[Statement]:
    """Finding 7."""
    found = []
    for dtype in machine.dtypes:
        ours = machine.find("eager", dtype, 1, "fnet")
        theirs = machine.find("onnxruntime", dtype, 1, BERT)
        if ours and theirs:
            text = f"fnet in eager off the time of {BERT} in onnxruntime, {dtype}, batch 1"
            found.append(_of_size(text, machine.saved(ours, theirs), FNET_SAVED))
    return found


def nested(machine: Machine) -> list[Statement]:
    """Finding 8."""
    found = []
    for dtype in machine.dtypes:
        pair = [
            machine.find(mode, dtype, NESTED_BATCH, BERT, lengths="penn_treebank")
            for mode in ("better_transformer", "cuda_graph")
        ]
        if pair[0] and pair[1]:
            text = f"better_transformer off the time of cuda_graph, {dtype}, batch {NESTED_BATCH}"
            found.append(_of_size(text, machine.saved(pair[0], pair[1]), NESTED_SAVED))
    return found


def frameworks_at_large_batch(machine: Machine) -> list[Statement]:
    """Finding 11."""
    return [
        within(
            f"{mode} over eager, {model} {dtype}, batch {batch}",
            machine.ratio(case, eager),
            _HARDLY,
        )
        for dtype in machine.dtypes
        for model in machine.names
        for batch in machine.batches("eager", dtype, model)
        if batch > FRAMEWORKS_DIFFER_TO_BATCH
        and (eager := machine.find("eager", dtype, batch, model))
        for mode in SAVED_OVER_EAGER
        if (case := machine.find(mode, dtype, batch, model))
    ]


def operations_or_macs(machine: Machine) -> list[Statement]:
    """Finding 12: rank correlation of latency with executed operations less that with MACs, over
    framework-bound models at batch 1 in eager; its interval is over models.
    """
    found = []
    for dtype in machine.dtypes:
        models = machine.models("eager", dtype, 1)
        cases = [machine.find("eager", dtype, 1, model) for model in models]
        bound = [case for case in cases if case and _host_bound(case)]
        if len(bound) < _FEWEST_MODELS:
            continue
        advantage = _rank_advantage(bound, machine.confidence)
        text = (
            f"rank correlation of latency with operations less that with MACs, eager {dtype}, "
            f"batch 1, {len(bound)} framework-bound models"
        )
        judged = above(text, advantage, 0.0)
        found.append(Statement(text, judged.verdict, advantage, None, "correlation"))
    return found


def _of_size(text: str, saved: Estimate, paper: float) -> Statement:
    """A share is the paper's finding where at least half of the paper's figure is found."""
    judged = above(text, saved, _OF_THE_FIGURE * paper)
    return Statement(text, judged.verdict, saved, paper, "share")


def _against_bert(machine: Machine, model: str) -> Iterable[tuple[str, int, Estimate]]:
    """Dtype, batch and time over BERT's in eager, by ascending batch within a dtype."""
    for dtype in machine.dtypes:
        for batch in machine.batches("eager", dtype, model):
            case = machine.find("eager", dtype, batch, model)
            bert = machine.find("eager", dtype, batch, BERT)
            if case and bert:
                yield dtype, batch, machine.ratio(case, bert)


def _scope(sweep: Sweep) -> str:
    sizes = dict(sweep.sizes)
    values = f"{sweep.values[0]:g} … {sweep.values[-1]:g}"
    sequence = f", sequence {sizes['sequence']}" if "sequence" in sizes else ""
    return (
        f"{sweep.model} with {sweep.axis} {values}, {sweep.dtype}, batch "
        f"{sizes.get('batch', 1)}{sequence}"
    )


def _host_bound(case: Case) -> bool:
    if case.host is None or case.latency is None or not case.executed or not case.macs:
        return False
    return bool(np.median(case.host.samples) >= _HOST_SHARE * np.median(case.latency.samples))


def _rank_advantage(cases: Sequence[Case], confidence: float) -> Estimate:
    columns = np.array(
        [
            [float(np.median(case.latency.samples)), sum(case.executed.values()), case.macs or 0]
            for case in cases
            if case.latency
        ]
    ).T
    n = columns.shape[1]
    chosen = np.random.default_rng(0).integers(0, n, (_RESAMPLES, n))
    chosen[0] = np.arange(n)
    latency, operations, macs = (_ranks(column, chosen) for column in columns)
    drawn = _correlation(latency, operations) - _correlation(latency, macs)
    return percentile_interval(float(drawn[0]), drawn[1:], confidence)


def _ranks(values: Array, chosen: NDArray[np.int64]) -> Array:
    """Ranks of values (n) within each row of what was `chosen` (rows × k, places), ties at their
    mean.
    """
    distinct, place = np.unique(values, return_inverse=True)
    rows, own = np.arange(len(chosen))[:, None], place[chosen]
    wide = distinct.size
    often = np.bincount((own + rows * wide).ravel(), minlength=len(chosen) * wide)
    often = often.reshape(len(chosen), wide)
    below = np.cumsum(often, axis=1) - often
    return np.asarray((below + often / 2)[rows, own])


def _correlation(a: Array, b: Array) -> Array:
    """Pearson's, row by row; 0 where one does not vary."""
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray((a * b).sum(axis=1) / np.where(scale > 0, scale, 1.0))
