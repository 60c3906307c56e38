"""The cells that tables for people share, whatever they are drawn with."""

from __future__ import annotations

from ftax_micro.analysis.closure import Closure
from ftax_micro.analysis.floor_view import FloorView
from ftax_micro.analysis.summary import Summary
from ftax_micro.units import format_interval, format_seconds

HEADINGS = ("row", "setting", "median", "95 % interval", "min", "p95", "n", "stopped by")
STOP_WORDS = {
    "interval": "interval",
    "noise_stable": "stable noise",
    "max_samples": "max. samples",
    "timeout": "timeout",
    "fixed_count": "fixed count",
    "interrupted": "interrupted",
}


def headings(view: FloorView) -> tuple[str, ...]:
    """Column headings, with the confidence that was asked for."""
    level = f"{view.result.plan.confidence:.3g}"
    return tuple(h.replace("95 %", f"{float(level) * 100:.3g} %") for h in HEADINGS)


def row_cells(row: Summary) -> tuple[str, ...]:
    """The cells of a measured row; for others see `absence`."""
    stop = " ".join(STOP_WORDS.get(word, word) for word in (row.stop_reason or "").split())
    if row.unit == "count":
        value = "–" if row.value is None else f"{row.value:g}"
        return (row.name, row.setting_text, value, "–", "–", "–", str(row.count), stop)
    return (
        row.name,
        row.setting_text,
        format_seconds(row.value, row.half_width),
        format_interval(row.low, row.high),
        format_seconds(row.minimum, row.half_width),
        format_seconds(row.p95, row.half_width),
        f"{row.count:,}",
        stop,
    )


def absence(row: Summary) -> str:
    """One line for a row without a number."""
    where = f"{row.device} {row.name} {row.setting_text}".strip()
    return f"{where}: {row.status}, {row.reason}"


def notes(view: FloorView) -> list[str]:
    """What a reader has to know about single rows: systematic uncertainty, verdicts, censored
    shots.
    """
    lines = []
    for row in view.rows:
        where = f"{row.name} {row.setting_text}".strip()
        if row.systematic_low is not None and row.systematic_low != row.systematic_high:
            between = format_interval(row.systematic_low, row.systematic_high)
            lines.append(f"{where}: systematic uncertainty {between}")
        if row.censored:
            lines.append(f"{where}: {row.censored} of {row.censored + row.count} shots censored")
        lines.extend(f"{where}: {verdict.sentence}" for verdict in row.verdicts)
    return lines


def closure_line(closure: Closure) -> str:
    """One closure check as a sentence."""
    kind = f" ({closure.wait})" if closure.wait else ""
    parts = (
        f"closure{kind}: launch_sync {format_seconds(closure.measured_s)} against its parts "
        f"{format_seconds(closure.predicted_s)}, residual {format_seconds(closure.residual_s)} "
        f"± {format_seconds(closure.uncertainty_s)}"
    )
    return parts + (": DOES NOT CLOSE" if closure.flagged else ": closes")
