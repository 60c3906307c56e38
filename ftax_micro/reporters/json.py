"""JSON: what was computed, in seconds; a floor as its result file, raw samples and all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ftax_micro.analysis.comparison import Comparison
from ftax_micro.analysis.floor_view import FloorView
from ftax_micro.findings import Finding
from ftax_micro.results import encode_result


def render_floor(view: FloorView) -> str:
    """The result as it would be saved."""
    return encode_result(view.result).decode()


def render_comparison(comparison: Comparison) -> str:
    """All fields of the comparison under their names."""
    return _document({"kind": "comparison", **msgspec.to_builtins(comparison)})


def render_diagnosis(findings: Sequence[Finding]) -> str:
    """All findings as a list."""
    return _document({"kind": "diagnosis", "findings": msgspec.to_builtins(findings)})


def _document(content: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"
