"""The rungs of a dispatch ladder: seconds per operation."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.analysis.quantities.contract import Kind, Quantity
from ftax_micro.analysis.quantities.measured import measured_quantities
from ftax_micro.results import Result


def quantities(result: Result, confidence: float) -> Sequence[Quantity]:
    """One for each rung, operation and number of arguments: the slope of its bursts."""
    return list(measured_quantities(result.rungs, confidence))


KIND = Kind("ladder", "Dispatch ladder", "not in this result", "rung", True, quantities)
