"""What each case would take with other kernels, launches, batches and machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.bounding.what_if_cases import CaseChanges, WhatIf, what_ifs
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, named_source
from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.machine_floor import charged_floors
from ftax_micro.analysis.traces.step_changes import StepChanges, step_changes
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import Subject, reason_lines
from ftax_micro.units import format_seconds

COLUMNS = (
    Column("source", None, folds=True, spare=0, once=True),
    Column("case", "case", folds=True, once=True),
    Column("mode", "mode", once=True),
    Column("change", None),
    Column("if", "if", folds=True),
    Column("latency", "latency", Unit.SECONDS, interval=True),
    Column("saved", "saved", Unit.SECONDS, interval=True, spare=1),
    Column("saved_share", "saved share", Unit.SHARE, interval=True, spare=2),
    Column("reason", None),
)
_AS_IT_IS = ("none", "nothing changes")
MEANING = (
    "what the pipeline model makes of a change is taken off the measured latency; the host's own "
    "time and what the model does not know of stay as they are, and a larger batch has work in "
    "proportion"
)
_TRACE = "trace"
OF_STEPS = (
    "of a trace: medians over its steps, under the tracer; calls after a wait for the device begin "
    "when they began, so that faster kernels may save more"
)


class _Found(NamedTuple):
    source: str
    case: str
    mode: str
    changes: CaseChanges | StepChanges


def build(question: Question) -> Sheet:
    """For every timed case and the steps of each trace the latency as it is, and a row for each
    change.
    """
    found = [*_of_results(question), *_of_traces(question)]
    subjects = [
        Subject(question.prefix(each.source) + each.case, _told(each.mode)) for each in found
    ]
    pairs = list(zip(subjects, found, strict=True))
    rows = tuple(row for subject, each in pairs for row in _rows(subject, each))
    reasons = [(s, reason) for s, each in pairs for reason in _reasons(each.changes)]
    columns = (named_source(COLUMNS[0], [each.source for each in found]), *COLUMNS[1:])
    lines = [MEANING] if any(row.shown for row in rows) else []
    if any(row.shown and row.cells[2] == _TRACE for row in rows):
        lines.append(OF_STEPS)
    lines += reason_lines(reasons, subjects)
    return Sheet("what_if", None, columns, rows, tuple(lines))


VIEW = View("latency with faster kernels, one graph, another batch or machine", build)


def _told(mode: str) -> str | None:
    return None if mode == _TRACE else mode


def _of_results(question: Question) -> Iterator[_Found]:
    for models in question.models:
        others = question.other_floors(models.result)
        for each in what_ifs(models.result, models.floor, models.bounds, others):
            yield _Found(models.source, case_label(each.case), each.case.mode, each)


def _of_traces(question: Question) -> Iterator[_Found]:
    for name, trace in question.traces:
        correlation = correlate(trace)
        floors = charged_floors(trace, correlation, question.trace_floor(trace))
        for device, where, steps in question.steps_by_device(trace, correlation):
            floor, why = floors.get(device, (None, None))
            yield _Found(name, where, _TRACE, step_changes(trace, correlation, steps, floor, why))


def _rows(subject: Subject, found: _Found) -> list[Row]:
    head, changes = found[:3], found.changes
    shown = changes.latency is not None
    rows = [Row((*head, *_AS_IT_IS, changes.latency, None, None, changes.reason), shown)]
    return rows + [_row(head, subject, each) for each in changes.changes]


def _row(head: tuple[str, str, str], subject: Subject, each: WhatIf) -> Row:
    found = each.prediction
    if found is None:
        return Row((*head, each.name, each.words, None, None, None, each.reason), False)
    cells = (*head, each.name, each.words, found.latency, found.saved, each.share, None)
    return Row(cells, lines=tuple(_sentences(subject, each)))


def _sentences(subject: Subject, each: WhatIf) -> Sequence[str]:
    """What a larger batch comes to for an example."""
    if each.prediction is None or each.share is None or each.examples == 1:
        return []
    longer, less = -each.share.value, 1 - (1 - each.share.value) / each.examples
    single = format_seconds(each.prediction.latency.value / each.examples)
    return [
        f"{subject.case} {subject.mode}: {each.words} takes {longer:.1%} longer, which is {single} "
        f"an example, {less:.1%} less"
    ]


def _reasons(found: CaseChanges | StepChanges) -> list[str]:
    if found.reason is not None:
        return [f"no prediction, {found.reason}"]
    return [f"no answer for {each.words}, {each.reason}" for each in found.changes if each.reason]
