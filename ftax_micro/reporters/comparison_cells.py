"""The cells and lines of a comparison, whatever they are drawn with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from ftax_micro.analysis.comparing.comparison import Comparison
from ftax_micro.analysis.comparing.differences import Difference
from ftax_micro.analysis.comparing.matching import PLAIN_SETTINGS
from ftax_micro.analysis.comparing.ratios import Ratio, RatioVerdict
from ftax_micro.analysis.comparing.sections import ComparedRow, Section
from ftax_micro.analysis.comparing.sides import Side
from ftax_micro.analysis.core_distance import is_far
from ftax_micro.analysis.quantities.contract import Value
from ftax_micro.records import Setting
from ftax_micro.reporters.cells import shown_part
from ftax_micro.units import Digits, decimals_for, digits_for, format_seconds

SIDE_HEADINGS = ("result", "host", "cpu", "gpu", "driver", "measured", "warnings")
DIFFERENCE_HEADINGS = ("what differs", "result", "baseline", "here", "rows")
VERDICTS: tuple[RatioVerdict, ...] = ("faster", "slower", "different", "same", "ambiguous")
# Marks a verdict that a wrong correction could change.
_LOOSE = "*"
_MODE = "mode"
# Beyond so many, names of rows are no longer read.
_MOST_NAMES = 10


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


def difference_cells(comparison: Comparison) -> list[tuple[str, ...]]:
    """A line for each fact that was not the same."""
    return [
        (each.fact, comparison.sides[each.side].label, each.base, each.value, _where(each))
        for each in comparison.differences
    ]


def _where(difference: Difference) -> str:
    if not difference.rows:
        return "whole run"
    if len(difference.rows) == difference.of:
        return "all" if difference.of > 1 else difference.rows[0]
    return listed(difference.rows)


def listed(names: Sequence[str]) -> str:
    """Names by commas, the first of very many."""
    more = len(names) - _MOST_NAMES
    if more <= 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {more} more"


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


@dataclass(frozen=True)
class Table:
    """The compared rows of one kind on one device, and what stands over them; settings that are
    the same in all rows of models stand there too, and are left out of the rows.
    """

    title: str
    section: Section
    rows: Sequence[ComparedRow]
    shared: Setting


def tables(comparison: Comparison) -> Iterator[Table]:
    """Tables in order; rows on which nothing could be compared are in none."""
    alone = len(comparison.sections) == 1
    for section in comparison.sections:
        compared = [row for row in section.rows if any(row.ratios)]
        for device, group in groupby(compared, key=lambda row: row.device):
            rows = list(group)
            shared = _shared(rows)
            title = device if alone else f"{section.title}, {device}"
            yield Table(f"{title}, {_setting(shared)}" if shared else title, section, rows, shared)


def _shared(rows: Sequence[ComparedRow]) -> Setting:
    if len(rows) < 2 or any(row.quantity is None for row in rows):
        return {}
    first, *others = (row.setting for row in rows)
    return {
        key: value
        for key, value in first.items()
        if key != _MODE and all(other.get(key) == value for other in others)
    }


def row_cells(comparison: Comparison, table: Table, row: ComparedRow) -> list[tuple[str, ...]]:
    """A line for each result, the baseline first; row and setting on the first line only."""
    section = table.section
    order = sorted(section.sides, key=lambda side: side != section.baseline)
    rest = {key: value for key, value in row.setting.items() if key not in table.shared}
    name = " ".join(f"{part}" for part in (row.name, rest.pop(_MODE, ""), row.quantity) if part)
    lines: list[tuple[str, ...]] = []
    for place, index in enumerate(order):
        head = (name, _setting(rest)) if place == 0 else ("", "")
        value = value_cells(row.values[index])
        is_baseline = index == section.baseline
        ratio = ("", "", "baseline") if is_baseline else ratio_cells(row.ratios[index])
        lines.append((*head, comparison.sides[index].label, *value, *ratio))
    return lines


def _setting(setting: Setting) -> str:
    parts = [(key, shown_part(key, value)) for key, value in setting.items()]
    return " ".join(shown[1] if key in PLAIN_SETTINGS else "=".join(shown) for key, shown in parts)


def value_cells(value: Value | None) -> tuple[str, str]:
    """Value and interval of one result, or why there is none."""
    if value is None:
        return "not measured", "–"
    if value.status != "ok" or value.value is None:
        return value.status, "–"
    if value.unit == "count":
        return f"{value.value:g}", "–"
    digits = _digits(value)
    return digits.text(value.value), digits.interval(value.low, value.high)


def _digits(value: Value) -> Digits:
    return digits_for(value.value or 0.0, value.half_width, value.step)


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
    margin = f"{comparison.margin * 100:.3g} %"
    ratios = "1 ratio" if comparison.comparisons == 1 else f"{comparison.comparisons} ratios"
    if all(section.baseline == comparison.baseline for section in comparison.sections):
        ratios += f" against {comparison.sides[comparison.baseline].label}"
    return f"{ratios}, margin {margin}: {found}"


def absence_lines(comparison: Comparison) -> list[str]:
    """What was not compared, rows with the same reason on one line."""
    nowhere = {
        (section.kind, row.title)
        for section in comparison.sections
        for row in section.rows
        if not any(value and value.absence is None for value in row.values)
    }
    grouped: dict[tuple[int, str], dict[str, str]] = {}
    for each in comparison.not_compared:
        if (each.kind, each.row) in nowhere:
            continue
        # Of what has none of its numbers, each time for the same reason, that is said once.
        subject = each.row.removesuffix(f" {each.quantity}") if each.quantity else each.row
        titles = grouped.setdefault((each.side, each.reason), {})
        titles[subject] = each.row if subject not in titles else subject
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (side, reason), titles in grouped.items():
        where = together.setdefault((reason, tuple(titles.values())), [])
        where.append(comparison.sides[side].label)
    lines = [
        f"not compared, {', '.join(where)}: {listed(rows)}: {reason}"
        for (reason, rows), where in together.items()
    ]
    if nowhere:
        number = "1 row has" if len(nowhere) == 1 else f"{len(nowhere)} rows have"
        lines.append(f"{number} no value in any of the results (--format csv says why)")
    return lines


def note_lines(comparison: Comparison) -> list[str]:
    """What a reader has to know: about the table, then about single rows."""
    labels = [side.label for side in comparison.sides]
    lines = list(comparison.notes)
    lines += [
        f"{section.title.lower()}: set against {labels[section.baseline]}, since "
        f"{labels[comparison.baseline]} has none"
        for section in comparison.sections
        if section.baseline != comparison.baseline
    ]
    ratios = [ratio for row in comparison.rows for ratio in row.ratios if ratio]
    paired = sum(ratio.paired for ratio in ratios)
    if paired:
        number = "all" if paired == len(ratios) else f"{paired} of {len(ratios)}"
        lines.append(f"{number} ratios are medians over the rounds in which both took turns")
    if not all(ratio.firm for ratio in ratios):
        lines.append(
            f"a verdict with {_LOOSE} could change within the systematic uncertainty of corrections"
        )
    return [*lines, *_row_notes(comparison), *_slowed_lines(comparison), *_apart_lines(comparison)]


def _row_notes(comparison: Comparison) -> Iterator[str]:
    """What is to be said of single rows, those of a result of which the same is said together."""
    said: dict[tuple[int, str], list[str]] = {}
    for row in comparison.rows:
        for side, (value, ratio) in enumerate(zip(row.values, row.ratios, strict=True)):
            between = _systematic(ratio) if ratio else None
            if between is not None:
                told = f"ratio {between} for any truth of the corrections"
                said.setdefault((side, told), []).append(row.title)
            for note in value.notes if value else ():
                said.setdefault((side, note), []).append(row.title)
    for (side, note), rows in said.items():
        yield f"{comparison.sides[side].label}, {listed(rows)}: {note}"


def _systematic(ratio: Ratio) -> str | None:
    """Where a ratio could lie, in words; None where nothing was corrected, or it makes no odds."""
    low, high = ratio.systematic_low, ratio.systematic_high
    if low is None or high is None:
        return "any"
    ends = f"{low:.3g}", f"{high:.3g}"
    return None if ends[0] == ends[1] else " … ".join(ends)


def _slowed_lines(comparison: Comparison) -> Iterator[str]:
    """One line a result for all rows beside which a core was slower than it can be."""
    for place, side in enumerate(comparison.sides):
        values = [(row, row.values[place]) for row in comparison.rows]
        slowed = [(row, v.slowdown) for row, v in values if v and v.slowdown is not None]
        if slowed:
            most = max(factor for _, factor in slowed)
            yield (
                f"{side.label}: a core was up to {most:.2g} times slower than at its fastest in "
                "this run, because something shared it, so that these rows are not what the "
                f"machine does undisturbed: {listed([row.title for row, _ in slowed])}"
            )


def _apart_lines(comparison: Comparison) -> Iterator[str]:
    """One line a result for all rows whose two cores lay in another way than the baseline's."""
    for section in comparison.sections:
        base = section.baseline
        for place, side in enumerate(comparison.sides):
            hops = {row.title: _hops(row, place, base) for row in section.rows}
            told = {title: both for title, both in hops.items() if is_far(max(both) / min(both))}
            if not told:
                continue
            ours, others = map(median, zip(*told.values(), strict=True))
            yield (
                f"{side.label}: a cache line took {format_seconds(ours)} between the two cores and "
                f"back, {format_seconds(others)} in {comparison.sides[base].label}, so that these "
                "rows tell as much of where the cores lay as of the machines: "
                f"{listed(list(told))}"
            )


def _hops(row: ComparedRow, place: int, base: int) -> tuple[float, float]:
    """Of both results; twice the same where one does not tell."""
    ours, others = row.values[place], row.values[base]
    if ours is None or others is None or ours.hop_s is None or others.hop_s is None:
        return (1.0, 1.0)
    return (ours.hop_s, others.hop_s)
