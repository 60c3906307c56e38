"""Everything a reporter shows of model latencies, computed once, so that reporters only format."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ftax_micro import stats
from ftax_micro.analysis.core_speed import (
    block_slowdowns,
    is_slowed,
    slowed_blocks_verdict,
    typical_slowdown,
    undisturbed_samples,
)
from ftax_micro.records import Case, Data, Measurement, Verdict
from ftax_micro.results import Result
from ftax_micro.stats import Estimate
from ftax_micro.trust import TrustWarning, trust_warnings

_REFERENCE = "eager"
# PyTorch loads CUPTI wherever it is imported, and does not use it unasked.
_LOADED = "cupti_loaded"
BEGUN = "begun_at"  # of a case's facts: equal where two modes took turns


@dataclass(frozen=True)
class CaseSummary:
    """A case with its medians and their intervals; seconds per forward, None where not measured.

    `speedup` is eager's latency over this mode's on the same workload: the median over blocks that
    took turns, with its sign-test interval, or of the medians where there are too few blocks or
    they were taken in another run. `solo_ratio` is the latency beside other modes over that of the
    mode by itself. `slowdown` is how many times slower than at its fastest in the run a core was
    beside the median sample, `slowed_blocks` beside how many blocks one was slower than a quiet one
    ever is (`core_speed`), `undisturbed` the latency in the others, where there are some of both.
    `verdicts` are the case's own and what these come to. `operations` is how many one forward
    executes, `device_operations` how many the device saw in one, and `busy_s` the median of the
    time it had one to do.
    """

    case: Case
    latency: Estimate | None = None
    host: Estimate | None = None
    pipelined: Estimate | None = None
    speedup: Estimate | None = None
    solo_ratio: float | None = None
    slowdown: float | None = None
    slowed_blocks: int | None = None
    undisturbed: Estimate | None = None
    verdicts: tuple[Verdict, ...] = ()
    operations: int | None = None
    device_operations: int | None = None
    busy_s: float | None = None


@dataclass(frozen=True)
class LatencyView:
    """A result with its cases summarised, and its trust warnings."""

    result: Result
    rows: list[CaseSummary]
    warnings: list[TrustWarning]


def latency_view(result: Result) -> LatencyView:
    """The view of `result`; pure, so a saved file renders as it did when it was measured."""
    rows = summarise_cases(result.cases, result.plan.confidence, result.measurements)
    warnings = trust_warnings(result.environment, gpu_uuids=[])
    return LatencyView(result, rows, [each for each in warnings if each.code != _LOADED])


def summarise_cases(
    cases: Sequence[Case], confidence: float = 0.95, measurements: Sequence[Measurement] = ()
) -> list[CaseSummary]:
    """One summary per case, in their order; `measurements` are other rows of the same run."""
    latencies = [_estimate(case.latency, confidence) for case in cases]
    reference = {_workload(case): case for case in cases if case.mode == _REFERENCE}
    return [
        CaseSummary(
            case=case,
            latency=latency,
            host=_estimate(case.host, confidence),
            pipelined=_estimate(case.pipelined, confidence),
            speedup=_speedup(reference.get(_workload(case)), case, confidence),
            solo_ratio=_solo_ratio(case),
            operations=sum(case.executed.values()) or None,
            device_operations=len(case.device_pass.operations) if case.device_pass else None,
            busy_s=statistics.median(case.device_pass.busy_s) if case.device_pass else None,
            slowdown=typical_slowdown(slowed, case.blocks),
            slowed_blocks=sum(map(is_slowed, slowed)) if slowed else None,
            undisturbed=_undisturbed(case, slowed, confidence),
            verdicts=(*case.verdicts, *slowed_blocks_verdict(slowed, case.blocks)),
        )
        for case, latency, slowed in zip(
            cases, latencies, block_slowdowns(cases, measurements), strict=True
        )
    ]


def workload_sizes(case: Case) -> dict[str, int]:
    """The sizes a case's input has, by name, in the order they are written."""
    sizes = {"batch": case.batch, "sequence": case.sequence, "image": case.image}
    sizes["audio"] = case.audio
    return {name: size for name, size in sizes.items() if size is not None}


def _workload(case: Case) -> tuple[object, ...]:
    return (
        *(case.model, case.device, case.dtype, case.lengths, case.twin, case.facts.get("threads")),
        *workload_sizes(case).items(),
    )


def _solo_ratio(case: Case) -> float | None:
    if case.latency is None or case.solo is None or not _positive(case.solo):
        return None
    return statistics.median(case.latency.samples) / statistics.median(case.solo.samples)


def _estimate(data: Data | None, confidence: float) -> Estimate | None:
    return None if data is None else stats.median_interval(data.samples, confidence)


def _undisturbed(case: Case, slowdowns: Sequence[float], confidence: float) -> Estimate | None:
    if case.latency is None or not 0 < sum(map(is_slowed, slowdowns)) < len(slowdowns):
        return None
    return stats.median_interval(undisturbed_samples(case, slowdowns), confidence)


def _speedup(reference: Case | None, case: Case, confidence: float) -> Estimate | None:
    if reference is None or reference.latency is None or case.latency is None:
        return None
    if not (_positive(reference.latency) and _positive(case.latency)):
        return None
    if case is reference:
        return Estimate(1.0, None, None)
    # Blocks of one number were taken in one round, as long as both modes took part in it.
    ours = block_medians(reference.latency, reference.blocks)
    theirs = block_medians(case.latency, case.blocks)
    rounds = min(len(ours), len(theirs))
    paired = stats.paired_ratio(ours[:rounds], theirs[:rounds], confidence)
    together = reference.facts.get(BEGUN) == case.facts.get(BEGUN)
    if paired.low is not None and together:
        return paired
    samples = (reference.latency.samples, case.latency.samples)
    return stats.ratio_interval(*(stats.median_interval(each, confidence) for each in samples))


def block_medians(data: Data, blocks: Sequence[int]) -> list[float]:
    """The median of each block of samples, `blocks` being how many each has."""
    samples = iter(data.samples)
    return [statistics.median(itertools.islice(samples, size)) for size in blocks]


def _positive(data: Data) -> bool:
    """Whether it can be a side of a ratio."""
    return min(data.samples) > 0
