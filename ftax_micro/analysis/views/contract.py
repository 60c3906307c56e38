"""What a view of a bound analysis is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ftax_micro.analysis.sheet import Sheet
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.steps import Window, annotated, profiler_steps, whole
from ftax_micro.results import Result


@dataclass(frozen=True)
class Source:
    """One file: a result of ours or a trace, never both."""

    name: str
    result: Result | None = None
    trace: Trace | None = None


@dataclass(frozen=True)
class Question:
    """The files, and how to read them.

    `floor`: rows to use instead of each result's own. `annotation`: traces are cut at the user's
    annotations of that name; `whole`: they are not cut. Neither: at the profiler's steps.
    """

    sources: tuple[Source, ...]
    floor: Result | None = None
    annotation: str | None = None
    whole: bool = False

    @property
    def results(self) -> Sequence[tuple[str, Result]]:
        """The sources that are results, by name."""
        return [(each.name, each.result) for each in self.sources if each.result is not None]

    @property
    def traces(self) -> Sequence[tuple[str, Trace]]:
        """The sources that are traces, by name."""
        return [(each.name, each.trace) for each in self.sources if each.trace is not None]

    def windows(self, trace: Trace) -> list[Window]:
        """The parts of a trace that are analysed one by one; `UsageError`: no such annotation."""
        if self.annotation is not None:
            return annotated(trace, self.annotation)
        return whole(trace) if self.whole else profiler_steps(trace) or whole(trace)


@dataclass(frozen=True)
class View:
    """A kind of answer: what it is in one line, and how it comes about.

    A view looks at every source it knows what to do with, and says in a line of its sheet which
    ones it left aside and why.
    """

    summary: str
    build: Callable[[Question], Sheet]
