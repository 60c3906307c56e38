"""Rows as a Markdown table, which reads well on a terminal too."""

from __future__ import annotations

from collections.abc import Sequence

from rows import Figure, Row, Unit, verdict

from ftax_micro import stats, units


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table, then the reasons of those that did not run."""
    lines = ["| | ours | against | figure | target | verdict |", "| --- " * 6 + "|"]
    for row in rows:
        if row.status == "ok":
            lines.append("| " + " | ".join(_cells(row)) + " |")
        else:
            lines.append(f"| {row.name} | {row.status}: {row.reason} | | | | |")
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    variants = [f"{label}: {_median(row, label)}" for label in row.samples]
    ours = _median(row, next(iter(row.samples))) if row.samples else ""
    figures = "; ".join(f"{f.what} {_with_interval(f)}" for f in row.figures)
    targets = [f"{f.what} ≤ {_text(f.limit, f.unit)}" for f in row.figures if f.limit is not None]
    return [
        row.name,
        ours,
        ", ".join(variants[1:]),
        figures,
        " or ".join(targets),
        verdict(row) or "",
    ]


def _median(row: Row, label: str) -> str:
    found = stats.median_interval(row.samples[label])
    spread = None if found.low is None or found.high is None else (found.high - found.low) / 2
    return _text(found.value, row.unit, spread or None)


def _with_interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return f"{_text(figure.value, figure.unit)} (too few blocks for an interval)"
    half = (figure.high - figure.low) / 2
    if half == 0:
        return _text(figure.value, figure.unit)
    low, mid, high = (_text(v, figure.unit, half) for v in (figure.low, figure.value, figure.high))
    return f"{mid} [{low}, {high}]"


def _text(value: float, unit: Unit, spread: float | None = None) -> str:
    if unit == "s":
        return units.format_seconds(value, spread)
    if unit == "count":
        return f"{value:.0f}"
    scale = 100.0 if unit == "fraction" else 1.0
    places = 2 if spread is None else units.decimals_for(spread * scale)
    return f"{value * scale:.{places}f}" + (" %" if unit == "fraction" else "")
