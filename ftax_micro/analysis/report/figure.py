"""A figure as data, independent of what draws it: axes, series, marks, and a table of all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ftax_micro.analysis.sheet import Unit

Number = float | None
Kind = Literal["curves", "points", "bars", "stack", "timeline"]
# Kinds whose y axis is a list of names, and whose values lie along x.
LYING = ("bars", "stack", "timeline")


@dataclass(frozen=True)
class Axis:
    """What an axis shows; `names`: one place after the other, the first one on top."""

    title: str
    unit: Unit = Unit.COUNT
    log: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """Points of one name. All tuples that are not empty are of one length.

    `y` of a lying figure are places in its axis' names. `low` and `high` are the interval of the
    value (y of curves and points, else x). `start` is where a span of a timeline begins, `x` its
    length. `labels` say what each point is. Series of one `colour` and one `style` look alike: the
    two are any words, such as a mode and a dtype.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[Number, ...] = ()
    high: tuple[Number, ...] = ()
    start: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    colour: str = ""
    style: str = ""


@dataclass(frozen=True)
class Rule:
    """A place on the x axis that is worth a vertical line, with its interval, of one series."""

    series: str
    x: float
    low: Number
    high: Number
    text: str


@dataclass(frozen=True)
class Figure:
    """One picture. `name` is a word for files; `summary` says in sentences what it shows, for those
    who do not see it.

    `links` join two points each, as a host call and the operation it caused: (x, y, x, y).
    """

    name: str
    title: str
    kind: Kind
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    summary: str
    rules: tuple[Rule, ...] = ()
    links: tuple[tuple[float, float, float, float], ...] = ()

    @property
    def lying(self) -> bool:
        """Whether values lie along x, beside names."""
        return self.kind in LYING


def table_of(figure: Figure) -> tuple[list[str], list[list[str | Number]]]:
    """The figure's data: headings with units, a row for each point, and one for each rule, whose
    interval is one of x.
    """
    value = _heading(figure.x if figure.lying else figure.y)
    other = (figure.y if figure.lying else figure.x).title
    extent = ["start_s"] if figure.kind == "timeline" else []
    headings = ["series", other, *extent, value, f"{value}_low", f"{value}_high", "label"]
    rows: list[list[str | Number]] = []
    for series in figure.series:
        for index in range(len(series.x)):
            x, y = series.x[index], series.y[index]
            place: str | Number = x
            if figure.lying:
                place, y = figure.y.names[int(y)], x
            begin: list[str | Number] = [series.start[index]] if extent else []
            low, high = _at(series.low, index), _at(series.high, index)
            label = series.labels[index] if series.labels else ""
            rows.append([series.name, place, *begin, y, low, high, label])
    rows += [[rule.series, rule.x, None, rule.low, rule.high, rule.text] for rule in figure.rules]
    return headings, rows


def _at(values: tuple[Number, ...], index: int) -> Number:
    return values[index] if values else None


def _heading(axis: Axis) -> str:
    return axis.title + ("_s" if axis.unit is Unit.SECONDS else "")


def slug(*parts: object) -> str:
    """Words as one file name: letters, digits and dashes."""
    text = "-".join(str(part) for part in parts if part not in (None, ""))
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "-" for c in text)
    return "-".join(part for part in kept.split("-") if part).lower()
