"""The dispatch ladder as a picture: a bar per rung, with its interval, drawn by Matplotlib."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftax_micro.analysis.ladder_view import LadderRow, LadderView
from ftax_micro.errors import MissingPackageError, OutputError, UsageError
from ftax_micro.reporters import cells
from ftax_micro.units import format_seconds

_ENDINGS = (".svg", ".png", ".pdf")
# Colours that stay apart in grey and for the colour-blind (Okabe and Ito, 2008), by operation.
_COLOURS = {"call": "#999999", "kernel": "#0072B2", "add": "#E69F00"}
_MEANINGS = {
    "call": "call of an empty function",
    "kernel": "launch of an empty kernel",
    "add": "add of two one-element tensors",
}
_INCHES_PER_BAR, _INCHES_AROUND, _WIDTH = 0.27, 1.4, 9.0
_DPI = 150


def check_picture(path: Path) -> None:
    """Errors: `UsageError` for an ending that is none of a picture; `MissingPackageError`."""
    if path.suffix not in _ENDINGS:
        raise UsageError(f"{path} ends in none of {', '.join(_ENDINGS)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingPackageError("matplotlib", "report")


def draw_ladder(view: LadderView, path: Path) -> None:
    """Draw `view` into `path`. Errors: as `check_picture`; `OutputError` where it cannot be written
    or there is nothing to draw.
    """
    check_picture(path)
    devices = [device for device in view.result.devices if view.on(device)]
    if not devices:
        raise OutputError(f"{path} was not drawn: no rung has a value")
    from matplotlib.figure import Figure

    sizes = [len(view.on(device)) for device in devices]
    height = sum(sizes) * _INCHES_PER_BAR + len(devices) * _INCHES_AROUND
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    every = figure.subplots(len(devices), 1, squeeze=False, height_ratios=sizes)
    for axes, device in zip(every[:, 0], devices, strict=True):
        _draw_device(axes, view.on(device))
        axes.set_title(f"Dispatch ladder of {cells.title(device)}", loc="left", fontsize=10)
    level = f"{view.result.plan.confidence * 100:.4g} %"
    every[-1, 0].set_xlabel(f"host time per operation, with its {level} interval (log scale)")
    try:
        figure.savefig(path, dpi=_DPI)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


def _draw_device(axes: Any, rows: Sequence[LadderRow]) -> None:
    """Bars on a logarithmic scale: layers are a thousandfold apart, and what counts is how many
    times one is another.
    """
    from matplotlib.ticker import FuncFormatter, NullFormatter

    values = [row.slope.value for row in rows if row.slope]
    least = min(value for value in values if value > 0)
    start = 10 ** math.floor(math.log10(least))
    for place, row in enumerate(rows):
        slope = row.slope
        if slope is None or slope.value <= 0:
            continue
        colour = _COLOURS.get(row.operation, _COLOURS["call"])
        axes.barh(place, slope.value - start, left=start, color=colour, height=0.7)
        if slope.low is not None and slope.high is not None:
            reach = [[slope.value - max(slope.low, start)], [slope.high - slope.value]]
            axes.errorbar(slope.value, place, xerr=reach, color="black", capsize=2, lw=1)
        end = slope.high if slope.high is not None else slope.value
        axes.annotate(
            format_seconds(slope.value),
            (max(end, slope.value), place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.set_xlim(start, max(values) * 4)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    _explain(axes, {row.operation for row in rows})


def _label(row: LadderRow) -> str:
    return row.rung if row.arguments is None else f"{row.rung}, {row.arguments} arguments"


def _explain(axes: Any, operations: set[str]) -> None:
    from matplotlib.patches import Patch

    known = [name for name in _COLOURS if name in operations]
    handles = [Patch(color=_COLOURS[name], label=_MEANINGS[name]) for name in known]
    axes.legend(handles=handles, loc="lower right", fontsize=8, frameon=False)
