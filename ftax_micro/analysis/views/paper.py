"""The paper's findings and tables beside what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ftax_micro.analysis.paper.checks import Check, check_paper
from ftax_micro.analysis.paper.evidence import Statement
from ftax_micro.analysis.paper.figures import PAPER
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import traces_aside

COLUMNS = (
    Column("finding", "finding", once=True),
    Column("gpu", "GPU", folds=True, spare=1, once=True),
    Column("kind", None),
    Column("text", "what the paper says, and what bears on it here", folds=True),
    Column("verdict", "verdict"),
    Column("measured", "here", Unit.RATIO, interval=True),
    Column("paper", "paper", Unit.RATIO),
    Column("unit", None),
    Column("paper_source", None),
    Column("reason", None),
)
_UNITS = {"share": Unit.SHARE, "s": Unit.SECONDS}
_MEASURED, _FIGURE = 5, 6
# Instances of one finding that a table shows; those that speak against it come first.
_MOST_INSTANCES = 4
_TALLY = ("confirmed", "contradicted", "ambiguous", "not_measured")
_ORDER = ("contradicted", "ambiguous", "confirmed", "not_measured")
NO_EVIDENCE = (
    "results of a cpu are no evidence: there operations run inline and times add, so that no "
    "launch hides behind a kernel, and the findings are about what does"
)


def build(question: Question) -> Sheet:
    """A row for every finding on every GPU that has instances of it, and for each of these."""
    results = [models.result for models in question.models]
    confidence = max((each.plan.confidence for each in results), default=0.95)
    checks = check_paper(results, confidence)
    rows = tuple(row for check in checks for row in _rows(check))
    lines = [_tally(checks)]
    on_cpu = [
        models.source
        for models in question.models
        if all(case.device == "cpu" for case in models.result.cases)
    ]
    if on_cpu:
        lines.append(f"{', '.join(on_cpu)}: {NO_EVIDENCE}")
    return Sheet("paper", None, COLUMNS, rows, (*lines, *traces_aside(question)))


VIEW = View(f"the findings of the paper ({PAPER}) beside what was measured", build)


def _rows(check: Check) -> list[Row]:
    finding = check.finding
    more = max(0, len(check.statements) - _MOST_INSTANCES)
    where = f" on {check.gpu}" if check.gpu else ""
    line = f"finding {finding.name}{where}, further instances: {more} (--format csv has them)"
    head = (finding.name, check.gpu, "finding", finding.claim, _words(check.verdict))
    rows = [
        Row((*head, None, None, None, finding.source, check.reason), lines=(line,) if more else ())
    ]
    if check.needs is not None:
        text = f"needs {check.needs}"
        rows.append(Row((finding.name, None, "needs", text, *[None] * 5, check.reason)))
    ordered = sorted(check.statements, key=lambda each: _ORDER.index(each.verdict))
    for place, each in enumerate(ordered):
        rows.append(_instance(check, each, shown=place < _MOST_INSTANCES))
    return rows


def _instance(check: Check, each: Statement, *, shown: bool) -> Row:
    finding = check.finding
    head = (finding.name, check.gpu, "instance", each.text, _words(each.verdict))
    unit = _UNITS.get(each.unit)
    units = () if unit is None else ((_MEASURED, unit), (_FIGURE, unit))
    cells = (*head, each.measured, each.paper, each.unit, finding.source, None)
    return Row(cells, shown, units=units)


def _tally(checks: Sequence[Check]) -> str:
    counts: Counter[str] = Counter(check.verdict for check in checks)
    parts = [f"{counts[each]} {_words(each)}" for each in _TALLY if counts[each]]
    return f"{', '.join(parts)}, of the paper's twelve findings and Tables 1 and 3"


def _words(verdict: str) -> str:
    return verdict.replace("_", " ")
