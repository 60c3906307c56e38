"""A report as data: which sections, figures and tables follow from some files."""

from __future__ import annotations

from ftax_micro.analysis.machine import device_models
from ftax_micro.analysis.report.answer import answer
from ftax_micro.analysis.report.attribution import attribution
from ftax_micro.analysis.report.latencies import against_macs, latency
from ftax_micro.analysis.report.layers import anatomy, ladder
from ftax_micro.analysis.report.machines import about, absences, machines
from ftax_micro.analysis.report.material import materials
from ftax_micro.analysis.report.page import Page
from ftax_micro.analysis.report.paper import beside_paper
from ftax_micro.analysis.report.timeline import timeline
from ftax_micro.analysis.views.contract import Question

# In the order in which they are read.
_SECTIONS = (
    *(answer, anatomy, ladder, latency, attribution, timeline, against_macs, beside_paper),
    *(machines, absences),
)


def build_page(question: Question, tool_version: str) -> Page:
    """The report on the files of `question`; every section is there, with data or without."""
    found = materials(question)
    names = tuple(each.name for each in question.sources)
    sections = tuple(section(found) for section in _SECTIONS)
    models = dict.fromkeys(model for each in found.results for model in device_models(each.result))
    title = f"Framework tax report: {', '.join((*models, *names))}"
    return Page(title, about(found), sections, tool_version)
