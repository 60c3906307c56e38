"""Everything a reporter shows of a launch floor, computed once, so that reporters only format."""

from __future__ import annotations

from dataclasses import dataclass

from ftax_micro.analysis.closure import Closure, closure_check
from ftax_micro.analysis.summary import Summary, summarise
from ftax_micro.results import Result
from ftax_micro.trust import TrustWarning, trust_warnings


@dataclass(frozen=True)
class FloorView:
    """A result with its rows summarised, its closure checks and its trust warnings."""

    result: Result
    rows: list[Summary]
    closures: list[Closure]
    warnings: list[TrustWarning]


def floor_view(result: Result) -> FloorView:
    """The view of `result`; pure, so a saved file renders as it did when it was measured."""
    rows = summarise(result.measurements, result.plan)
    uuids = [str(device.facts.get("uuid")) for device in result.devices if device.kind == "cuda"]
    warnings = trust_warnings(result.environment, gpu_uuids=uuids)
    return FloorView(result, rows, closure_check(rows), warnings)
