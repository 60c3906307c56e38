"""Stretches of host time that a trace is cut into: steps, annotations, or all of it."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ftax_micro.analysis.traces.correlation import Mask
from ftax_micro.analysis.traces.events import SpanKind, Trace
from ftax_micro.analysis.traces.processes import calling_processes
from ftax_micro.errors import UsageError

# Names that an error tells.
_SOME = 4


class Window(NamedTuple):
    """A stretch of host time, in nanoseconds of the trace; `everything`: all operations belong.

    `process`: of a trace of several processes, the one whose operations belong; None: all's.
    """

    label: str
    begin_ns: int
    end_ns: int
    everything: bool = False
    process: str | None = None


def profiler_steps(trace: Trace) -> list[Window]:
    """The windows of `ProfilerStep#n`, in order; empty where the trace has none."""
    return _windows(trace, trace.spans.kind == SpanKind.STEP)


def annotated(trace: Trace, name: str) -> list[Window]:
    """The windows of the user's annotations of that name; `UsageError` where there are none.

    Where none has just that name, it is a pattern, as of files: `iteration *` are all those that
    are numbered one by one, as ranges of NVTX often are.
    """
    user = np.isin(trace.spans.kind, (SpanKind.ANNOTATION, SpanKind.STEP))
    names = {number: trace.names[number] for number in np.unique(trace.spans.name[user]).tolist()}
    numbers = [number for number, text in names.items() if text == name]
    numbers = numbers or [n for n, text in names.items() if fnmatch.fnmatchcase(text, name)]
    found = _windows(trace, user & np.isin(trace.spans.name, numbers))
    if not found:
        raise UsageError(f"{trace.source} has no annotation named {name!r}: {_instead(names)}")
    return found


def _instead(names: Mapping[int, str]) -> str:
    """Which annotations there are, or what to do without any."""
    if not names:
        return "it has none, and --whole takes it whole"
    some = ", ".join(repr(each) for each in list(names.values())[:_SOME])
    more = len(names) - _SOME
    return f"it has {some}" + (f" and {more:,} more" if more > 0 else "")


def whole(trace: Trace) -> list[Window]:
    """One window from the first event to the end of the last."""
    return [Window("whole trace", 0, trace.end_ns, everything=True)]


def _windows(trace: Trace, which: Mask) -> list[Window]:
    spans = trace.spans.take(which)
    columns = (each.tolist() for each in (spans.name, spans.start_ns, spans.end_ns, spans.thread))
    calling = calling_processes(trace)
    several = {name: name for name in calling} if len(calling) > 1 else {}
    return [
        Window(trace.names[name], start, end, False, several.get(trace.threads[thread].process))
        for name, start, end, thread in zip(*columns, strict=True)
    ]
