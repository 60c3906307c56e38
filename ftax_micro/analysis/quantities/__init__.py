"""Kinds of numbers that results are compared on, one file each, opened by name."""

from __future__ import annotations

from ftax_micro.registry import Registry

KINDS = Registry(
    "kind",
    {
        "floor": "ftax_micro.analysis.quantities.floor:KIND",
        "ladder": "ftax_micro.analysis.quantities.ladder:KIND",
        "latency": "ftax_micro.analysis.quantities.latency:KIND",
        "tax": "ftax_micro.analysis.quantities.tax:KIND",
    },
)
