"""What to do about each latency, in sentences, each with the number it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.analysis.advice.advisor import advise_result, advise_steps
from ftax_micro.analysis.advice.contract import Advice, BestMode, FreeSize, NoAdvice
from ftax_micro.analysis.advice.text import STEP, no_advice, sentence, together
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.analysis.trace_rows import rows_of_trace
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import Subject, reason_lines
from ftax_micro.stats import Estimate

COLUMNS = (
    Column("source", "source"),
    Column("case", "case", folds=True),
    Column("mode", "mode"),
    Column("kind", "kind"),
    Column("latency", "latency", Unit.SECONDS),
    Column("saving", "saving", Unit.SECONDS, interval=True),
    Column("share", "share", Unit.SHARE, interval=True),
    Column("ratio", "ratio", Unit.RATIO, interval=True),
    Column("size", "size", Unit.RATIO),
    Column("sentence", "sentence", folds=True),
)


def build(question: Question) -> Sheet:
    """A row for each advice; one sentence for those that are alike."""
    found: list[Advice] = []
    for each in question.models:
        found += advise_result(each.source, each.result, each.bounds)
    for name, trace in question.traces:
        windows, floor = question.windows(trace), question.trace_floor(trace)
        found += advise_steps(rows_of_trace(name, trace, windows, floor).rows)
    return advice_sheet(found)


def advice_sheet(found: Sequence[Advice]) -> Sheet:
    """The sheet of some advice."""
    several = len({each.source for each in found}) > 1
    told = [each for each in found if each.told and not isinstance(each, NoAdvice)]
    lines = {
        id(group[0]): f"{group[0].source}: {sentence(group)}" if several else sentence(group)
        for group in together(told)
    }
    rows = [Row(_cells(each), False, _one(lines.get(id(each)))) for each in found]
    return Sheet("advice", "What to do", COLUMNS, tuple(rows), (*_none(found), *_untold(found)))


VIEW = View("what to do about each latency, and what that would save", build)


def _none(found: Sequence[Advice]) -> list[str]:
    """On what there is no advice."""

    def subject(advice: Advice) -> Subject:
        name = f"{advice.source}: {advice.name}" if several else advice.name
        return Subject(name, advice.mode if advice.mode not in ("", STEP) else None)

    several = len({each.source for each in found}) > 1
    about = [(subject(each), no_advice(each)) for each in found if isinstance(each, NoAdvice)]
    return reason_lines(about, list(dict.fromkeys(map(subject, found))))


def _untold(found: Sequence[Advice]) -> list[str]:
    cases = {(each.source, each.case) for each in found}
    left = len(cases) - len({(each.source, each.case) for each in found if each.told})
    if not left:
        return []
    return [f"{left} more, between the ends of sweeps or steps like these: --format csv has them"]


def _one(line: str | None) -> tuple[str, ...]:
    return () if line is None else (line,)


def _cells(advice: Advice) -> tuple[str | float | Estimate | None, ...]:
    ratio = size = None
    if isinstance(advice, BestMode):
        ratio = advice.ratio
    elif isinstance(advice, FreeSize):
        measured = advice.free or advice.beyond
        ratio = measured.ratio if measured else None
        size = advice.free.value if advice.free else None
    return (
        *(advice.source, advice.case, advice.mode, advice.kind, advice.latency),
        *(advice.saving, advice.share, ratio, size, sentence([advice])),
    )
