"""The repeated launch chains of a trace, over all its steps, and the ops that they are inside of.

Two launches are not joined where the host could not launch them as one: they are of two threads, or
between them the host waited for the device, maybe to look at what the first one made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftax_micro import stats
from ftax_micro.analysis.bounding.chain_rows import (
    NO_REPEAT,
    NOTHING_SAVED,
    Chains,
    chain_row,
    may_join,
    notes_of,
    ranked,
    why_no_chains,
)
from ftax_micro.analysis.bounding.chains import Chain, Launched, by_stream, find_chains
from ftax_micro.analysis.bounding.pipeline import NO_CALL, Booleans, Floor
from ftax_micro.analysis.bounding.what_if import saved_by_fusion
from ftax_micro.analysis.floor.values import FloorValues
from ftax_micro.analysis.traces.correlation import Correlation
from ftax_micro.analysis.traces.events import NONE, Calls, Ints, Trace
from ftax_micro.analysis.traces.nesting import Nesting, look_up, nest
from ftax_micro.analysis.traces.step_bounds import NO_DEVICE, NOTHING, without_wait
from ftax_micro.analysis.traces.step_work import StepWorks
from ftax_micro.analysis.traces.steps import Step

# A step is a forward of the model each; more of them say the same.
MOST_STEPS = 50


@dataclass(frozen=True, eq=False)
class _Forward:
    """A step's launches, the trace's operation at each place (NONE: of another step), its floor."""

    launched: Launched
    index: Ints
    floor: Floor


class TraceChains:
    """Chains of the devices of one trace; what all need is made once."""

    def __init__(self, trace: Trace, correlation: Correlation) -> None:
        self._trace, self._correlation = trace, correlation
        self._works = StepWorks(trace, correlation)
        self._nesting: Nesting | None = None

    def of(
        self, steps: Sequence[Step], floor: FloorValues | None, reason: str | None = None
    ) -> Chains:
        """The chains of some steps of one device; `reason` says why there is no `floor`.

        What a chain saves is the median over steps, with its interval where they are enough.
        """
        if any(each.device is None for each in steps):
            return Chains(reason=NO_DEVICE)
        worked = [each for each in steps if len(each.index) and each.latency.value > 0]
        if not worked:
            return Chains(reason=NOTHING)
        if floor is None or floor.to_start is None or floor.sync is None:
            why = floor.why_not("to_start", "sync") if floor else reason
            return Chains(reason=why or "its floor is not known")
        used = worked[:: -(-len(worked) // MOST_STEPS)]
        first = self._works.of(used[0]).work
        if (why := why_no_chains(first, floor)) is not None:
            return Chains(reason=why)
        forwards = [self._forward(each, floor) for each in used]
        found = find_chains([f.launched for f in forwards], [f.floor for f in forwards])
        if not found.chains:
            return Chains(reason=NOTHING_SAVED if found.repeats else NO_REPEAT)
        return self._with_savings(found.chains, forwards, used, floor, len(worked))

    def _with_savings(
        self,
        chains: Sequence[Chain],
        forwards: Sequence[_Forward],
        steps: Sequence[Step],
        floor: FloorValues,
        worked: int,
    ) -> Chains:
        rows = []
        for chain in chains:
            saved = [_saving(each, chain.runs(i)) for i, each in enumerate(forwards)]
            kernels, op, ops = self._named(chain, forwards)
            rows.append(chain_row(chain, kernels, floor, stats.median_interval(saved), op, ops))
        together = [
            _saving(each, [run for chain in chains for run in chain.runs(i)])
            for i, each in enumerate(forwards)
        ]
        notes = [note for f in forwards for note in notes_of(f.launched.work)][:1]
        if worked > len(steps):
            notes.append(f"{len(steps):,} of {worked:,} steps were looked at")
        return Chains(
            latency=stats.median_interval([each.latency.value for each in steps]),
            rows=ranked(rows),
            together=stats.median_interval(together),
            idle=stats.median_interval([each.idle.value for each in steps if each.idle]),
            notes=tuple(notes),
        )

    def _forward(self, step: Step, floor: FloorValues) -> _Forward:
        found = self._works.of(step)
        index: Ints = np.full(found.work.operations.count, NONE, dtype=np.int64)
        index[~found.work.ahead] = step.index
        work, order = by_stream(found.work)
        index = index[order]
        names, number = np.unique(
            look_up(self._trace.operations.name.astype(np.int64), index), return_inverse=True
        )
        text = [self._trace.names[each] if each != NONE else "" for each in names.tolist()]
        joins = may_join(text, number) & self._one_thread_without_wait(index)
        host_s = step.window.end_ns - step.window.begin_ns
        launched = Launched(work, names[number], joins, 0.0 if found.waited else host_s * 1e-9)
        charged = floor if found.waited else without_wait(floor)
        return _Forward(launched, index, charged.point())

    def _one_thread_without_wait(self, index: Ints) -> Booleans:
        """Whether each operation was launched by the thread that launched what is before it, which
        did not wait for the device in between.
        """
        calls = self._trace.calls
        call = look_up(self._correlation.call, index)
        known = call != NONE
        thread = np.where(known, calls.thread[np.where(known, call, 0)], NONE)
        waits = _waits_before(calls, call)
        same = known[1:] & (thread[1:] == thread[:-1]) & (waits[1:] == waits[:-1])
        return np.concatenate([[False], same])[: len(index)]

    def _named(
        self, chain: Chain, forwards: Sequence[_Forward]
    ) -> tuple[list[str], str | None, list[str]]:
        """Its kernels, the op that every occurrence is inside of, and the ops that launch them."""
        trace = self._trace
        if self._nesting is None:
            self._nesting = nest(trace)
        number = next(i for i, each in enumerate(chain.first) if len(each))
        first = int(chain.first[number][0])
        members = forwards[number].index[first : first + chain.length]
        kernels = [trace.names[each] for each in trace.operations.name[members].tolist()]
        ops = self._op_names(self._nesting.op_of_call(self._correlation.call[members]))
        ends = [
            np.concatenate([f.index[p + d] for f, p in zip(forwards, chain.first, strict=True)])
            for d in (0, chain.length - 1)
        ]
        nodes = [self._nesting.of_call[self._correlation.call[each]] for each in ends]
        common = Counter(self._op_names(self._nesting.common_op(nodes[0], nodes[1])))
        return kernels, next(iter(common)) or None if len(common) == 1 else None, ops

    def _op_names(self, nodes: Ints) -> list[str]:
        """Empty where there is none."""
        assert self._nesting is not None
        names = self._trace.spans.name.astype(np.int64)
        found = look_up(names, look_up(self._nesting.span, nodes))
        return [self._trace.names[each] if each != NONE else "" for each in found.tolist()]


def _saving(each: _Forward, runs: Sequence[tuple[int, int]]) -> float:
    """Seconds, to the picosecond: of nanoseconds added up, less is rounding."""
    if not runs:
        return 0.0
    found = saved_by_fusion(each.launched.work, each.floor, runs, each.launched.returned_s)
    return round(found, 12)


def _waits_before(calls: Calls, call: Ints) -> Ints:
    """How many calls that wait for the device its thread had begun before each call; 0 for NONE."""
    found = np.zeros(len(call), dtype=np.int64)
    known = call != NO_CALL
    for thread in np.unique(calls.thread[call[known]]).tolist():
        waits = calls.start_ns[(calls.thread == thread) & calls.blocks]
        mine = known.copy()
        mine[known] = calls.thread[call[known]] == thread
        found[mine] = np.searchsorted(waits, calls.start_ns[call[mine]], side="left")
    return found
