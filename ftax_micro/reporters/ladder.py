"""The dispatch ladder as a table with bars, CSV, JSON and markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ftax_micro.analysis.ladder_prediction import Prediction
from ftax_micro.analysis.ladder_view import LadderRow, LadderView
from ftax_micro.records import DeviceFacts
from ftax_micro.reporters import cells
from ftax_micro.reporters.markdown import bullet_list, markdown_table
from ftax_micro.reporters.table import Page
from ftax_micro.results import encode_result
from ftax_micro.stats import Estimate
from ftax_micro.units import Digits, digits_for, format_seconds

_COLUMNS = (
    *("device", "rung", "op", "arguments", "slope_s", "slope_low_s", "slope_high_s"),
    *("intercept_s", "ratio_to_floor", "status", "reason"),
    *("intercept_low_s", "intercept_high_s", "ratio_low", "ratio_high"),
    *("below", "increment_s", "increment_low_s", "increment_high_s"),
    *("bursts", "stop_reason", "processes", "verdicts", "slowdown", "undisturbed_s"),
)
_HEADINGS = (
    *("rung", "op", "args", "per operation", "interval", "over the rung below", "× floor"),
    *("per call", "n", "per operation, drawn"),
)
_BAR_CELLS = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
_NOTHING = Estimate(0.0, None, None)


def render_csv(view: LadderView, _: Sequence[Prediction] = ()) -> str:
    """One row per rung and number of arguments, seconds; empty where nothing is known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_csv_cells(row) for row in view.rows)
    return text.getvalue()


def render_json(view: LadderView, _: Sequence[Prediction] = ()) -> str:
    """The result as it would be saved."""
    return encode_result(view.result).decode()


def render_markdown(view: LadderView, predictions: Sequence[Prediction] = ()) -> str:
    """A table per device, then what has no value and why, notes, and predictions."""
    parts = []
    for device in view.result.devices:
        rows = view.on(device)
        if rows:
            table = markdown_table(_headings(view), [_cells(row, rows) for row in rows])
            parts.append(f"**{_title(device)}**\n\n{table}")
    lines = [*_below(view), *map(prediction_line, predictions)]
    if lines:
        parts.append(bullet_list(lines))
    return "\n\n".join(parts) + "\n"


def render_table(view: LadderView, predictions: Sequence[Prediction] = ()) -> str:
    """A table per device, then what has no value and why, notes, and predictions."""
    page = Page()
    for device in view.result.devices:
        rows = view.on(device)
        if rows:
            drawn = [_cells(row, rows) for row in rows]
            title, right = _title(device), (2, 3, 4, 5, 6, 7, 8)
            page.table(title, _headings(view), drawn, right=right, spare=(8, 9, 7, 5, 6))
    page.say_what_was_left_out()
    for line in cells.absence_lines(view):
        page.line(line, "yellow")
    for line in cells.notes(view):
        page.line(line, "dim")
    for each in predictions:
        page.line(prediction_line(each))
    if not view.result.complete:
        page.line(f"incomplete: {view.result.incomplete_reason}", "red")
    return page.text()


def prediction_line(each: Prediction) -> str:
    """How much of a model's host time its operations' dispatch explains, as a sentence."""
    case = each.case
    where = f"{case.model} {case.mode} on {case.device}"
    if each.predicted is None or each.measured is None or each.share is None:
        return f"{where}: {each.reason}"
    share = each.share
    between = ""
    if share.low is not None and share.high is not None:
        between = f" ({share.low * 100:.0f} … {share.high * 100:.0f} %)"
    return (
        f"{where}: {each.operations:,} operations at the cost of {each.rung} come to "
        f"{format_seconds(each.predicted.value)} of {format_seconds(each.measured.value)} "
        f"({each.measured_as}): {share.value * 100:.0f} %{between}{_rest(each)}"
    )


def _rest(each: Prediction) -> str:
    if each.left is None:
        return ""
    if each.left.high is not None and each.left.high < 0:
        return ", more than there is: here most operations cost less than the rung's"
    return f", which leaves {format_seconds(each.left.value)} to {each.rest}"


def _title(device: DeviceFacts) -> str:
    return f"Dispatch ladder of {cells.title(device)}"


def _headings(view: LadderView) -> tuple[str, ...]:
    level = f"{view.result.plan.confidence * 100:.4g} % interval"
    return tuple(level if name == "interval" else name for name in _HEADINGS)


def _cells(row: LadderRow, rows: Sequence[LadderRow]) -> tuple[str, ...]:
    slope = row.slope or _NOTHING  # a row with a value has one
    digits = _digits(slope)
    longest = max(each.slope.value for each in rows if each.slope)
    return (
        row.rung,
        row.operation,
        "" if row.arguments is None else str(row.arguments),
        digits.text(slope.value),
        digits.interval(slope.low, slope.high),
        _increment(row),
        _ratio(row.ratio_to_floor),
        _digits(row.intercept).text(row.intercept.value) if row.intercept else "–",
        f"{row.summary.count:,}",
        _bar(slope.value / longest if longest > 0 else 0.0),
    )


def _digits(estimate: Estimate) -> Digits:
    low, high = estimate.low, estimate.high
    return digits_for(estimate.value, None if low is None or high is None else (high - low) / 2)


def _increment(row: LadderRow) -> str:
    if row.increment is None:
        return "–"
    text = _digits(row.increment).text(row.increment.value)
    return f"{'' if text.startswith('-') else '+'}{text} ({row.below})"


def _ratio(ratio: Estimate | None) -> str:
    if ratio is None:
        return "–"
    return f"{ratio.value:,.0f}" if ratio.value >= 100 else f"{ratio.value:.3g}"


def _bar(share: float) -> str:
    eighths = max(1, round(min(1.0, max(0.0, share)) * _BAR_CELLS * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _below(view: LadderView) -> list[str]:
    lines = [*cells.absence_lines(view), *cells.notes(view)]
    if not view.result.complete:
        lines.append(f"incomplete: {view.result.incomplete_reason}")
    return lines


def _csv_cells(row: LadderRow) -> list[object]:
    summary = row.summary
    slope, intercept = row.slope or _NOTHING, row.intercept or _NOTHING
    ratio, increment = row.ratio_to_floor or _NOTHING, row.increment or _NOTHING
    return [
        *(summary.device, row.rung, row.operation, row.arguments),
        *_numbers(row.slope and slope.value, slope.low, slope.high),
        *_numbers(row.intercept and intercept.value),
        *_numbers(row.ratio_to_floor and ratio.value),
        *(summary.status, summary.reason),
        *_numbers(intercept.low, intercept.high, ratio.low, ratio.high),
        row.below,
        *_numbers(row.increment and increment.value, increment.low, increment.high),
        summary.count if summary.status == "ok" else None,
        *(summary.stop_reason, summary.processes),
        " ".join(verdict.code for verdict in summary.verdicts),
        *_numbers(summary.slowdown, summary.undisturbed and summary.undisturbed.value),
    ]


def _numbers(*values: float | None) -> list[str]:
    return ["" if value is None else f"{value:.6g}" for value in values]
