"""Operations that follow each other as one: what is left of a forward's work, and of its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ftax_micro.analysis.bounding.joint import DeviceWork, Drawing
from ftax_micro.analysis.bounding.pipeline import NO_CALL, Booleans, Calls, Integers, Operations

# Places (first, last) of operations that follow each other in a stream.
Runs = Sequence[tuple[int, int]]


class Fusion:
    """Runs of operations as one each: where they stand, and which calls are not made any more.

    Errors: `ValueError` for places that are none, in several runs, or of several streams.
    """

    def __init__(self, work: DeviceWork, runs: Runs) -> None:
        self._work = work
        first, last = np.array(sorted(runs), dtype=np.int64).T
        _check_runs(work.operations, first, last)
        # Inside a run one more has begun, behind its first, than has ended.
        size = work.operations.count + 1
        inside = np.bincount(first + 1, minlength=size) - np.bincount(last + 1, minlength=size)
        stays = np.cumsum(inside)[:-1] == 0
        self._places = np.flatnonzero(stays)
        self._made = self._still_made(stays)
        self.work = self._fused()

    def _still_made(self, stays: Booleans) -> Booleans:
        """Calls that bring an operation still, or never brought one."""
        call, number = self._work.operations.call, self._work.calls.count
        before = np.bincount(call[call != NO_CALL], minlength=number)
        after = np.bincount(call[stays & (call != NO_CALL)], minlength=number)
        return np.asarray((after > 0) | (before == 0))

    def _fused(self) -> DeviceWork:
        """The work with the runs as one operation each; of its times only the median durations."""
        work, places, made = self._work, self._places, self._made
        call = work.operations.call[places]
        index = np.cumsum(made) - 1
        operations = Operations(
            duration_s=np.add.reduceat(work.operations.duration_s, places, axis=-1),
            call=np.where(call == NO_CALL, NO_CALL, index[call] if index.size else call),
            stream=work.operations.stream[places],
            chained=work.operations.chained[places],
        )
        calls = Calls(work.calls.kind[made], work.calls.thread[made])
        early = None if work.left_over is None else work.left_over[places]
        return replace(
            work, operations=operations, calls=calls, kind=work.kind[places], left_over=early
        )

    def apply(self, each: Drawing) -> Drawing:
        """The times of `work` in a drawing of those of what was fused."""
        durations = np.add.reduceat(each.durations, self._places, axis=-1)
        # From one call to the next the host does what the next one needs.
        steps = np.diff(each.begins, axis=-1, prepend=0.0)
        begins = np.cumsum(np.where(self._made, steps, 0.0), axis=-1)[..., self._made]
        returned = each.returned - np.where(self._made, 0.0, steps).sum(axis=-1)
        return replace(each, durations=durations, begins=begins, returned=returned)


def _check_runs(operations: Operations, first: Integers, last: Integers) -> None:
    """Of runs in order."""
    wrong = (first < 0) | (first > last) | (last >= operations.count)
    for one, other in zip(first[wrong], last[wrong], strict=True):
        raise ValueError(f"there are no operations {one} to {other} of {operations.count}")
    changes = np.concatenate([[0], np.cumsum(np.diff(operations.stream) != 0)])
    several = changes[first] != changes[last]
    for one, other in zip(first[several], last[several], strict=True):
        raise ValueError(f"operations {one} to {other} are not of one stream")
    twice = last[:-1] >= first[1:]
    for one in first[1:][twice]:
        raise ValueError(f"operation {one} is in two runs")
