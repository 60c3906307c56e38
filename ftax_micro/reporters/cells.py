"""The cells and lines that floors for people share, whatever they are drawn with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ftax_micro.analysis.core_distance import CODE as APART
from ftax_micro.analysis.core_speed import CODE as SLOWED
from ftax_micro.analysis.floor.break_even import BreakEven
from ftax_micro.analysis.floor.closure import Closure
from ftax_micro.analysis.floor.gap import CommonGap
from ftax_micro.analysis.floor.view import FloorView
from ftax_micro.analysis.summary import Summary
from ftax_micro.records import DeviceFacts, Setting
from ftax_micro.results import Result
from ftax_micro.units import (
    Digits,
    digits_for,
    format_interval,
    format_seconds,
    format_short,
)

HEADINGS = ("row", "setting", "median", "95 % interval", "min", "p95", "n", "stopped by")
STOP_WORDS = {
    "interval": "interval",
    "noise_stable": "stable noise",
    "max_samples": "max. samples",
    "timeout": "timeout",
    "fixed_count": "fixed count",
    "interrupted": "interrupted",
}
# Beyond so many, names of rows are no longer read.
_MOST_NAMES = 5
# More of a row's unit than this is read with difficulty: 0.94 s is better than 938095129 ns.
_OUT_OF_PROPORTION = 10_000


def headings(view: FloorView) -> tuple[str, ...]:
    """Column headings, with the confidence that was asked for."""
    level = f"{view.result.plan.confidence * 100:.4g} %"
    return tuple(h.replace("95 %", level) for h in HEADINGS)


def title(device: DeviceFacts) -> str:
    """What stands over a device's table after "Launch anatomy of"."""
    return device.name + (f": {device.model}" if device.model else "")


def shown_setting(setting: Setting) -> str:
    """A setting for people: times in a readable unit, ``idle=1ms`` for ``idle_ns=1000000``."""
    return " ".join("=".join(shown_part(key, value)) for key, value in setting.items())


def shown_part(key: str, value: str | int | float) -> tuple[str, str]:
    """One key of a setting and its value, for people."""
    if key.endswith("_ns") and not isinstance(value, str):
        return key.removesuffix("_ns"), format_short(value * 1e-9)
    return key, str(value)


def row_digits(row: Summary) -> Digits:
    """The one unit and the decimal places of all numbers of a measured row."""
    return digits_for(row.value or 0.0, row.half_width, row.step)


def value_text(row: Summary) -> str:
    """The headline of a measured row."""
    if row.unit == "count":
        return "–" if row.value is None else f"{row.value:g}"
    return row_digits(row).text(row.value)


def interval_text(row: Summary) -> str:
    """The interval of a measured row."""
    return "–" if row.unit == "count" else row_digits(row).interval(row.low, row.high)


def row_cells(row: Summary) -> tuple[str, ...]:
    """The cells of a measured row; for others see `absence_lines`."""
    stop = ", ".join(STOP_WORDS.get(word, word) for word in (row.stop_reason or "").split())
    digits = row_digits(row)
    spread = ("–", "–")
    if row.unit != "count":
        spread = (_tail(row.minimum, digits), _tail(row.p95, digits))
    head = (row.name, shown_setting(row.setting), value_text(row), interval_text(row))
    return (*head, *spread, f"{row.count:,}", stop)


def _tail(value_s: float | None, digits: Digits) -> str:
    """A single sample, in the row's unit unless it is out of all proportion to the row."""
    if value_s is not None and abs(value_s) >= _OUT_OF_PROPORTION * digits.factor_s:
        return format_seconds(value_s)
    return digits.text(value_s)


class Rows(Protocol):
    """What a floor's view and a ladder's have in common: a result, and its rows summarised."""

    @property
    def result(self) -> Result:
        """Where the rows are from."""

    @property
    def summaries(self) -> Sequence[Summary]:
        """One for each row."""


def absence_lines(view: Rows) -> list[str]:
    """What has no number and why; rows with the same reason on one line."""
    grouped: dict[tuple[str, str, str | None], list[str]] = {}
    for row in view.summaries:
        if row.status != "ok":
            title = f"{row.name} {shown_setting(row.setting)}".rstrip()
            grouped.setdefault((row.device, row.status, row.reason), []).append(title)
    return [
        f"{device} {', '.join(rows)}: {status}, {reason}"
        for (device, status, reason), rows in grouped.items()
    ]


def notes(view: Rows) -> list[str]:
    """What a reader has to know about single rows: systematic uncertainty, verdicts, censored
    shots.
    """
    lines = []
    for row in view.summaries:
        where = f"{_device(view, row.device)}{row.name} {shown_setting(row.setting)}".rstrip()
        if row.systematic_low is not None and row.systematic_low != row.systematic_high:
            between = format_interval(row.systematic_low, row.systematic_high, row.step)
            lines.append(f"{where}: with its systematic uncertainty {between}")
        if row.censored:
            shots = f"{row.censored:,} of {row.censored + row.count:,} shots"
            lines.append(f"{where}: {shots} censored (over before they could be observed)")
        own = [verdict for verdict in row.verdicts if verdict.code not in {SLOWED, APART}]
        lines.extend(f"{where}: {verdict.sentence}" for verdict in own)
    lines.extend(_disturbed_lines(view, SLOWED, _slowed))
    lines.extend(_disturbed_lines(view, APART, _apart))
    lines.extend(_partly_disturbed_lines(view))
    return lines


def _disturbed_lines(
    view: Rows, code: str, told: Callable[[Sequence[Summary]], str]
) -> Iterator[str]:
    """One line a device for all rows with the verdict `code`: what is `told` of them, and which."""
    for device in view.result.devices:
        rows = [row for row in view.summaries if row.device == device.name]
        disturbed = [row for row in rows if any(each.code == code for each in row.verdicts)]
        if disturbed:
            names = _disturbed_names(disturbed, len(rows))
            yield f"{_device(view, device.name)}{told(disturbed)}: {names}"


def _partly_disturbed_lines(view: Rows) -> Iterator[str]:
    """One line a device for rows of which fewer processes than would be told above were disturbed:
    their intervals are wider for it.
    """
    for device in view.result.devices:
        parts = [
            f"{row.name} {shown_setting(row.setting)}".rstrip()
            + f" ({row.disturbed_processes} of {row.processes})"
            for row in view.summaries
            if row.device == device.name
            and row.disturbed_processes
            and not any(each.code in {SLOWED, APART} for each in row.verdicts)
        ]
        if parts:
            yield (
                f"{_device(view, device.name)}beside some processes of these rows a core was "
                "slowed, or two were far apart: their medians over all processes hardly feel it, "
                f"their intervals may: {', '.join(parts)}"
            )


def _slowed(rows: Sequence[Summary]) -> str:
    most = max(row.slowdown or 1.0 for row in rows)
    return (
        f"a core was up to {most:.2g} times slower than at its fastest in this run, because "
        "something shared it (a hyperthread's neighbour, another guest, a power limit), so that "
        "these rows are not what this machine does undisturbed"
    )


def _apart(rows: Sequence[Summary]) -> str:
    distance = max(row.distance for row in rows if row.distance is not None)
    now, nearest = map(format_seconds, (distance.hop_s, distance.hop_s / distance.times))
    return (
        f"two cores were up to {distance.times:.2g} times as far apart as at their nearest in this "
        f"run (a cache line took {now} there and back, {nearest} at the least), because a "
        "hypervisor moved them, so that these rows are of the further place"
    )


def _disturbed_names(disturbed: Sequence[Summary], every: int) -> str:
    """The rows with what their undisturbed samples give; of many how many they are."""
    if len(disturbed) <= _MOST_NAMES:
        return ", ".join(map(_disturbed_name, disturbed))
    told = any(row.undisturbed is not None for row in disturbed)
    more = ", and what their undisturbed samples give" if told else ""
    return f"{len(disturbed)} of {every} (--format csv says which{more})"


def _disturbed_name(row: Summary) -> str:
    name = f"{row.name} {shown_setting(row.setting)}".rstrip()
    if row.undisturbed is None:
        return name
    return f"{name} (by its undisturbed samples {format_seconds(row.undisturbed.value)})"


def break_even_line(view: FloorView, each: BreakEven) -> str:
    """After how many replays a graph has paid, as a sentence."""
    made = "making" if each.cost_of == "create" else "updating"
    time = "host time" if each.saved == "host" else "time end to end"
    start = (
        f"{_device(view, each.device)}graph of {each.nodes} nodes: {made} it costs "
        f"{format_seconds(each.cost.value)}"
    )
    if each.replays is None:
        return f"{start} and saves no {time}: {each.reason}"
    between = ""
    if each.low is not None:
        between = f" ({each.low:.3g} … {'unbounded' if each.high is None else f'{each.high:.3g}'})"
    saved = f"each replay saves {format_seconds(each.saving.value)} of {time}"
    return f"{start}, {saved}: pays after {each.replays:.3g} replays{between}"


def closure_line(view: FloorView, closure: Closure) -> str:
    """One closure check as a sentence."""
    wait = f" wait={closure.wait}" if closure.wait else ""
    digits = digits_for(closure.residual_s, closure.uncertainty_s)
    residual = digits.plus_minus(closure.residual_s, closure.uncertainty_s)
    return (
        f"{_device(view, closure.device)}closure{wait}: launch_sync takes "
        f"{format_seconds(closure.measured_s)}, its parts {format_seconds(closure.predicted_s)}; "
        f"residual {residual}: {_outcome(closure)}"
    )


def _outcome(closure: Closure) -> str:
    if closure.flagged:
        return "DOES NOT CLOSE, so a part is wrong or something happens that no row measures"
    if abs(closure.residual_s) <= closure.uncertainty_s:
        return "closes"
    return "closes within the tolerance"


def gap_line(view: FloorView, gap: CommonGap) -> str:
    """What kernels of several lengths say of the gap between them, as a sentence."""
    parts = []
    for each in gap.residuals:
        digits = digits_for(each.residual_s, each.uncertainty_s)
        residual = digits.plus_minus(each.residual_s, each.uncertainty_s)
        parts.append(f"{format_short(each.spin_s)}: {residual}")
    verdict = "DEPENDS ON THE KERNEL" if gap.flagged else "the same for all"
    return (
        f"{_device(view, gap.device)}gap: {format_seconds(gap.value_s)} in common; residuals by "
        f"how long the kernels spin {', '.join(parts)}: {verdict}"
    )


def _device(view: Rows, device: str) -> str:
    """A line's device, where the reader could take it for another's."""
    return f"{device} " if len(view.result.devices) > 1 else ""
