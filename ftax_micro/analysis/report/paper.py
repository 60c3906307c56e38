"""The paper's findings beside what the files say of them."""

from __future__ import annotations

from dataclasses import replace

from ftax_micro.analysis.paper.sheet import paper_checks, paper_sheet
from ftax_micro.analysis.report.material import Materials
from ftax_micro.analysis.report.page import Section

NO_GPU = (
    "The paper's findings are about GPUs, and no file has models measured on one: "
    "python -m ftax_micro.model_latency --device cuda measures them."
)
# A page has room for what a terminal leaves to CSV.
_ALSO_SHOWN = {"paper_source": "where", "reason": "because"}


def beside_paper(found: Materials) -> Section:
    """A table of findings, below each the instances that decide it."""
    known = [each for material in found.results for each in material.crossovers]
    checks = paper_checks([each.result for each in found.results if each.result.cases], known)
    heading = "Beside the paper"
    if all(each.verdict == "not_measured" for each in checks):
        return Section("paper", "Paper", heading, missing=NO_GPU)
    sheet = paper_sheet(checks)
    columns = tuple(
        replace(each, heading=_ALSO_SHOWN[each.name], folds=True)
        if each.name in _ALSO_SHOWN
        else each
        for each in sheet.columns
    )
    whole = replace(sheet, title="The paper's findings, and what decides them", columns=columns)
    return Section("paper", "Paper", heading, sheet.lines, sheets=[whole])
