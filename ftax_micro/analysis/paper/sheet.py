"""The paper's findings beside what was measured, as a table: a row for each finding on every GPU
that has instances of it, and below it one for each of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ftax_micro.analysis.crossover.hinge import SweepCrossover
from ftax_micro.analysis.paper.checks import Check, check_paper
from ftax_micro.analysis.paper.evidence import Statement
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.results import Result

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
_TALLY = ("confirmed", "contradicted", "ambiguous", "not_measured")
# Instances that speak against a finding come first.
_ORDER = ("contradicted", "ambiguous", "confirmed", "not_measured")


def paper_checks(
    results: Sequence[Result], known: Sequence[SweepCrossover] = ()
) -> Sequence[Check]:
    """Of all results together, at the highest confidence any of them was measured for.

    `known`: crossovers of their sweeps, which are not computed again where confidences agree.
    """
    asked = {each.plan.confidence for each in results}
    confidence = max(asked, default=0.95)
    return check_paper(results, confidence, known if asked == {confidence} else ())


def paper_sheet(
    checks: Sequence[Check], *, most: int | None = None, more: Sequence[str] = ()
) -> Sheet:
    """`most`: so many instances of a finding are shown, and the others counted (None: all are).
    `more` are sentences that follow the tally.
    """
    rows = tuple(row for check in checks for row in _rows(check, most))
    return Sheet("paper", None, COLUMNS, rows, (_tally(checks), *more))


def _rows(check: Check, most: int | None) -> list[Row]:
    finding = check.finding
    shown = len(check.statements) if most is None else most
    more = max(0, len(check.statements) - shown)
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
        rows.append(_instance(check, each, shown=place < shown))
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
