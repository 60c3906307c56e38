"""The paper's findings and tables beside what was measured."""

from __future__ import annotations

from ftax_micro.analysis.paper.figures import PAPER
from ftax_micro.analysis.paper.sheet import paper_checks, paper_sheet
from ftax_micro.analysis.sheet import Sheet
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import traces_aside

# Instances of one finding that a table shows; those that speak against it come first.
_MOST_INSTANCES = 4
NO_EVIDENCE = (
    "results of a cpu are no evidence: there operations run inline and times add, so that no "
    "launch hides behind a kernel, and the findings are about what does"
)


def build(question: Question) -> Sheet:
    """A row for every finding on every GPU that has instances of it, and for each of these."""
    checks = paper_checks([models.result for models in question.models])
    on_cpu = [
        models.source
        for models in question.models
        if all(case.device == "cpu" for case in models.result.cases)
    ]
    aside = [f"{', '.join(on_cpu)}: {NO_EVIDENCE}"] if on_cpu else []
    more = [*aside, *traces_aside(question)]
    return paper_sheet(checks, most=_MOST_INSTANCES, more=more)


VIEW = View(f"the findings of the paper ({PAPER}) beside what was measured", build)
