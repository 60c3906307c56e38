"""JSON: what was computed, in seconds; a floor as its result file, raw samples and all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ftax_micro.analysis.floor.view import FloorView
from ftax_micro.findings import Finding
from ftax_micro.results import encode_result


def render_floor(view: FloorView) -> str:
    """The result as it would be saved."""
    return encode_result(view.result).decode()


def render_diagnosis(findings: Sequence[Finding]) -> str:
    """All findings as a list."""
    return json_document({"kind": "diagnosis", "findings": msgspec.to_builtins(findings)})


def json_document(content: dict[str, Any]) -> str:
    """Indented, with a line end."""
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"
