"""Everything a reporter shows of a launch floor, computed once, so that reporters only format."""

from __future__ import annotations

from dataclasses import dataclass, field

from ftax_micro.analysis.floor.break_even import BreakEven, break_evens
from ftax_micro.analysis.floor.closure import Closure, closure_check
from ftax_micro.analysis.floor.gap import CommonGap, common_gaps
from ftax_micro.analysis.summary import Summary, summarise, with_undisturbed
from ftax_micro.results import Result
from ftax_micro.trust import TrustWarning, trust_warnings


@dataclass(frozen=True)
class FloorView:
    """A result with its rows summarised, its closure checks, its trust warnings, what graphs need
    to pay, and what gaps have in common.
    """

    result: Result
    rows: list[Summary]
    closures: list[Closure]
    warnings: list[TrustWarning]
    break_evens: list[BreakEven]
    gaps: list[CommonGap] = field(default_factory=list)

    @property
    def summaries(self) -> list[Summary]:
        """The rows."""
        return self.rows


def floor_view(result: Result) -> FloorView:
    """The view of `result`; pure, so a saved file renders as it did when it was measured."""
    rows = with_undisturbed(
        summarise(result.measurements, result.plan), result.measurements, result.plan.confidence
    )
    cuda = [device for device in result.devices if device.kind == "cuda"]
    uuids = [str(device.facts["uuid"]) for device in cuda if "uuid" in device.facts]
    warnings = trust_warnings(result.environment, gpu_uuids=uuids)
    return FloorView(
        result, rows, closure_check(rows), warnings, break_evens(rows), common_gaps(rows)
    )
