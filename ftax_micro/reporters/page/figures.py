"""Figures as Plotly's JSON: traces and a layout, without the colours of light and dark.

Plotly reads a small HTML in texts, so that every text of ours is escaped. A trace that a reader can
switch off takes its band, its rule and its points along: they are one legend group.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from ftax_micro.analysis.report.figure import Axis, Figure, Number, Rule, Series
from ftax_micro.analysis.sheet import Unit
from ftax_micro.reporters.palette import look
from ftax_micro.reporters.scales import bar_ends, ticks, value_text

Json = dict[str, Any]
# Names of C++ kernels may be thousands of characters long.
_LONGEST = 120
# So many lines between lanes hide what is below them, unless they are faint.
_MANY_LINKS = 200
# Points have no line to be dashed: what is of another dtype is hollow.
_FILLED = {"solid": "", "dash": "-open", "dot": "-open-dot", "dashdot": "-dot"}
_PIXELS_A_NAME, _PIXELS_A_LANE, _PIXELS_AROUND, _PIXELS = 26, 90, 150, 460


def plotly_figure(figure: Figure) -> Json:
    """``{"data": …, "layout": …}``."""
    looks = look(figure)
    traces: list[Json] = []
    for series in figure.series:
        colour, dash, symbol = looks[series.name]
        if figure.kind == "curves":
            traces += _curve(figure, series, colour, dash, symbol)
        elif figure.kind == "points":
            traces.append(_cloud(figure, series, colour, symbol + _FILLED[dash]))
        else:
            traces.append(_bars(figure, series, colour))
    if figure.rules:
        traces += _rules(figure, {name: each[0] for name, each in looks.items()})
    if figure.links:
        traces.append(_links(figure))
    return {"data": traces, "layout": _layout(figure)}


def _curve(figure: Figure, series: Series, colour: str, dash: str, symbol: str) -> list[Json]:
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": _rounded(series.x),
        "y": _rounded(series.y),
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"symbol": symbol, "size": 7},
        **_common(figure, series),
    }
    known = [
        (x, low, high)
        for x, low, high in zip(series.x, series.low, series.high, strict=True)
        if low is not None and high is not None
    ]
    if len(known) < 2:
        return [line]
    there, back = known, known[::-1]
    band = {
        "type": "scatter",
        "mode": "lines",
        "x": _rounded([x for x, _, _ in (*there, *back)]),
        "y": _rounded([*(high for _, _, high in there), *(low for _, low, _ in back)]),
        "fill": "toself",
        "fillcolor": _faint(colour),
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": html.escape(series.name),
    }
    return [band, line]


def _cloud(figure: Figure, series: Series, colour: str, symbol: str) -> Json:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": _rounded(series.x),
        "y": _rounded(series.y),
        "marker": {"color": colour, "symbol": symbol, "size": 9, "opacity": 0.85},
        "error_y": _whiskers(series, series.y),
        **_common(figure, series),
    }


def _bars(figure: Figure, series: Series, colour: str) -> Json:
    trace: Json = {
        "type": "bar",
        "orientation": "h",
        "x": _rounded(series.x),
        "y": list(series.y),
        "marker": {"color": colour},
        **_common(figure, series),
    }
    if series.start:
        trace["base"] = _rounded(series.start)
        trace["width"] = 0.6
        # Operations shorter than a pixel are still drawn.
        trace["marker"]["line"] = {"color": colour, "width": 0.5}
    if series.low and figure.kind == "bars":
        trace["error_x"] = _whiskers(series, series.x)
    return trace


def _common(figure: Figure, series: Series) -> Json:
    name = html.escape(series.name)
    return {
        "name": name,
        "legendgroup": name,
        "hoverinfo": "text",
        "hovertext": [_hover(figure, series, index) for index in range(len(series.x))],
        "meta": "data",
    }


def _hover(figure: Figure, series: Series, index: int) -> str:
    value = series.x[index] if figure.lying else series.y[index]
    axis = figure.x if figure.lying else figure.y
    text = value_text(value, axis.unit)
    if series.low and series.high:
        low, high = series.low[index], series.high[index]
        if low is not None and high is not None:
            text += f" ({value_text(low, axis.unit)} … {value_text(high, axis.unit)})"
    if series.start:
        text += f" from {value_text(series.start[index], axis.unit)}"
    elif not figure.lying:
        text += f" at {figure.x.title} {value_text(series.x[index], figure.x.unit)}"
    label = series.labels[index] if series.labels else ""
    return html.escape(f"{text}, {_cut(label)}" if label else text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _whiskers(series: Series, values: Sequence[float]) -> Json:
    def reach(ends: Sequence[Number], sign: int) -> list[float]:
        pairs = zip(ends, values, strict=True)
        return _rounded([0.0 if end is None else max(0.0, sign * (end - v)) for end, v in pairs])

    known = {"type": "data", "symmetric": False, "thickness": 1, "width": 3}
    return {**known, "array": reach(series.high, 1), "arrayminus": reach(series.low, -1)}


def _rules(figure: Figure, colours: dict[str, str]) -> list[Json]:
    """Vertical lines from the lowest to the highest value, and their intervals."""
    values = [value for series in figure.series for value in series.y]
    low, high = min(values), max(values)
    traces: list[Json] = []
    for rule in figure.rules:
        colour = colours.get(rule.series, "#999999")
        common = {
            "type": "scatter",
            "mode": "lines",
            "legendgroup": html.escape(rule.series),
            "showlegend": False,
        }
        if rule.low is not None and rule.high is not None:
            x = [rule.low, rule.low, rule.high, rule.high]
            area = {"fill": "toself", "fillcolor": _faint(colour, 0.06), "line": {"width": 0}}
            around = {"x": _rounded(x), "y": _rounded([low, high, high, low])}
            traces.append({**common, **area, **around, "hoverinfo": "skip"})
        traces.append({**common, "mode": "lines+text", **_rule(rule, colour, low, high)})
    return traces


def _rule(rule: Rule, colour: str, low: float, high: float) -> Json:
    # Several places, so that a pointer finds it all along.
    steps = [math.exp(math.log(low) + (math.log(high) - math.log(low)) * n / 8) for n in range(9)]
    return {
        "x": _rounded([rule.x] * len(steps)),
        "y": _rounded(steps),
        "line": {"color": colour, "dash": "dot", "width": 1.5},
        "hoverinfo": "text",
        "hovertext": html.escape(rule.text),
        "text": [*([""] * (len(steps) - 1)), f"{rule.x:.3g}"],
        "textposition": "top center",
        "textfont": {"color": colour, "size": 11},
    }


def _links(figure: Figure) -> Json:
    alpha = 0.45 if len(figure.links) < _MANY_LINKS else 0.2
    x: list[float | None] = []
    y: list[float | None] = []
    for x0, y0, x1, y1 in figure.links:
        x += [*_rounded([x0, x1]), None]
        y += [y0 + 0.3, y1 - 0.3, None]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "from call to operation",
        "x": x,
        "y": y,
        "line": {"color": f"rgba(128,128,128,{alpha})", "width": 0.7},
        "hoverinfo": "skip",
    }


def _layout(figure: Figure) -> Json:
    height = _PIXELS
    if figure.lying:
        each = _PIXELS_A_LANE if figure.kind == "timeline" else _PIXELS_A_NAME
        height = _PIXELS_AROUND + each * len(figure.y.names)
    several = len(figure.series) > 1 or bool(figure.links)
    layout: Json = {
        "height": height,
        "margin": {"l": 60, "r": 20, "t": 20, "b": 50},
        "xaxis": _axis(
            figure.x,
            [value for each in figure.series for value in each.x],
            barred=figure.kind == "bars",
        ),
        "yaxis": _axis(figure.y, [value for each in figure.series for value in each.y]),
        "hovermode": "closest",
        "showlegend": several,
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0, "xanchor": "left"},
        "barmode": {"stack": "relative", "timeline": "overlay"}.get(figure.kind, "overlay"),
        "meta": {"lying": figure.lying, "x": figure.x.title, "y": figure.y.title},
    }
    if figure.kind == "timeline":
        layout["xaxis"]["rangemode"] = "tozero"  # so that one can be laid beside the next
    return layout


def _axis(axis: Axis, values: Sequence[float], *, barred: bool = False) -> Json:
    found: Json = {"title": {"text": html.escape(axis.title)}, "automargin": True}
    if axis.names:
        found["tickvals"] = list(range(len(axis.names)))
        found["ticktext"] = [html.escape(_cut(name)) for name in axis.names]
        found["range"] = [len(axis.names) - 0.4, -0.6]
        found.pop("title")
        return found
    if axis.log:
        places = ticks(axis, values)
        texts = [value_text(each, axis.unit) for each in places]
        found |= {"type": "log", "tickvals": places, "ticktext": texts}
        if barred and values:
            found["range"] = [math.log10(end) for end in bar_ends(values)]
    elif axis.unit is Unit.SECONDS:
        # d3's SI prefixes: 10 µs rather than 1e-05.
        found |= {"tickformat": "~s", "ticksuffix": "s", "exponentformat": "SI"}
    return found


def _rounded(values: Sequence[float]) -> list[float]:
    """Seven digits: more than anything here is known to, and half the size."""
    return [float(f"{value:.7g}") for value in values]


def _faint(colour: str, alpha: float = 0.2) -> str:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
