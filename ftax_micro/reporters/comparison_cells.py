"""The cells of a comparison, whatever they are drawn with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ftax_micro.analysis.comparison import ComparedRow, Comparison, Ratio, RatioVerdict
from ftax_micro.analysis.sides import Side
from ftax_micro.analysis.summary import Summary
from ftax_micro.reporters.cells import interval_text, shown_setting, value_text
from ftax_micro.units import decimals_for

SIDE_HEADINGS = ("result", "host", "cpu", "gpu", "driver", "measured", "warnings")
VERDICTS: tuple[RatioVerdict, ...] = ("faster", "slower", "different", "same", "ambiguous")
# Marks a verdict that a wrong correction could change.
_LOOSE = "*"


def side_cells(comparison: Comparison) -> list[tuple[str, ...]]:
    """A line for each result: which machine, which run."""
    return [
        (
            side.label + (" (baseline)" if index == comparison.baseline else ""),
            side.hostname or "–",
            _cpu(side),
            ", ".join(side.gpus) or "none",
            side.driver or "–",
            _run(side),
            " ".join(side.warnings) or "none",
        )
        for index, side in enumerate(comparison.sides)
    ]


def _cpu(side: Side) -> str:
    cores = f", {side.cores} cores" if side.cores else ""
    return (side.cpu or "unknown") + cores


def _run(side: Side) -> str:
    processes = f", {side.processes} processes" if side.processes > 1 else ""
    quick = ", quick" if side.plan.quick else ""
    return f"{side.created_at.replace('T', ' ')[:16]}{quick}{processes}"


def row_headings(comparison: Comparison) -> tuple[str, ...]:
    """Column headings; the second interval holds for all ratios of the table together."""
    level = f"{comparison.confidence * 100:.3g} %"
    return (
        "row",
        "setting",
        "result",
        "value",
        f"{level} interval",
        "ratio",
        f"{level} of all",
        "verdict",
    )


def device_rows(comparison: Comparison) -> Iterator[tuple[str, list[ComparedRow]]]:
    """The rows of each device, in order."""
    for device, rows in groupby(comparison.rows, key=lambda row: row.device):
        yield device, list(rows)


def row_cells(comparison: Comparison, row: ComparedRow) -> list[tuple[str, ...]]:
    """A line for each result, the baseline first; row and setting on the first line only."""
    order = sorted(range(len(row.values)), key=lambda i: i != comparison.baseline)
    lines: list[tuple[str, ...]] = []
    for place, index in enumerate(order):
        head = (row.name, shown_setting(row.setting)) if place == 0 else ("", "")
        value = value_cells(row.values[index])
        is_baseline = index == comparison.baseline
        ratio = ("", "", "baseline") if is_baseline else ratio_cells(row.ratios[index])
        lines.append((*head, comparison.sides[index].label, *value, *ratio))
    return lines


def value_cells(row: Summary | None) -> tuple[str, str]:
    """Value and interval of one result, or why there is none."""
    if row is None:
        return "not measured", "–"
    if row.status != "ok":
        return row.status, "–"
    return value_text(row), interval_text(row)


def ratio_cells(ratio: Ratio | None) -> tuple[str, str, str]:
    """Ratio, interval and verdict."""
    if ratio is None:
        return "–", "–", "not compared"
    verdict = ratio.verdict + ("" if ratio.firm else _LOOSE)
    return (*format_ratio(ratio), verdict)


def format_ratio(ratio: Ratio) -> tuple[str, str]:
    """Ratio and interval, to the place where the uncertainty begins."""
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.3g}", "–"
    places = decimals_for((ratio.high - ratio.low) / 2)
    return f"{ratio.value:.{places}f}", f"{ratio.low:.{places}f} … {ratio.high:.{places}f}"


def tally(comparison: Comparison) -> str:
    """How many ratios have which verdict, in one line."""
    counts = [(comparison.count(verdict), verdict) for verdict in VERDICTS]
    found = ", ".join(f"{count} {verdict}" for count, verdict in counts if count) or "nothing"
    baseline = comparison.sides[comparison.baseline].label
    margin = f"{comparison.margin * 100:.3g} %"
    ratios = "1 ratio" if comparison.comparisons == 1 else f"{comparison.comparisons} ratios"
    return f"{ratios} against {baseline}, margin {margin}: {found}"


def absence_lines(comparison: Comparison) -> list[str]:
    """What was not compared, rows with the same reason on one line."""
    grouped: dict[tuple[int, str], list[str]] = {}
    for each in comparison.not_compared:
        grouped.setdefault((each.side, each.reason), []).append(each.row)
    return [
        f"not compared, {comparison.sides[side].label}: {', '.join(rows)}: {reason}"
        for (side, reason), rows in grouped.items()
    ]


def note_lines(comparison: Comparison) -> list[str]:
    """What a reader has to know: about the table, then about single rows."""
    lines = list(comparison.notes)
    ratios = [ratio for row in comparison.rows for ratio in row.ratios if ratio]
    if not all(ratio.firm for ratio in ratios):
        lines.append(
            f"a verdict with {_LOOSE} could change within the systematic uncertainty of corrections"
        )
    for row in comparison.rows:
        lines.extend(_row_notes(comparison, row))
    return lines


def _row_notes(comparison: Comparison, row: ComparedRow) -> Iterator[str]:
    for side, value, ratio in zip(comparison.sides, row.values, row.ratios, strict=True):
        where = f"{side.label}, {row.title}"
        if ratio and ratio.systematic_low != ratio.systematic_high:
            low, high = ratio.systematic_low, ratio.systematic_high
            between = f"{low:.3g} … {high:.3g}" if low is not None else "any"
            yield f"{where}: ratio {between} for any truth of the corrections"
        if value and value.censored:
            yield f"{where}: {value.censored} of {value.censored + value.count} shots censored"
        if value:
            yield from (f"{where}: {verdict.sentence}" for verdict in value.verdicts)
