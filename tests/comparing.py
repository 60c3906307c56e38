"""What tests of comparisons ask of one."""

from __future__ import annotations

from typing import Any

from fake_results import result

from ftax_micro import compare_results
from ftax_micro.analysis.comparison import Comparison, Ratio
from ftax_micro.records import Measurement
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
