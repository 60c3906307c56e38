"""The rows of a launch floor."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.analysis.quantities.contract import Kind, Quantity
from ftax_micro.analysis.quantities.measured import measured_quantities
from ftax_micro.results import Result


def quantities(result: Result, confidence: float) -> Sequence[Quantity]:
    """One for each row and setting: seconds, or the count of a queue's depth."""
    return list(measured_quantities(result.measurements, confidence))


KIND = Kind("floor", "Launch floor", "not in this result", "row", True, quantities)
