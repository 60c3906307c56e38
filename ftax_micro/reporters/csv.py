"""CSV: one row per measurement, seconds, empty where a column has no meaning."""

from __future__ import annotations

import csv
import io

from ftax_micro.analysis.floor.view import FloorView
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
    "slowdown",
    "undisturbed_s",
    "hop_s",
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
        csv_text(row.name),
        csv_text(row.setting_text),
        *map(csv_number, times),
        row.count if row.status == "ok" else "",
        row.stop_reason or "",
        row.status,
        csv_text(row.reason or ""),
        *map(csv_number, systematic),
        csv_number(None if timed else row.value),
        csv_number(row.noise),
        "" if row.outliers is None else row.outliers,
        row.censored if row.status == "ok" else "",
        row.processes,
        csv_text(" ".join(v.code for v in row.verdicts)),
        csv_number(row.slowdown),
        csv_number(row.undisturbed.value if row.undisturbed else None),
        csv_number(row.distance.hop_s if row.distance else None),
    ]


def csv_text(text: str) -> str:
    """CSV has no way to write a null character, which a file of others may hold."""
    return text.replace("\0", "\\0")


def csv_number(value: float | None) -> str:
    """Six digits; empty where there is no value."""
    return "" if value is None else f"{value:.6g}"
