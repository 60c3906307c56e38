"""What each case would take with other kernels, launches, batches and machines."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.analysis.bounds_view import case_label
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, named_source
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import Subject, reason_lines, traces_aside
from ftax_micro.analysis.what_if_cases import CaseChanges, WhatIf, what_ifs
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


def build(question: Question) -> Sheet:
    """For every timed case its latency as it is, and a row for each change."""
    found = [
        (models.source, each)
        for models in question.models
        for each in what_ifs(
            models.result, models.floor, models.bounds, question.other_floors(models.result)
        )
    ]
    subjects = [
        Subject(question.prefix(source) + case_label(each.case), each.case.mode)
        for source, each in found
    ]
    pairs = list(zip(subjects, found, strict=True))
    rows = tuple(row for subject, (source, each) in pairs for row in _rows(source, subject, each))
    reasons = [(subject, reason) for subject, (_, each) in pairs for reason in _reasons(each)]
    columns = (named_source(COLUMNS[0], [source for source, _ in found]), *COLUMNS[1:])
    lines = [MEANING] if any(row.shown for row in rows) else []
    lines += reason_lines(reasons, subjects)
    return Sheet("what_if", None, columns, rows, (*lines, *traces_aside(question)))


VIEW = View("latency with faster kernels, one graph, another batch or machine", build)


def _rows(source: str, subject: Subject, found: CaseChanges) -> list[Row]:
    head = (source, case_label(found.case), found.case.mode)
    shown = found.latency is not None
    rows = [Row((*head, *_AS_IT_IS, found.latency, None, None, found.reason), shown)]
    return rows + [_row(head, subject, each) for each in found.changes]


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


def _reasons(found: CaseChanges) -> list[str]:
    if found.reason is not None:
        return [f"no prediction, {found.reason}"]
    return [f"no answer for {each.words}, {each.reason}" for each in found.changes if each.reason]
