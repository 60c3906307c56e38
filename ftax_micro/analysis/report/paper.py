"""The paper's findings beside what the files say of them."""

from __future__ import annotations

from ftax_micro.analysis.paper.checks import Check, check_paper
from ftax_micro.analysis.paper.evidence import Statement
from ftax_micro.analysis.report.material import Materials
from ftax_micro.analysis.report.page import Section
from ftax_micro.analysis.sheet import Column, Row, Sheet
from ftax_micro.stats import Estimate
from ftax_micro.units import format_seconds

NO_GPU = (
    "The paper's findings are about GPUs, and no file has models measured on one: "
    "python -m ftax_micro.model_latency --device cuda measures them."
)
_WORDS = {"not_measured": "not measured"}
_FINDINGS = (
    Column("finding", "finding"),
    Column("claim", "the paper says", folds=True),
    Column("verdict", "here"),
    Column("gpu", "GPU"),
    Column("reason", "because", folds=True),
    Column("source", "where", folds=True),
)
_INSTANCES = (
    Column("finding", "finding"),
    Column("gpu", "GPU"),
    Column("instance", "instance", folds=True),
    Column("paper", "paper"),
    Column("measured", "measured"),
    Column("verdict", "verdict"),
)


def beside_paper(found: Materials) -> Section:
    """A table of findings, and one of the instances that decide them."""
    checks = check_paper([each.result for each in found.results])
    heading = "Beside the paper"
    if all(each.verdict == "not_measured" for each in checks):
        return Section("paper", "Paper", heading, missing=NO_GPU)
    findings = tuple(map(_row, checks))
    instances = tuple(_instance(check, each) for check in checks for each in check.statements)
    sheets = [
        Sheet("paper", "The paper's findings", _FINDINGS, findings),
        Sheet("instances", "What decides them", _INSTANCES, instances),
    ]
    return Section("paper", "Paper", heading, (_tally(checks),), sheets=sheets)


def _tally(checks: list[Check]) -> str:
    counts: dict[str, int] = {}
    for each in checks:
        counts[each.verdict] = counts.get(each.verdict, 0) + 1
    words = (f"{number} {_WORDS.get(verdict, verdict)}" for verdict, number in counts.items())
    return f"Of {len(checks)} findings: {', '.join(words)}."


def _row(check: Check) -> Row:
    finding = check.finding
    decided = [each for each in check.statements if each.verdict == check.verdict]
    because = check.reason or "; ".join(map(_sentence, decided[:2]))
    verdict = _WORDS.get(check.verdict, check.verdict)
    return Row((finding.name, finding.claim, verdict, check.gpu, because, finding.source))


def _sentence(each: Statement) -> str:
    return each.text if each.measured is None else f"{each.text}: {_value(each)}"


def _instance(check: Check, each: Statement) -> Row:
    paper = None if each.paper is None else _number(each.paper, each.unit)
    verdict = _WORDS.get(each.verdict, each.verdict)
    return Row((check.finding.name, check.gpu, each.text, paper, _value(each), verdict))


def _value(each: Statement) -> str | None:
    found: Estimate | None = each.measured
    if found is None:
        return None
    text = _number(found.value, each.unit)
    if found.low is None or found.high is None:
        return text
    return f"{text} ({_number(found.low, each.unit)} … {_number(found.high, each.unit)})"


def _number(value: float, unit: str) -> str:
    if unit == "s":
        return format_seconds(value)
    return f"{value * 100:.1f} %" if unit == "share" else f"{value:.3g}"
