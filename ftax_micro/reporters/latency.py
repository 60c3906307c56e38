"""Model latencies as a table, CSV, JSON and markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ftax_micro.analysis.core_speed import CODE as SLOWED
from ftax_micro.analysis.latency_view import CaseSummary, LatencyView, workload_sizes
from ftax_micro.models.listing import ListedModel
from ftax_micro.records import Case
from ftax_micro.reporters.markdown import bullet_list, markdown_table
from ftax_micro.reporters.table import Page
from ftax_micro.results import encode_result
from ftax_micro.stats import Estimate
from ftax_micro.units import digits_for, format_seconds

_COLUMNS = (
    *("model", "mode", "device", "dtype", "batch", "sequence", "params", "macs"),
    *("latency_s", "latency_low_s", "latency_high_s", "host_s", "pipelined_s", "busy_s"),
    *("device_ops", "samples", "status", "reason", "image", "audio", "weight_bytes"),
    *("speedup", "speedup_low", "speedup_high", "relative_norm", "stop_reason", "prepare_s"),
    *("lengths", "twin", "threads", "steps", "ops", "activation_bytes", "peak_memory_bytes"),
    *("interleaved_over_solo", "tool_version", "measured_at"),
    *("slowdown", "slowed_blocks", "undisturbed_s", "verdicts"),
)
_HEADINGS = (
    *("model", "input", "mode", "latency", "interval", "host", "pipelined", "over eager", "n"),
    "making ready",
)


def render_csv(view: LatencyView) -> str:
    """One row per case, seconds; empty where nothing is known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_csv_cells(row) for row in view.rows)
    return text.getvalue()


def render_json(view: LatencyView) -> str:
    """The result as it would be saved."""
    return encode_result(view.result).decode()


def render_markdown(view: LatencyView) -> str:
    """One table, then what has no time and why."""
    table = markdown_table(_headings(view), [_cells(row) for row in _timed(view)])
    lines = _below(view)
    return f"{table}\n\n{bullet_list(lines)}\n" if lines else f"{table}\n"


def render_table(view: LatencyView) -> str:
    """One table, then what has no time and why."""
    page = Page()
    rows = [_cells(row) for row in _timed(view)]
    if rows:
        right = range(3, 10)
        page.table(None, _headings(view), rows, right=right, folding=(0, 1), spare=(6, 5, 8, 9))
        page.say_what_was_left_out()
    for line in _below(view):
        page.line(line, "yellow")
    return page.text()


def render_list(models: Sequence[ListedModel], modes: Sequence[str]) -> str:
    """The models with what they are and how many weights they have, then the modes."""
    page = Page()
    rows = []
    for each in models:
        spec = each.spec
        sizes = {"sequence": spec.shape.sequence, "image": spec.shape.image}
        sizes["audio"] = spec.shape.audio
        shape = " ".join(f"{name} {size}" for name, size in sizes.items() if size)
        weights = "–" if each.parameters is None else f"{each.parameters / 1e6:,.2f} M"
        note = each.reason or spec.stands_for or ""
        rows.append((spec.name, spec.family.value, spec.source, weights, shape, note))
    heads = ("model", "family", "source", "weights", "default input", "note")
    page.table(None, heads, rows, right=(3,), folding=(2, 5))
    page.line(f"modes: {', '.join(modes)}")
    page.line("a model's settings: NAME@SETTING=VALUE, as its configuration class names them")
    return page.text()


def _timed(view: LatencyView) -> list[CaseSummary]:
    return [row for row in view.rows if row.case.status == "ok"]


def _headings(view: LatencyView) -> tuple[str, ...]:
    level = f"{view.result.plan.confidence * 100:.4g} % interval"
    return tuple(level if name == "interval" else name for name in _HEADINGS)


def _cells(row: CaseSummary) -> tuple[str, ...]:
    case, latency = row.case, row.latency
    assert latency is not None  # a case with a time
    spread = None if latency.low is None or latency.high is None else latency.high - latency.low
    digits = digits_for(latency.value, None if spread is None else spread / 2)
    return (
        case.model,
        _input(case),
        case.mode,
        digits.text(latency.value),
        digits.interval(latency.low, latency.high),
        digits.text(row.host.value if row.host else None),
        digits.text(row.pipelined.value if row.pipelined else None),
        _ratio(row.speedup),
        f"{len(case.latency.samples):,}" if case.latency else "–",
        format_seconds(sum(case.costs_s.values())) if case.costs_s else "–",
    )


def _input(case: Case) -> str:
    sizes = [f"{name} {size}" for name, size in workload_sizes(case).items()]
    more = [*([case.lengths] if case.lengths else []), *(["twin"] if case.twin else [])]
    return " ".join([*sizes, case.dtype, *more])


def _ratio(ratio: Estimate | None) -> str:
    if ratio is None:
        return "–"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f} ×"
    return f"{ratio.value:.2f} × ({ratio.low:.2f} … {ratio.high:.2f})"


def _absences(cases: Sequence[Case]) -> list[str]:
    """Why there is nothing: one reason often holds for several modes, models or a whole sweep."""
    modes: dict[tuple[str, str, str], list[str]] = {}
    for case in cases:
        modes.setdefault((case.model, case.status, str(case.reason)), []).append(case.mode)
    models: dict[tuple[tuple[str, ...], int, str, str], list[str]] = {}
    for (model, status, reason), own in modes.items():
        distinct = tuple(dict.fromkeys(own))
        models.setdefault((distinct, len(own), status, reason), []).append(model)
    lines = []
    for (distinct, count, status, reason), own in models.items():
        sizes = f" ({count} cases)" if count > len(distinct) else ""
        where = f"{', '.join(own)} in {', '.join(distinct)}{sizes}"
        lines.append(f"{where}: {status}, {reason}")
    return lines


def _below(view: LatencyView) -> list[str]:
    lines = _absences([row.case for row in view.rows if row.case.status != "ok"])
    for row in _timed(view):
        where = f"{row.case.model} {_input(row.case)} {row.case.mode}"
        lines += [f"{where}: {v.sentence}" for v in row.verdicts if v.code != SLOWED]
    lines += _slowed_line(view)
    if not view.result.complete:
        lines.append(f"incomplete: {view.result.incomplete_reason}")
    return lines


def _slowed_line(view: LatencyView) -> list[str]:
    """One line for all cases whose median is a disturbed one."""
    slowed = [row for row in view.rows if any(each.code == SLOWED for each in row.verdicts)]
    if not slowed:
        return []
    timed = len(_timed(view))
    which = f"{len(slowed)} of {timed} cases (--format csv says which, and what they take without)"
    most = max(row.slowdown or 1.0 for row in slowed)
    return [
        f"beside most blocks of {which} a core was slower than at its fastest in this run, "
        f"typically by up to {most:.2g} times, because something shared it (a hyperthread's "
        "neighbour, another guest, a power limit): these medians are not what this machine does "
        "undisturbed"
    ]


def _csv_cells(row: CaseSummary) -> Sequence[object]:
    case = row.case
    latency, speedup = row.latency or _NOTHING, row.speedup or _NOTHING
    return [
        *(case.model, case.mode, case.device, case.dtype, case.batch, case.sequence),
        *(case.parameters, case.macs),
        *(latency.value if row.latency else None, latency.low, latency.high),
        row.host.value if row.host else None,
        row.pipelined.value if row.pipelined else None,
        *(row.busy_s, row.device_operations),
        len(case.latency.samples) if case.latency else None,
        *(case.status, case.reason, case.image, case.audio, case.weight_bytes),
        *(speedup.value if row.speedup else None, speedup.low, speedup.high),
        case.relative_norm,
        case.latency.stop_reason if case.latency else None,
        sum(case.costs_s.values()) if case.costs_s else None,
        *(case.lengths, int(case.twin), case.facts.get("threads"), case.steps, row.operations),
        *(case.activation_bytes, case.peak_memory_bytes, row.solo_ratio),
        *(case.tool_version, case.measured_at),
        *(row.slowdown, row.slowed_blocks, row.undisturbed.value if row.undisturbed else None),
        " ".join(each.code for each in row.verdicts),
    ]


_NOTHING = Estimate(0.0, None, None)
