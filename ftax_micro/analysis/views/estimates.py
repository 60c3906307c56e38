"""Framework time by every way there is to it, and whether these agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.estimates import Agreement, FrameworkTime, FrameworkTimes, framework_times
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, named_source
from ftax_micro.analysis.views.contract import Models, Question, View
from ftax_micro.analysis.views.reasons import Subject, reason_lines, traces_aside
from ftax_micro.stats import Estimate
from ftax_micro.units import digits_for, format_seconds

COLUMNS = (
    Column("source", None, folds=True, spare=0, once=True),
    Column("case", "case", folds=True, once=True),
    Column("mode", "mode", once=True),
    Column("family", "family", spare=1),
    Column("estimate", "estimate", folds=True),
    Column("seconds", "time", Unit.SECONDS, interval=True),
    Column("basis", "rests on", folds=True),
    Column("reason", None),
)
# The model's own test: neither host time nor exposed time.
_MODEL, _LATENCY = "pipeline_model", "latency"
_BASIS = "the pipeline model, from the host's times, the kernels' durations and the floor"
# Source, case, mode.
_Head = tuple[str, str, str]
_WORDS = {
    "host_s": "host time",
    "sweep": "the sweep",
    "twin": "the twin",
    "ladder": "the ladder",
    "latency_less_busy": "latency less busy",
    "tax": "the tax",
}
_VERDICTS = {"agree": "agree", "differ": "differ", "ambiguous": "cannot be told"}
FAMILIES = (
    "host time is what the forward keeps the host for, exposed time what no device work covers: "
    "estimates are compared within their family alone"
)


def build(question: Question) -> Sheet:
    """A row for every case and estimate, and one for what the pipeline model predicts."""
    rows: list[Row] = []
    found: list[tuple[FrameworkTimes, CaseBounds]] = []
    subjects: list[Subject] = []
    reasons: list[tuple[Subject, str]] = []
    for models in question.models:
        by_case = {id(each.case): each for each in models.bounds}
        for times in _times(models):
            case = case_label(times.case)
            subject = Subject(question.prefix(models.source) + case, times.case.mode)
            subjects.append(subject)
            found.append((times, by_case[id(times.case)]))
            rows += _rows((models.source, case, times.case.mode), subject, *found[-1])
            reasons += [(subject, reason) for reason in _reasons(times)]
    columns = (named_source(COLUMNS[0], [each.source for each in question.models]), *COLUMNS[1:])
    told = reason_lines(reasons, subjects)
    shown = [FAMILIES, *_tally(found)] if any(row.shown for row in rows) else []
    lines = (*shown, *told, *traces_aside(question))
    return Sheet("estimates", None, columns, tuple(rows), lines)


VIEW = View("framework time measured in independent ways, and whether they agree", build)


def _times(models: Models) -> list[FrameworkTimes]:
    """The estimates of a result, its taxes among them."""
    taxes = {id(each.case): each.bounds.tax for each in models.bounds if each.bounds}
    cases = models.result.cases
    known = {index: tax for index, case in enumerate(cases) if (tax := taxes.get(id(case)))}
    return framework_times(cases, models.ladder, known, models.result.plan.confidence)


def _tally(found: Sequence[tuple[FrameworkTimes, CaseBounds]]) -> list[str]:
    """How many estimates agree in all, and how well the model predicts."""
    pairs = [each for times, _ in found for each in times.agreements]
    verdicts: Counter[str] = Counter(each.verdict for each in pairs)
    lines = []
    if pairs:
        told = [f"{verdicts[each]} {word}" for each, word in _VERDICTS.items() if verdicts[each]]
        lines.append(f"of {len(pairs)} pairs of estimates {', '.join(told)}")
    errors = [abs(each.prediction_error) for _, each in found if each.prediction_error is not None]
    if errors:
        lines.append(
            f"the pipeline model predicts {len(errors)} latencies, half of them within "
            f"{median(errors):.1%} and all within {max(errors):.1%}"
        )
    return lines


def _reasons(times: FrameworkTimes) -> list[str]:
    """Why estimates are missing, those of one reason together."""
    missing: dict[str, list[str]] = {}
    for each in times.estimates:
        if each.seconds is None:
            missing.setdefault(each.reason or "not known", []).append(_WORDS[each.name])
    return [f"nothing from {', '.join(names)}, {reason}" for reason, names in missing.items()]


def _rows(
    head: _Head, subject: Subject, times: FrameworkTimes, bounds: CaseBounds
) -> Sequence[Row]:
    name = f"{subject.case} {subject.mode}"
    said = {each.name: [] for each in times.estimates}  # type: dict[str, list[str]]
    parts = {each.name for each in times.estimates if each.is_part}
    for each in times.agreements:
        said[each.second].append(f"{name}: {_verdict(each, parts)}")
    rows = [_row(head, each, said[each.name]) for each in times.estimates]
    if bounds.predicted is not None and bounds.prediction_error is not None:
        error = bounds.prediction_error
        line = (
            f"{name}: the pipeline model predicts a latency of "
            f"{format_seconds(bounds.predicted.model.value)}, {abs(error):.1%} "
            f"{'above' if error > 0 else 'below'} the measured one"
        )
        cells = (*head, _LATENCY, _MODEL, bounds.predicted.model, _BASIS, None)
        rows.append(Row(cells, lines=(line,)))
    return rows


def _row(head: _Head, each: FrameworkTime, lines: Sequence[str]) -> Row:
    cells = (*head, each.family, each.name, each.seconds, each.basis, each.reason)
    return Row(cells, each.seconds is not None, tuple(lines))


def _verdict(each: Agreement, parts: set[str]) -> str:
    """Whether two estimates agree, in words."""
    first, second = _WORDS[each.first], _WORDS[each.second]
    if parts & {each.first, each.second}:
        part, whole = (first, second) if each.first in parts else (second, first)
        less = _negative(each.difference) if each.first in parts else each.difference
        told = {
            "agree": f"{part} is within {whole}",
            "differ": f"{part} exceeds {whole}, of which it is a part",
            "ambiguous": f"whether {part} is within {whole} cannot be told",
        }
        return f"{told[each.verdict]}: {_interval(less)} are left"
    told = {
        "agree": f"{first} and {second} agree",
        "differ": f"{first} and {second} differ",
        "ambiguous": f"whether {first} and {second} agree cannot be told",
    }
    return f"{told[each.verdict]}: {_interval(each.difference)} apart"


def _negative(value: Estimate) -> Estimate:
    low, high = value.high, value.low
    return Estimate(-value.value, None if low is None else -low, None if high is None else -high)


def _interval(value: Estimate) -> str:
    if value.low is None or value.high is None:
        return format_seconds(value.value)
    digits = digits_for(value.value, (value.high - value.low) / 2)
    return f"{digits.text(value.value)} ({digits.interval(value.low, value.high)})"
