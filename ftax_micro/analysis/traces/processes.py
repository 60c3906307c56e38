"""Which process launched what: exports of Nsight Systems may hold several, each with own steps."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ftax_micro.analysis.traces.correlation import Correlation, Mask
from ftax_micro.analysis.traces.events import NONE, Indices, Ints, Trace


def calling_processes(trace: Trace) -> set[str]:
    """The processes that called the runtime or the driver."""
    calls = np.bincount(trace.calls.thread, minlength=len(trace.threads))
    return {thread.process for thread, count in zip(trace.threads, calls, strict=True) if count}


class Processes:
    """The process of each call, and by it of each operation; None asks of all of them at once."""

    def __init__(self, trace: Trace, correlation: Correlation) -> None:
        self._trace, self._correlation = trace, correlation
        names = dict.fromkeys(thread.process for thread in trace.threads)
        self._number = {name: number for number, name in enumerate(names)}

    @cached_property
    def _of_call(self) -> Indices:
        numbers = [self._number[thread.process] for thread in self._trace.threads]
        return np.array(numbers, dtype=np.int32)[self._trace.calls.thread]

    @cached_property
    def _of_operation(self) -> Indices:
        call = self._correlation.call
        return np.where(call == NONE, np.int32(NONE), self._of_call[call])

    @cached_property
    def _used(self) -> set[tuple[int, int]]:
        """Each process and device of an operation."""
        pairs = np.stack([self._of_operation, self._trace.operations.device], axis=1)
        return {(process, device) for process, device in np.unique(pairs, axis=0).tolist()}

    def calls(self, process: str | None) -> Mask:
        """Whether each call is the process's."""
        if process is None:
            return np.ones(len(self._trace.calls), dtype=bool)
        return np.asarray(self._of_call == self._number[process])

    def own(self, process: str | None, index: Ints) -> Ints:
        """Of some operations those that may be the process's: not known to be another one's."""
        if process is None:
            return index
        found = self._of_operation[index]
        return np.asarray(index[(found == self._number[process]) | (found == NONE)])

    def use(self, process: str | None, device: int | None) -> bool:
        """Whether the process launched anything on the device."""
        return process is None or device is None or (self._number[process], device) in self._used
