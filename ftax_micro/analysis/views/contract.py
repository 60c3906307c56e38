"""What a view of a bound analysis is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ftax_micro.analysis.bounding.cases import CaseBounds, result_bounds
from ftax_micro.analysis.ladder_view import LadderRow, ladder_rows
from ftax_micro.analysis.machine import machine_name, same_machine
from ftax_micro.analysis.sheet import Sheet
from ftax_micro.analysis.traces.correlation import Correlation
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.machine_floor import recorded_on, serves
from ftax_micro.analysis.traces.steps import (
    Step,
    Window,
    analyse_steps,
    annotated,
    profiler_steps,
    whole,
)
from ftax_micro.records import Measurement
from ftax_micro.results import Result

_UNUSED_FLOOR = "bounds do without it unless it is given by --floor"
_COMPARED = "; what_if compares with it"


@dataclass(frozen=True)
class Source:
    """One file: a result of ours or a trace, never both."""

    name: str
    result: Result | None = None
    trace: Trace | None = None


@dataclass(frozen=True)
class Models:
    """A result with cases, and what belongs to its machine: launch floor and ladder."""

    source: str
    result: Result
    floor: Result
    ladder: Sequence[LadderRow]

    @cached_property
    def bounds(self) -> Sequence[CaseBounds]:
        """Of each case that is no twin."""
        return result_bounds(self.result, self.floor)


@dataclass(frozen=True)
class Question:
    """The files, and how to read them.

    Results need not have cases: the launch floor and the ladder of one serve all results of its
    machine that have none of their own, and its launch floor all traces of its GPU.

    `floor`: rows to use instead of any of these. `annotation`: traces are cut at the user's
    annotations of that name; `whole`: they are not cut. Neither: at the profiler's steps.
    `other_floor`: a machine to compare with.
    """

    sources: tuple[Source, ...]
    floor: Result | None = None
    annotation: str | None = None
    whole: bool = False
    other_floor: Result | None = None

    @property
    def results(self) -> Sequence[tuple[str, Result]]:
        """The sources that are results, by name."""
        return [(each.name, each.result) for each in self.sources if each.result is not None]

    @property
    def traces(self) -> Sequence[tuple[str, Trace]]:
        """The sources that are traces, by name."""
        return [(each.name, each.trace) for each in self.sources if each.trace is not None]

    @cached_property
    def models(self) -> Sequence[Models]:
        """The results that have cases."""
        found = []
        for name, result in self.results:
            if result.cases:
                floor, ladder = self.floor_of(result), self._ladder_of(result)
                found.append(Models(name, result, floor, ladder))
        return found

    def prefix(self, source: str) -> str:
        """What stands before a case in a sentence: its file, where several have cases or steps."""
        told = [name for name, result in self.results if result.cases]
        return f"{source}: " if len(told) + len(self.traces) > 1 else ""

    def floor_of(self, result: Result) -> Result:
        """Whose floor rows count for `result`: those given, else its own, else those of another
        result of its machine. Where there are none, its own, which has none.
        """
        if self.floor is not None:
            return self.floor
        return self._of_machine(result, lambda each: each.measurements) or result

    def trace_floor(self, trace: Trace) -> Result | None:
        """Whose floor rows count for `trace`: those given, else those of a result of its GPU. None:
        its own shortest launches do.
        """
        if self.floor is not None:
            return self.floor
        return next((each for _, each in self.results if serves(trace, each)), None)

    def other_floors(self, result: Result) -> Sequence[tuple[str, Result]]:
        """Floors of other machines than that of `result`, by the names of these."""
        if self.other_floor is not None:
            return [(machine_name(self.other_floor), self.other_floor)]
        return [
            (machine_name(each), each)
            for _, each in self.results
            if each.measurements and not same_machine(each, result)
        ]

    @property
    def unused(self) -> Sequence[str]:
        """Sentences on results that no result with cases and no trace can use, and why."""
        models = [result for _, result in self.results if result.cases]
        traced = [self.trace_floor(trace) for _, trace in self.traces]
        others = [
            (name, result)
            for name, result in self.results
            if not result.cases
            and not any(same_machine(result, each) for each in models)
            and not any(result is each for each in traced)
        ]
        found = []
        for name, result in others:
            why = "left aside"
            if result.measurements:
                why = _UNUSED_FLOOR + (_COMPARED if models else "")
            found.append(f"{name} is of {machine_name(result)}, {self._elsewhere()}: {why}")
        return found

    def _elsewhere(self) -> str:
        """That models and traces are of other machines."""
        models = any(result.cases for _, result in self.results)
        words = ["where none of the models given were measured"] if models else []
        names = dict.fromkeys(recorded_on(trace) for _, trace in self.traces)
        if names:
            words.append(f"the traces of {', '.join(names)}")
        return " and ".join(words)

    def windows(self, trace: Trace) -> list[Window]:
        """The parts of a trace that are analysed one by one; `UsageError`: no such annotation."""
        if self.annotation is not None:
            return annotated(trace, self.annotation)
        return whole(trace) if self.whole else profiler_steps(trace) or whole(trace)

    def steps_by_device(
        self, trace: Trace, correlation: Correlation
    ) -> list[tuple[int | None, str, list[Step]]]:
        """Each device of a trace with its steps and what they are called together."""
        by_device: dict[int | None, list[Step]] = {}
        for step in analyse_steps(trace, self.windows(trace), correlation):
            by_device.setdefault(step.device, []).append(step)
        found = []
        for device, steps in by_device.items():
            label = steps[0].window.label if len(steps) == 1 else f"{len(steps):,} steps"
            where = label if device is None else f"{label} cuda:{device}"
            found.append((device, where, steps))
        return found

    def _ladder_of(self, result: Result) -> list[LadderRow]:
        found = self._of_machine(result, lambda each: each.rungs)
        if found is None:
            return []
        if id(found) not in self._ladders:
            self._ladders[id(found)] = ladder_rows(found.rungs, found.plan.confidence)
        return self._ladders[id(found)]

    @cached_property
    def _ladders(self) -> dict[int, list[LadderRow]]:
        """By the identity of their result."""
        return {}

    def _of_machine(
        self, result: Result, rows: Callable[[Result], Sequence[Measurement]]
    ) -> Result | None:
        """`result` itself, or the first of its machine, with rows on a device of its cases."""
        devices = {case.device for case in result.cases}
        machine = [each for _, each in self.results if same_machine(each, result)]
        for each in (result, *machine):
            if any(row.device in devices for row in rows(each)):
                return each
        return None


@dataclass(frozen=True)
class View:
    """A kind of answer: what it is in one line, and how it comes about.

    A view looks at every source it knows what to do with, and says in a line of its sheet which
    ones it left aside and why.
    """

    summary: str
    build: Callable[[Question], Sheet]
