"""The figures of a report as files for a paper, drawn by Matplotlib, with their data as CSV.

Vector where the format is one, text as text (TrueType, never type 3), colours for the colour-blind.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftax_micro.analysis.report.figure import Axis, Figure, Number, Series, table_of
from ftax_micro.analysis.report.page import Page
from ftax_micro.errors import MissingPackageError, OutputError, UsageError
from ftax_micro.reporters.palette import look
from ftax_micro.reporters.scales import bar_ends, ticks, value_text
from ftax_micro.results import save_bytes

# Of Matplotlib: text stays text, in fonts that journals take, and files are the same each time.
_SETTINGS: dict[Any, Any] = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "ftax_micro",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
}
_MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "P",
    "x": "X",
    "triangle-up": "^",
    "triangle-down": "v",
    "star": "*",
}
_LINES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
# Points have no line to be dashed: what is of another dtype is hollow.
_FILLED = {"-": "full", "--": "none", ":": "top", "-.": "bottom"}
_WIDTH, _HEIGHT, _INCHES_A_NAME, _INCHES_A_LANE, _INCHES_AROUND = 7.0, 4.2, 0.24, 0.8, 1.4
_TITLE_WIDTH, _LONGEST_NAME = 95, 60
_DPI = 200


def check_folder(path: Path, form: str, *, force: bool) -> None:
    """Errors: `MissingPackageError`; `UsageError` for a file, or for a folder that has something in
    it without `force`; `OutputError` where it cannot be made.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingPackageError("matplotlib", "report")
    try:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file; --format {form} writes into a folder")
        if path.is_dir() and any(path.iterdir()) and not force:
            raise UsageError(f"{path} is not empty; --force writes into it all the same")
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        words = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise OutputError(f"cannot write into {path}: {words}") from error


def write_pictures(page: Page, folder: Path, form: str, *, force: bool = False) -> int:
    """A picture and a CSV for each figure of `page`; how many. Errors: as `check_folder`, and
    `OutputError` where there is none to draw.
    """
    check_folder(folder, form, force=force)
    if not page.figures:
        raise OutputError(f"nothing was written into {folder}: the files have nothing to draw")
    for figure, name in zip(page.figures, _names(page.figures), strict=True):
        save_bytes(draw(figure, form), folder / f"{name}.{form}", force=force)
        save_bytes(_csv(figure).encode(), folder / f"{name}.csv", force=force)
    return len(page.figures)


def _names(figures: Sequence[Figure]) -> list[str]:
    """A file name for each: that of the figure, numbered where two have the same."""
    seen: dict[str, int] = {}
    names = []
    for figure in figures:
        seen[figure.name] = count = seen.get(figure.name, 0) + 1
        names.append(figure.name if count == 1 else f"{figure.name}-{count}")
    return names


def _csv(figure: Figure) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    headings, rows = table_of(figure)
    writer.writerow(headings)
    writer.writerows(
        ["" if c is None else f"{c:.9g}" if isinstance(c, float) else c for c in row]
        for row in rows
    )
    return text.getvalue()


def draw(figure: Figure, form: str) -> bytes:
    """`figure` as a file of `form`."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context(_SETTINGS):
        height = _HEIGHT
        if figure.lying:
            each = _INCHES_A_LANE if figure.kind == "timeline" else _INCHES_A_NAME
            height = _INCHES_AROUND + each * len(figure.y.names)
        canvas = Canvas(figsize=(_WIDTH, height), layout="constrained")
        axes = canvas.subplots()
        _fill(axes, figure)
        axes.set_title(_text("\n".join(textwrap.wrap(figure.title, _TITLE_WIDTH))), loc="left")
        if len(figure.series) > 1:
            canvas.legend(loc="outside lower center", ncols=4)
        stream = io.BytesIO()
        # No date, so that the same data are the same file.
        dated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
        canvas.savefig(stream, format=form, dpi=_DPI, metadata=dated[form])
    return stream.getvalue()


def _fill(axes: Any, figure: Figure) -> None:
    looks = look(figure)
    left = [0.0] * len(figure.y.names)
    below = [0.0] * len(figure.y.names)
    # The scale first: it brings formatters of its own.
    axes.set_xscale("log" if figure.x.log else "linear")
    axes.set_yscale("log" if figure.y.log else "linear")
    values = [value for series in figure.series for value in series.x]
    _scale(axes.xaxis, figure.x, values)
    _scale(axes.yaxis, figure.y, [value for series in figure.series for value in series.y])
    for series in figure.series:
        colour, dash, symbol = looks[series.name]
        if figure.kind in ("curves", "points"):
            _points(axes, figure, series, colour, _LINES[dash], _MARKERS[symbol])
        elif figure.kind == "stack":
            _stacked(axes, series, colour, left, below)
        else:
            _bars(axes, series, colour)
    for rule in figure.rules:
        colour = looks[rule.series][0]
        axes.axvline(rule.x, color=colour, linestyle=":", linewidth=1)
        if rule.low is not None and rule.high is not None:
            axes.axvspan(rule.low, rule.high, color=colour, alpha=0.06, linewidth=0)
    for x0, y0, x1, y1 in figure.links:
        axes.plot([x0, x1], [y0 + 0.3, y1 - 0.3], color="#999999", linewidth=0.3, zorder=0)
    # Ticks that lie beyond the marks would widen the axis.
    if figure.kind == "bars":
        axes.set_xlim(*bar_ends(values))
    elif figure.kind == "timeline":
        axes.set_xlim(left=min(0.0, *(start for each in figure.series for start in each.start)))
    _dress(axes, figure)


def _dress(axes: Any, figure: Figure) -> None:
    """Names, grid and the place of zero, after the marks are there."""
    names = figure.y.names
    if names:
        axes.set_yticks(range(len(names)), [_text(_cut(name)) for name in names], fontsize=8)
        axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(figure.x.title)
    if not names:
        axes.set_ylabel(figure.y.title)
    axes.grid(visible=True, axis="x" if names else "both", color="#e3e6ea", linewidth=0.6)
    axes.set_axisbelow(True)


def _scale(axis: Any, shown: Axis, values: Sequence[float]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    def text(value: float, _: object) -> str:
        return value_text(value, shown.unit) if value else "0"

    if shown.log:
        axis.set_major_locator(FixedLocator(ticks(shown, values)))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    if not shown.names:
        axis.set_major_formatter(FuncFormatter(text))


def _points(axes: Any, figure: Figure, series: Series, colour: str, line: str, marker: str) -> None:
    style = line if figure.kind == "curves" else ""
    common = {"color": colour, "marker": marker, "markersize": 4, "label": _text(series.name)}
    if figure.kind == "points":
        reach = _reach(series, series.y)
        look_of = {"linestyle": "", "elinewidth": 0.7, "fillstyle": _FILLED[line], **common}
        axes.errorbar(series.x, series.y, yerr=reach, **look_of)
        return
    axes.plot(series.x, series.y, linestyle=style, linewidth=1.3, **common)
    known = [
        (x, low, high)
        for x, low, high in zip(series.x, series.low, series.high, strict=True)
        if low is not None and high is not None
    ]
    if len(known) > 1:
        axes.fill_between(*zip(*known, strict=True), color=colour, alpha=0.2, linewidth=0)


def _stacked(axes: Any, series: Series, colour: str, right: list[float], left: list[float]) -> None:
    """Positive parts to the right of each other, negative ones to the left."""
    starts = []
    for value, place in zip(series.x, map(int, series.y), strict=True):
        side = right if value >= 0 else left
        starts.append(side[place])
        side[place] += value
    axes.barh(series.y, series.x, left=starts, color=colour, height=0.7, label=_text(series.name))


def _bars(axes: Any, series: Series, colour: str) -> None:
    if series.start:
        common = {"height": 0.6, "color": colour, "edgecolor": colour, "linewidth": 0.2}
        axes.barh(series.y, series.x, left=series.start, label=_text(series.name), **common)
        return
    reach = _reach(series, series.x) if series.low else None
    bars = {"height": 0.7, "color": colour, "label": _text(series.name)}
    axes.barh(series.y, series.x, xerr=reach, error_kw={"elinewidth": 0.8, "capsize": 2}, **bars)


def _reach(series: Series, values: Sequence[float]) -> list[list[float]]:
    def ends(found: Sequence[Number], sign: int) -> list[float]:
        pairs = zip(found, values, strict=True)
        return [0.0 if end is None else max(0.0, sign * (end - value)) for end, value in pairs]

    return [ends(series.low, -1), ends(series.high, 1)]


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _text(text: str) -> str:
    """Words that Matplotlib takes as they are: a dollar would begin a formula."""
    return text.replace("$", r"\$")
