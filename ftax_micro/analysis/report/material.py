"""What a report is made of: each file's answers, computed once for all sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftax_micro.analysis.advice.advisor import advise_result
from ftax_micro.analysis.advice.contract import Advice
from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.bounding.rows import BoundRow
from ftax_micro.analysis.crossover.hinge import SweepCrossover, crossovers
from ftax_micro.analysis.floor.view import FloorView, floor_view
from ftax_micro.analysis.ladder_view import LadderView, ladder_view
from ftax_micro.analysis.latency_view import CaseSummary, summarise_cases
from ftax_micro.analysis.trace_rows import rows_of_trace
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.windows import Window
from ftax_micro.analysis.views.contract import Question
from ftax_micro.records import DeviceFacts
from ftax_micro.results import Result


@dataclass(frozen=True)
class Material:
    """One result and what follows from it; lists are empty where it has no such rows."""

    name: str
    result: Result
    floor: FloorView
    ladder: LadderView
    cases: list[CaseSummary]
    bounds: Sequence[CaseBounds]
    advice: Sequence[Advice]
    crossovers: list[SweepCrossover]

    def device(self, name: str) -> DeviceFacts:
        """That of the result; results are checked to have those that their rows name."""
        return next(each for each in self.result.devices if each.name == name)


@dataclass(frozen=True)
class TraceMaterial:
    """One trace, a row for each of its steps, and what holds for all of them."""

    name: str
    trace: Trace
    windows: Sequence[Window]
    rows: Sequence[BoundRow]
    lines: Sequence[str]


@dataclass(frozen=True)
class Materials:
    """All files of a report, in the order they were given."""

    results: tuple[Material, ...]
    traces: tuple[TraceMaterial, ...]

    def title(self, material: Material | TraceMaterial, *words: str) -> str:
        """Words, and the file where there are several."""
        several = len(self.results) + len(self.traces) > 1
        text = ", ".join(word for word in words if word)
        return f"{text} ({material.name})" if several else text


def materials(question: Question) -> Materials:
    """Everything the sections need of `question`."""
    return Materials(
        tuple(_of_result(question, name, each) for name, each in question.results),
        tuple(
            TraceMaterial(
                *(name, trace, windows),
                *rows_of_trace(name, trace, windows, question.trace_floor(trace)),
            )
            for name, trace in question.traces
            for windows in [question.windows(trace)]
        ),
    )


def _of_result(question: Question, name: str, result: Result) -> Material:
    confidence = result.plan.confidence
    models = next((each for each in question.models if each.result is result), None)
    bounds = () if models is None else models.bounds
    cases = summarise_cases(result.cases, confidence, result.measurements)
    swept = crossovers(result.cases, confidence)
    advice = advise_result(name, result, bounds, cases, swept)
    return Material(
        name,
        result,
        floor_view(result),
        ladder_view(result),
        cases,
        bounds,
        advice,
        swept,
    )


def device_title(device: DeviceFacts) -> str:
    """A device's name and model: ``cuda:0: NVIDIA A100``."""
    return device.name + (f": {device.model}" if device.model else "")
