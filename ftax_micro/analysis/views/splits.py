"""Which layer the host time goes to: by differences of modes, and by rungs of the ladder."""

from __future__ import annotations

from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, named_source
from ftax_micro.analysis.splits import Split, splits
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import Subject, reason_lines, traces_aside

COLUMNS = (
    Column("source", None, folds=True, spare=0, once=True),
    Column("case", "case", folds=True, once=True),
    Column("mode", "mode", once=True),
    Column("layer", "layer", folds=True),
    Column("way", "by"),
    Column("seconds", "time", Unit.SECONDS, interval=True),
    Column("share", "share", Unit.SHARE, interval=True, spare=1),
    Column("basis", "rests on", folds=True),
    Column("reason", None),
)
_WHOLE = "host time"
WAYS = (
    "by modes: two modes that differ in a layer, subtracted; by rungs: what an operation costs in "
    "each layer of the dispatch ladder, times the operations. A negative part says that its "
    "assumption does not hold here"
)


def build(question: Question) -> Sheet:
    """For every timed case its host time, and a row for each layer and way."""
    found = [
        (models.source, split)
        for models in question.models
        for split in splits(models.result.cases, models.ladder, models.result.plan.confidence)
    ]
    rows = tuple(row for source, split in found for row in _rows(source, split))
    subjects = [
        Subject(question.prefix(source) + case_label(split.case), split.case.mode)
        for source, split in found
    ]
    reasons = [
        (subject, reason)
        for subject, (_, split) in zip(subjects, found, strict=True)
        for reason in _reasons(split)
    ]
    columns = (named_source(COLUMNS[0], [source for source, _ in found]), *COLUMNS[1:])
    lines = [WAYS] if any(row.shown for row in rows) else []
    lines += reason_lines(reasons, subjects)
    return Sheet("splits", None, columns, rows, (*lines, *traces_aside(question)))


VIEW = View("host time by layer: Python, dispatcher, launch path", build)


def _rows(source: str, split: Split) -> list[Row]:
    whole = split.whole
    head = (source, case_label(split.case), split.case.mode)
    if split.reason is not None:
        return [Row((*head, _WHOLE, None, whole.seconds, None, whole.basis, split.reason), False)]
    rows = [Row((*head, _WHOLE, None, whole.seconds, None, whole.basis, None))]
    for part in split.parts:
        cells = (part.way, part.seconds, part.share, part.basis or None, part.reason)
        rows.append(Row((*head, _words(part.layer), *cells), part.seconds is not None))
    return rows


def _reasons(split: Split) -> list[str]:
    if split.reason is not None:
        return [f"no layers, {split.reason}"]
    return [
        f"no {_words(part.layer)} by {part.way}, {part.reason}"
        for part in split.parts
        if part.reason
    ]


def _words(layer: str) -> str:
    return layer.replace("_", " ")
