"""Indices of other tools, as they define them and under their names."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.analysis.index_rows import (
    IndexRow,
    indices_of_cases,
    indices_of_trace,
    null_launch,
)
from ftax_micro.analysis.indices import hdbi_word
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, named_source
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import Subject, reason_lines

COLUMNS = (
    Column("source", None, folds=True, spare=0),
    Column("case", "case", folds=True),
    Column("mode", "mode"),
    Column("tklqt", "TKLQT", Unit.SECONDS, interval=True),
    Column("average_kernel", "AKD", Unit.SECONDS, spare=3),
    Column("gpu_idle", "GPU idle", Unit.SECONDS, spare=4),
    Column("hdbi", "HDBI", Unit.RATIO, interval=True),
    Column("hdbi_word", "by HDBI", spare=1),
    Column("host_wait", "host wait", Unit.SECONDS, spare=7),
    Column("kernel_wait", "kernel wait", Unit.SECONDS, spare=6),
    Column("other_wait", "other wait", Unit.SECONDS, spare=5),
    Column("negative_launches", None, Unit.COUNT),
    Column("without_launch", None, Unit.COUNT),
    Column("reason", None),
)

SOURCES = (
    "TKLQT, AKD and GPU idle time: theirs who made SKIP (arXiv 2504.11750), computed as there",
    "HDBI: TaxBreak's (arXiv 2603.12465), with translation times from the forward itself instead "
    "of from replays",
    "host, kernel and other wait: Holistic Trace Analysis's idle time breakdown, kernel wait under "
    "30 ns, all streams together",
)


def build(question: Question) -> Sheet:
    """A row for every timed case that was traced, and every step of the traces."""
    found = [
        (models.source, row)
        for models in question.models
        for row in indices_of_cases(
            models.result.cases, models.floor, models.result.plan.confidence
        )
    ]
    found += [(name, row) for name, trace in question.traces for row in _of_trace(question, trace)]
    subjects = [Subject(question.prefix(source) + row.case, row.mode) for source, row in found]
    pairs = list(zip(subjects, found, strict=True))
    reasons = [(subject, reason) for subject, (_, row) in pairs for reason in _reasons(row)]
    rows = tuple(_row(source, subject, row) for subject, (source, row) in pairs)
    lines = SOURCES if any(row.shown for row in rows) else ()
    columns = (named_source(COLUMNS[0], [source for source, _ in found]), *COLUMNS[1:])
    lines = (*lines, *reason_lines(reasons, subjects, "rows"))
    return Sheet("indices", None, columns, rows, lines)


VIEW = View("TKLQT, HDBI and idle breakdown, as other tools define them", build)


def _of_trace(question: Question, trace: Trace) -> list[IndexRow]:
    """By the null kernel's launch of the floor that counts for it, if one does."""
    floor = question.trace_floor(trace)
    gpus = [] if floor is None else [each for each in floor.devices if each.kind == "cuda"]
    null = null_launch(floor, gpus[0].name) if floor is not None and gpus else None
    return indices_of_trace(trace, question.windows(trace), null)


def _row(source: str, subject: Subject, row: IndexRow) -> Row:
    found = row.indices
    if found is None:
        return Row((source, row.case, row.mode, *[None] * 10, row.reason), False)
    cells = (
        *(source, row.case, row.mode, found.tklqt, found.average_kernel, found.gpu_idle),
        *(found.hdbi, None if found.hdbi is None else hdbi_word(found.hdbi.value)),
        *(found.host_wait, found.kernel_wait, found.other_wait),
        *(found.negative_launches, found.without_launch, "; ".join(_reasons(row)) or None),
    )
    return Row(cells, lines=tuple(_sentences(subject, row)))


def _sentences(subject: Subject, row: IndexRow) -> Sequence[str]:
    """What TKLQT leaves out or takes in that it should not."""
    found, name = row.indices, " ".join(part for part in subject if part)
    lines = []
    if found is not None and found.negative_launches:
        lines.append(
            f"{name}: kernels that began before their call, so that clocks disagree, are in TKLQT "
            f"as they are: {found.negative_launches}"
        )
    if found is not None and found.without_launch:
        lines.append(
            f"{name}: kernels without a launch record are not in TKLQT: {found.without_launch}"
        )
    return lines


def _reasons(row: IndexRow) -> list[str]:
    if row.indices is None:
        return [f"no indices, {row.reason}"]
    return [f"no {name.upper()}, {why}" for name, why in row.indices.reasons]
