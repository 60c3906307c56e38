"""Which cases and steps of some files have a timeline, and why the others have none."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from ftax_micro.analysis.bounding.cases import result_bounds
from ftax_micro.analysis.floor.values import floor_values
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.tracks import cases, steps
from ftax_micro.analysis.tracks.contract import Planned
from ftax_micro.analysis.views.contract import Models, Question
from ftax_micro.errors import UsageError
from ftax_micro.records import Case

_INLINE = "the cpu runs operations inline"
_NO_PASS = "the device was not traced"


@dataclass(frozen=True)
class Chosen:
    """Timelines to be built, and sentences on what of the files has none."""

    timelines: Sequence[Planned]
    left_out: Sequence[str]


def choose(question: Question, only: str | None = None) -> Chosen:
    """A timeline for each case with a device pass and each step of a trace, in the order of the
    files; `only` those whose name has such a part, a pattern as of files.

    Errors: `UsageError` where `only` is in the name of none of them.
    """
    wanted = _Wanted(only)
    several = len(question.sources) > 1
    models = {each.source: each for each in question.models}
    made: list[Planned] = []
    left: list[str] = []
    for name, result, trace in ((each.name, each.result, each.trace) for each in question.sources):
        if trace is not None:
            planned, told = _of_trace(question, trace, wanted)
        elif result is not None and name in models:
            planned, told = _of_models(models[name], wanted)
        else:
            planned, told = [], ["it has no cases"]
        behind = f" ({name})" if several else ""
        made += [Planned(each.name + behind, each.make) for each in planned]
        left += [f"{name}: {words}" for words in told]
    wanted.check()
    return Chosen(made, left)


class _Wanted:
    """Whether something of a name is asked for."""

    def __init__(self, only: str | None) -> None:
        self._only = only
        self._example: str | None = None
        self._found = only is None

    def __call__(self, name: str) -> bool:
        self._example = self._example or name
        found = self._only is None or fnmatch.fnmatchcase(name, f"*{self._only}*")
        self._found |= found
        return found

    def check(self) -> None:
        """Errors: `UsageError` where nothing was."""
        if not self._found:
            like = "" if self._example is None else f"; the first is {self._example!r}"
            raise UsageError(f"no case or step has {self._only!r} in its name{like}")


def _of_trace(
    question: Question, trace: Trace, wanted: Callable[[str], bool]
) -> tuple[list[Planned], list[str]]:
    if not trace.has_device_activity:
        return [], ["the trace has no device activity"]
    names = steps.step_names(trace, question.windows(trace))
    names = {key: name for key, name in names.items() if wanted(name)}
    found = steps.planned(trace, names, question.trace_floor(trace))
    idle = len(names) - len(found)
    told = "step launched" if idle == 1 else "steps launched"
    return found, [f"{idle} {told} nothing that the device did"] if idle else []


def _of_models(found: Models, wanted: Callable[[str], bool]) -> tuple[list[Planned], list[str]]:
    chosen = [
        each for each in found.result.cases if not each.twin and wanted(cases.case_name(each))
    ]
    usable = [each for each in chosen if each.device_pass and each.device_pass.operations]
    part = msgspec.structs.replace(found.result, cases=usable)
    floors = {each: floor_values(found.floor, each) for each in {case.device for case in usable}}
    made = [
        cases.planned(cases.case_name(each.case), each, floors[each.case.device])
        for each in result_bounds(part, found.floor)
    ]
    without = Counter(
        _why_none(each) for each in chosen if not (each.device_pass and each.device_pass.operations)
    )
    told = [
        f"{number} {'case has' if number == 1 else 'cases have'} no device pass: {why}"
        for why, number in without.items()
    ]
    return made, told


def _why_none(case: Case) -> str:
    if case.status != "ok":
        return f"{case.status}, {case.reason}"
    if case.device_pass is not None:
        return "it has no operations"
    if case.device == "cpu":
        return _INLINE
    return case.reasons.get("device_pass", _NO_PASS)
