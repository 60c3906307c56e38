"""CSV: one row per measurement, seconds, empty where a column has no meaning."""

from __future__ import annotations

import csv
import io

from ftax_micro.analysis.comparison import ComparedRow, Comparison
from ftax_micro.analysis.floor_view import FloorView
from ftax_micro.analysis.summary import Summary

_COLUMNS = (
    "device",
    "name",
    "setting",
    "median_s",
    "ci_low_s",
    "ci_high_s",
    "p5_s",
    "p95_s",
    "min_s",
    "samples",
    "stop_reason",
    "status",
    "reason",
    "systematic_low_s",
    "systematic_high_s",
    "count",
    "noise",
    "outliers",
    "censored",
    "processes",
    "verdicts",
)

_COMPARISON_COLUMNS = (
    "result",
    "device",
    "name",
    "setting",
    "median_s",
    "ci_low_s",
    "ci_high_s",
    "count",
    "ratio",
    "ratio_low",
    "ratio_high",
    "systematic_ratio_low",
    "systematic_ratio_high",
    "verdict",
    "firm",
    "status",
    "reason",
)


def render_floor(view: FloorView) -> str:
    """All rows with a header line; for a slope `median_s` is the slope and `samples` the bursts."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_row(summary) for summary in view.rows)
    return text.getvalue()


def _row(row: Summary) -> list[object]:
    timed = row.unit == "s"
    times = [row.value, row.low, row.high, row.p5, row.p95, row.minimum] if timed else [None] * 6
    systematic = [row.systematic_low, row.systematic_high] if timed else [None, None]
    return [
        row.device,
        _text(row.name),
        _text(row.setting_text),
        *map(_number, times),
        row.count if row.status == "ok" else "",
        row.stop_reason or "",
        row.status,
        _text(row.reason or ""),
        *map(_number, systematic),
        _number(None if timed else row.value),
        _number(row.noise),
        "" if row.outliers is None else row.outliers,
        row.censored if row.status == "ok" else "",
        row.processes,
        _text(" ".join(v.code for v in row.verdicts)),
    ]


def _text(text: str) -> str:
    """CSV has no way to write a null character, which a file of others may hold."""
    return text.replace("\0", "\\0")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def render_comparison(comparison: Comparison) -> str:
    """A row for each result and row, with a header line; the baseline's has no ratio.

    `status` is that of the row in this result, ``absent`` where it has none; `reason` says why
    there is no number or no ratio.
    """
    reasons = {(each.row, each.side): each.reason for each in comparison.not_compared}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COMPARISON_COLUMNS)
    for row in comparison.rows:
        for index in range(len(comparison.sides)):
            line = _comparison_row(comparison, row, index)
            writer.writerow([*line, reasons.get((row.title, index), "")])
    return text.getvalue()


def _comparison_row(comparison: Comparison, row: ComparedRow, index: int) -> list[object]:
    value, ratio = row.values[index], row.ratios[index]
    numbers = [value.value, value.low, value.high] if value else [None] * 3
    timed = value is None or value.unit == "s"
    verdict = ""
    ratios: list[float | None] = [None] * 5
    if ratio is not None:
        interval = [ratio.value, ratio.low, ratio.high]
        verdict, ratios = ratio.verdict, [*interval, ratio.systematic_low, ratio.systematic_high]
    return [
        comparison.sides[index].label,
        row.device,
        _text(row.name),
        _text(row.setting_text),
        *map(_number, numbers if timed else [None] * 3),
        _number(None if timed else numbers[0]),
        *map(_number, ratios),
        "baseline" if index == comparison.baseline else verdict,
        "" if ratio is None else str(ratio.firm).lower(),
        value.status if value else "absent",
    ]
