"""Views of a bound analysis, one file each, opened by name."""

from __future__ import annotations

from ftax_micro.registry import Registry

VIEWS = Registry(
    "view",
    {
        "bounds": "ftax_micro.analysis.views.bounds:VIEW",
        "advice": "ftax_micro.analysis.views.advice:VIEW",
        "crossovers": "ftax_micro.analysis.views.crossovers:VIEW",
        "estimates": "ftax_micro.analysis.views.estimates:VIEW",
        "splits": "ftax_micro.analysis.views.splits:VIEW",
        "indices": "ftax_micro.analysis.views.indices:VIEW",
        "what_if": "ftax_micro.analysis.views.what_if:VIEW",
        "paper": "ftax_micro.analysis.views.paper:VIEW",
        "operations": "ftax_micro.analysis.views.operations:VIEW",
        "chains": "ftax_micro.analysis.views.chains:VIEW",
    },
)
