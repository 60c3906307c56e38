"""What tests of comparisons ask of one."""

from __future__ import annotations

from typing import Any

from fake_results import device, result

from ftax_micro import compare_results
from ftax_micro.analysis.comparing.comparison import Comparison
from ftax_micro.analysis.comparing.ratios import Ratio
from ftax_micro.analysis.comparing.sections import ComparedRow
from ftax_micro.records import Case, Measurement
from ftax_micro.results import Result


def pair(base: Measurement, other: Measurement, **options: Any) -> Ratio:
    """The one ratio of two results with one row each."""
    comparison = compare_results([result(base), result(other)], **options)
    assert not comparison.not_compared
    ratio = comparison.rows[0].ratios[1]
    assert ratio is not None
    return ratio


def reasons(*results: Result) -> list[tuple[str, int, str]]:
    """What was not compared."""
    return [(n.row, n.side, n.reason) for n in compare_results(list(results)).not_compared]


def ratio_of(comparison: Comparison) -> Ratio:
    """The ratio of the first row."""
    ratio = comparison.rows[0].ratios[1]
    assert ratio is not None
    return ratio


def width(ratio: Ratio) -> float:
    """Of its interval."""
    assert ratio.low is not None
    assert ratio.high is not None
    return ratio.high - ratio.low


def model_result(*cases: Case, **changes: Any) -> Result:
    """A run of models with these cases."""
    measured = changes.pop("measurements", [])
    names = dict.fromkeys(["cpu", *(each.device for each in (*cases, *measured))])
    values: dict[str, Any] = {"kind": "model_latency", "devices": [device(n) for n in names]}
    return result(*measured, **{**values, "cases": list(cases), **changes})


def kinds_of(comparison: Comparison) -> list[str]:
    """Those that were compared."""
    return [section.kind for section in comparison.sections]


def only_row(comparison: Comparison) -> ComparedRow:
    """The one row there is."""
    (row,) = comparison.rows
    return row
