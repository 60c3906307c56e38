"""Repeated launch chains with what fusing each would save: of recorded cases, and in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftax_micro import stats
from ftax_micro.analysis.bounding.cases import CaseBounds, device_work, run_order
from ftax_micro.analysis.bounding.chains import (
    Chain,
    Launched,
    by_stream,
    find_chains,
    launched_alone,
)
from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.pipeline import Booleans, CallKind, Integers
from ftax_micro.analysis.bounding.what_if import Change, Forward
from ftax_micro.analysis.floor.values import FloorValues
from ftax_micro.analysis.traces.libraries import library_of
from ftax_micro.stats import Estimate

_COPY = re.compile(r"^(?:Memcpy|Copy|hipMemcpy|copy )")
# The only copies that a kernel can do by the way.
_ON_DEVICE = re.compile(r"DtoD|Device -> Device|DeviceToDevice", re.IGNORECASE)
# Of a case, whose intervals cost a resampling each.
_MOST = 6
ONE_BY_ONE = "nothing is launched one by one"
NO_REPEAT = "no sequence of its launches comes often enough to be a chain"
STREAMS = (
    "several streams: what one waits for from another is not known; fusing saves at most so much"
)
NOTHING_SAVED = "fusing what its launches repeat saves nothing: the device does not wait for them"


@dataclass(frozen=True)
class ChainRow:
    """A chain; times in seconds of one forward.

    `kernels` are the names in order, `op` the framework's op that every occurrence is inside of
    (None: several, or not known), `ops` those that launch its operations, in order. `occurrences`
    and `launches_saved` are of one forward, on average. `counted` is what counting launches would
    say: each one saved at the floor of a launch call (None: not known).
    """

    kernels: tuple[str, ...]
    op: str | None
    ops: tuple[str, ...]
    occurrences: float
    saved: Estimate
    counted_s: float | None

    @property
    def launches_saved(self) -> float:
        """Launches less in one forward."""
        return self.occurrences * (len(self.kernels) - 1)


@dataclass(frozen=True)
class Chains:
    """The chains of a case or of a trace's steps on a device, those that save most first; `reason`
    says why there are none. `together` is what fusing all of them saves, `idle` how long the device
    did nothing.
    """

    latency: Estimate | None = None
    rows: tuple[ChainRow, ...] = ()
    together: Estimate | None = None
    idle: Estimate | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()


def case_chains(found: CaseBounds, floor: FloorValues, confidence: float = 0.95) -> Chains:
    """The chains of a case on a GPU, from its device pass, with intervals from its samples."""
    case, traced = found.case, found.case.device_pass
    if case.device == "cpu":
        return Chains(reason=f"operations run inline on the cpu: {ONE_BY_ONE}")
    if found.reason is not None or traced is None or case.latency is None:
        return Chains(reason=found.reason or "the device was not traced")
    host = case.host.samples if case.host is not None else []
    returned_s = float(np.median(host)) if host else None
    work = device_work(traced, returned_s)
    if (why := why_no_chains(work, floor)) is not None:
        return Chains(reason=why)
    work, order = by_stream(work)
    kernels = [traced.operations[each].name for each in run_order(traced)[order].tolist()]
    names, number = numbered(kernels)
    launched = Launched(work, number, may_join(names, number), returned_s or 0.0)
    taken = find_chains([launched], [floor.point()], most=_MOST)
    if not taken.chains:
        return Chains(reason=NOTHING_SAVED if taken.repeats else NO_REPEAT)
    runs = [chain.runs(0) for chain in taken.chains]
    forward = Forward(work, case.latency.samples, floor, host, confidence)
    saved = [forward.after(Change(fused=each)).saved for each in runs]
    rows = [
        chain_row(chain, kernels[first : last + 1], floor, each)
        for chain, ((first, last), *_), each in zip(taken.chains, runs, saved, strict=True)
    ]
    together = forward.after(Change(fused=tuple(run for each in runs for run in each))).saved
    middle = stats.median_interval(case.latency.samples, confidence)
    return Chains(middle, ranked(rows), together, found.idle, notes=notes_of(work))


def why_no_chains(work: DeviceWork, floor: FloorValues) -> str | None:
    """Why work has no chains, whatever its operations are; None: it may have some."""
    operations, launches = work.operations.count, work.calls.count
    if not launched_alone(work).any():
        told = "1 launch" if launches == 1 else f"{launches:,} launches"
        return f"its {operations:,} operations come from {told}: {ONE_BY_ONE}"
    if work.replays and not floor.has_graph:
        costs = ("graph_launch", "graph_node", "kernel_duration")
        return floor.why_not(*costs) or "what a graph's launch costs is not known"
    return None


def numbered(names: Sequence[str]) -> tuple[list[str], Integers]:
    """Each name once, and the number of each."""
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(name, len(numbers)) for name in names]
    return list(numbers), np.array(found, dtype=np.int64)


def may_join(names: Sequence[str], number: Integers) -> Booleans:
    """Which operations, each by the number of its name, may become one with what is before them, as
    far as names tell: not copies from and to the host, nor collectives, which wait for others.
    """
    fits = np.array([_is_kernel(name) for name in names], dtype=bool)[number]
    joins: Booleans = fits & np.concatenate([[False], fits[:-1]])[: len(fits)]
    return joins


def _is_kernel(name: str) -> bool:
    if _COPY.search(name):
        return _ON_DEVICE.search(name) is not None
    return library_of(name) != "NCCL"


def chain_row(
    chain: Chain,
    kernels: Sequence[str],
    floor: FloorValues,
    saved: Estimate,
    op: str | None = None,
    ops: Sequence[str] = (),
) -> ChainRow:
    """A row, with what counting launches would say beside what the model says."""
    occurrences = float(np.mean([len(each) for each in chain.first]))
    submit = floor.submit.get(CallKind.LAUNCH)
    launches = occurrences * (chain.length - 1)
    return ChainRow(
        kernels=tuple(kernels),
        op=op,
        ops=tuple(ops),
        occurrences=occurrences,
        saved=saved,
        counted_s=None if submit is None else launches * submit.estimate.value,
    )


def notes_of(work: DeviceWork) -> tuple[str, ...]:
    """What limits what the model says of it."""
    return (STREAMS,) if np.unique(work.operations.stream).size > 1 else ()


def ranked(rows: Sequence[ChainRow]) -> tuple[ChainRow, ...]:
    """Those that save most first."""
    return tuple(sorted(rows, key=lambda row: -row.saved.value))
