"""JSON: the result file itself, raw samples and all."""

from __future__ import annotations

from ftax_micro.analysis.floor_view import FloorView
from ftax_micro.results import encode_result


def render_floor(view: FloorView) -> str:
    """The result as it would be saved."""
    return encode_result(view.result).decode()
