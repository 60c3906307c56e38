"""Do the parts of a launch add up to the whole? (closure check, docs/launch_anatomy.md)

``launch_sync`` is set against max(`submit` + `stream_sync_idle`, `to_start` + body + `sync`), where
the null kernel's own body lies between 0 and `spacing`. A residual beyond its uncertainty means
that a part is wrong, or that something happens in a launch which no row measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ftax_micro.analysis.summary import Summary

# A residual is flagged where it exceeds its uncertainty by more than both of these.
FLAG_S = 0.3e-6
FLAG_SHARE = 0.05


@dataclass(frozen=True)
class Closure:
    """One check; seconds. `residual_s` is measured less predicted, signed and never clipped."""

    device: str
    wait: str | None
    measured_s: float
    predicted_s: float
    residual_s: float
    uncertainty_s: float

    @property
    def flagged(self) -> bool:
        """Whether the residual is larger than its uncertainty explains."""
        beyond = abs(self.residual_s) - self.uncertainty_s
        return beyond > FLAG_S and beyond > FLAG_SHARE * self.measured_s


def closure_check(summaries: Iterable[Summary]) -> list[Closure]:
    """A check for every `launch_sync` whose parts were measured with the same wait."""
    rows = [row for row in summaries if row.status == "ok" and row.value is not None]
    checks = []
    for whole in rows:
        if whole.name != "launch_sync" or whole.setting.get("idle_ns", 0):
            continue
        if "tracer" in whole.setting:  # which slows the parts and the whole by different amounts
            continue
        same = [row for row in rows if row.device == whole.device and _comparable(row, whole)]
        check = _check(whole, same)
        if check is not None:
            checks.append(check)
    return checks


def _comparable(row: Summary, whole: Summary) -> bool:
    """Measured with the same wait (where it has one), otherwise at the default point."""
    wait = row.setting.get("wait")
    others = {k: v for k, v in row.setting.items() if k not in {"wait", "idle_ns"}}
    wanted = {k: v for k, v in whole.setting.items() if k not in {"wait", "idle_ns"}}
    return (
        wait in {None, whole.setting.get("wait")}
        and others == wanted
        and not row.setting.get("idle_ns")
    )


def _check(whole: Summary, parts: Sequence[Summary]) -> Closure | None:
    start, sync = _find(parts, "to_start"), _find(parts, "sync")
    spacing, submit = _find(parts, "spacing"), _find(parts, "submit")
    idle = _find(parts, "stream_sync_idle")
    if start is None or sync is None or spacing is None:
        return None
    host_low = host_high = 0.0
    if submit is not None and idle is not None:
        host_low, host_high = _low(submit) + _low(idle), _high(submit) + _high(idle)
    low = max(host_low, _low(start) + _low(sync))
    high = max(host_high, _high(start) + _high(sync) + _high(spacing))
    predicted = (low + high) / 2
    assert whole.value is not None
    uncertainty = (high - low) / 2 + (whole.half_width or 0.0)
    return Closure(
        device=whole.device,
        wait=str(whole.setting["wait"]) if "wait" in whole.setting else None,
        measured_s=whole.value,
        predicted_s=predicted,
        residual_s=whole.value - predicted,
        uncertainty_s=uncertainty,
    )


def _find(rows: Sequence[Summary], name: str) -> Summary | None:
    return next((row for row in rows if row.name == name), None)


def _low(row: Summary) -> float:
    assert row.systematic_low is not None  # every measured row has one
    return row.systematic_low - (row.half_width or 0.0)


def _high(row: Summary) -> float:
    assert row.systematic_high is not None  # every measured row has one
    return row.systematic_high + (row.half_width or 0.0)
