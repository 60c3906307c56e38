"""A report as one HTML page that needs no network.

Words and tables are plain HTML, there before any script runs. Figures are Plotly's: its JavaScript
comes from the Python package and travels packed in the page, which a browser unpacks (since 2023).
"""

from __future__ import annotations

import html
import importlib.util
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template

from ftax_micro.analysis.floor.view import FloorView
from ftax_micro.analysis.report.figure import Figure
from ftax_micro.analysis.report.page import Page, Section
from ftax_micro.errors import FtaxError, MissingPackageError
from ftax_micro.reporters import cells
from ftax_micro.reporters.page.figures import plotly_figure
from ftax_micro.reporters.page.tables import packed, script_json, sheet_html

# A section of more figures hides the others behind a line: they are drawn when it is opened.
_MOST_FIGURES = 12
# More than so many of a section would make a page that no browser opens soon.
_MOST_ON_PAGE = 120
_NOT_HERE = (
    "more figures of this section are not on this page: the same command with --format svg and a "
    "folder for -o writes all of them, with their data as CSV."
)
# So many sentences of a section stand open, so many notes are worth a table of their own.
_MOST_LINES = 20
_MOST_SOURCES = 8
_UNIT = re.compile(r"(\d) (%|×|[nµm]?s\b)")


def check_page() -> None:
    """Errors: `MissingPackageError` where Plotly is not installed."""
    if importlib.util.find_spec("plotly") is None:
        raise MissingPackageError("plotly", "report")


def render_page(page: Page) -> str:
    """The whole document. Errors: as `check_page`."""
    check_page()
    sections = [_section(section) for section in page.sections]
    links = (
        f'<a href="#{section.key}">{html.escape(section.short)}</a>' for section in page.sections
    )
    return Template(_asset("page.html")).substitute(
        title=html.escape(page.title),
        sources=_sources(page.sources),
        version=html.escape(page.tool_version),
        style=_asset("page.css"),
        navigation="\n".join(links),
        sections="\n".join(sections),
        script=_asset("page.js"),
        plotly=_plotly() if page.figures else "",
    )


@cache
def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise FtaxError(f"plotly cannot be imported: {error}") from error
    return packed(get_plotlyjs())


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _section(section: Section) -> str:
    figures, left = section.figures[:_MOST_FIGURES], section.figures[_MOST_FIGURES:_MOST_ON_PAGE]
    parts = [f'<h2 id="{section.key}-heading">{html.escape(section.heading)}</h2>']
    if section.missing is not None:
        parts.append(f'<p class="missing">{html.escape(section.missing)}</p>')
    parts.append(_lines(section.lines))
    parts += [f"<h3>{html.escape(name)}</h3>{_lines(lines)}" for name, lines in section.groups]
    parts += [_figure(figure) for figure in figures]
    if left:
        hidden = "".join(_figure(figure) for figure in left)
        parts.append(f"<details><summary>{len(left)} more figures</summary>{hidden}</details>")
    if len(section.figures) > _MOST_ON_PAGE:
        parts.append(f"<p>{len(section.figures) - _MOST_ON_PAGE} {_NOT_HERE}</p>")
    parts += [
        sheet_html(sheet, f"{section.key}-table-{index}")
        for index, sheet in enumerate(section.sheets)
    ]
    parts.append(_notes(section))
    body = "\n".join(part for part in parts if part)
    return (
        f'<section id="{section.key}" aria-labelledby="{section.key}-heading">\n{body}\n</section>'
    )


def _sources(lines: Sequence[str]) -> str:
    told = [f"<p>Of {html.escape(line)}</p>" for line in lines[:_MOST_SOURCES]]
    if left := len(lines) - _MOST_SOURCES:
        told += [f"<p>and {left} more files</p>"] if left > 0 else []
    return "\n".join(told)


def _sentence(text: str) -> str:
    """A number and its unit stay together at the end of a line."""
    return _UNIT.sub("\\1\u00a0\\2", html.escape(text))


def _lines(lines: Sequence[str]) -> str:
    """Sentences as a list; a long one folds."""
    if not lines:
        return ""
    items = [f"<li>{_sentence(line)}</li>" for line in lines]
    shown = f"<ul>{''.join(items[:_MOST_LINES])}</ul>"
    rest = items[_MOST_LINES:]
    if not rest:
        return shown
    return f"{shown}<details><summary>{len(rest)} more</summary><ul>{''.join(rest)}</ul></details>"


def _notes(section: Section) -> str:
    """What the measured rows themselves have to say."""
    lines = list(section.notes)
    for view in section.views:
        lines += cells.notes(view)
        if isinstance(view, FloorView):
            lines += [cells.closure_line(view, each) for each in view.closures]
            lines += [cells.gap_line(view, each) for each in view.gaps]
            lines += [cells.break_even_line(view, each) for each in view.break_evens]
    if not lines:
        return ""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    title = f"{len(lines)} {'note' if len(lines) == 1 else 'notes'} on these numbers"
    return f'<details class="notes"><summary>{title}</summary><ul>{items}</ul></details>'


def _figure(figure: Figure) -> str:
    drawing = plotly_figure(figure)
    data, height = script_json(drawing), drawing["layout"]["height"]
    key = html.escape(figure.name, quote=True)
    return (
        f'<figure class="{figure.kind}"><figcaption>{html.escape(figure.title)}</figcaption>'
        f'<div class="plot" data-name="{key}" style="min-height:{height}px" role="img" '
        f'aria-label="{html.escape(figure.summary, quote=True)}"></div>'
        f'<p class="summary">{html.escape(figure.summary)}</p>'
        f'<details class="data"><summary>Data of this figure</summary></details>'
        f'<script type="application/json" class="figure">{data}</script></figure>'
    )
