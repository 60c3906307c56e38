"""CSV: one row per measurement, seconds, empty where a column has no meaning."""

from __future__ import annotations

import csv
import io

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
        row.name,
        row.setting_text,
        *map(_number, times),
        row.count if row.status == "ok" else "",
        row.stop_reason or "",
        row.status,
        row.reason or "",
        *map(_number, systematic),
        _number(None if timed else row.value),
        _number(row.noise),
        "" if row.outliers is None else row.outliers,
        row.censored if row.status == "ok" else "",
        row.processes,
        " ".join(v.code for v in row.verdicts),
    ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
