"""The cells of a diagnosis, whatever they are drawn with."""

from __future__ import annotations

from collections.abc import Sequence

from ftax_micro.findings import Finding

HEADINGS = ("part", "status", "what was found", "what to do")
_STATUSES = ("ok", "warning", "missing", "broken")


def finding_cells(finding: Finding) -> tuple[str, str, str, str]:
    """One line."""
    return finding.part, finding.status, finding.detail, finding.advice or "–"


def tally(findings: Sequence[Finding]) -> str:
    """How many parts are in which state."""
    counts = [(sum(f.status == status for f in findings), status) for status in _STATUSES]
    return f"{len(findings)} checks: " + ", ".join(f"{n} {status}" for n, status in counts if n)


def conclusion(findings: Sequence[Finding]) -> str:
    """What can be measured here, and how to begin."""
    usable = {f.part for f in findings if f.status in {"ok", "warning"}}
    if not {"extension", "cpu device"} <= usable:
        return "nothing can be measured here: see what is broken above"
    devices = ["cpu", *sorted(part for part in usable if part.startswith("cuda:"))]
    without = "" if len(devices) > 1 else "; no GPU, see `cuda driver` above for why"
    names = ", ".join(devices)
    return f"can be measured here: {names}{without}. Begin with python -m ftax_micro.launch_floor"
