"""Model latencies as a matrix of workloads and modes, in Markdown, each gap with its reason."""

from __future__ import annotations

from collections.abc import Mapping

from ftax_micro.analysis.latency_view import CaseSummary, LatencyView, workload_sizes
from ftax_micro.reporters.markdown import bullet_list, markdown_table
from ftax_micro.units import digits_for

_Row = Mapping[str, CaseSummary]


def render_matrix(view: LatencyView) -> str:
    """One line per workload, one column per mode: the latency, or a number that stands for the
    reason below. A mode that is absent everywhere for one reason is a line below instead.
    """
    modes = list(dict.fromkeys(row.case.mode for row in view.rows))
    nowhere = {mode: reason for mode in modes if (reason := _only_reason(view, mode))}
    shown = [mode for mode in modes if mode not in nowhere]
    reasons: dict[str, int] = {}
    lines = [
        [name, *(_cell(row.get(mode), reasons) for mode in shown)]
        for name, row in _workloads(view).items()
    ]
    below = [f"{mode}: {reason}" for mode, reason in nowhere.items()]
    below += [f"[{number}] {reason}" for reason, number in reasons.items()]
    table = markdown_table(["workload", *shown], lines)
    return f"{table}\n\n{bullet_list(below)}\n" if below else f"{table}\n"


def _workloads(view: LatencyView) -> dict[str, dict[str, CaseSummary]]:
    found: dict[str, dict[str, CaseSummary]] = {}
    several = len({_sizes(row) for row in view.rows}) > len({row.case.model for row in view.rows})
    for row in view.rows:
        name = f"{row.case.model} {_sizes(row)}" if several else row.case.model
        found.setdefault(name, {})[row.case.mode] = row
    return found


def _sizes(row: CaseSummary) -> str:
    case = row.case
    sizes = " ".join(f"{name} {size}" for name, size in workload_sizes(case).items())
    return f"{sizes} {case.dtype}{' twin' if case.twin else ''}"


def _only_reason(view: LatencyView, mode: str) -> str | None:
    """Why `mode` is absent in every workload, where that is one reason."""
    cases = [row.case for row in view.rows if row.case.mode == mode]
    reasons = {f"{case.status}, {case.reason}" for case in cases}
    absent = all(case.status != "ok" for case in cases)
    return reasons.pop() if absent and len(reasons) == 1 and len(cases) > 1 else None


def _cell(row: CaseSummary | None, reasons: dict[str, int]) -> str:
    if row is None:
        return "not measured"
    if row.latency is None:
        number = reasons.setdefault(str(row.case.reason), len(reasons) + 1)
        return f"{row.case.status} [{number}]"
    low, high = row.latency.low, row.latency.high
    spread = None if low is None or high is None else (high - low) / 2
    return digits_for(row.latency.value, spread).text(row.latency.value)
