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
