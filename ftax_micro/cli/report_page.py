"""A report written to a file, for every command that writes one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ftax_micro.analysis.views.contract import Question


def check_page_file(path: Path, *, force: bool) -> None:
    """Whether a page can be written to `path`, before the work it is about.

    Errors: `MissingPackageError` without Plotly; those of `results.check_output`.
    """
    from ftax_micro.reporters.page import check_page
    from ftax_micro.results import check_output

    check_page()
    check_output(path, force=force)


def write_page(question: Question, path: Path, *, force: bool) -> None:
    """The report on `question` as one page. Errors: as `check_page_file`."""
    from ftax_micro import __version__
    from ftax_micro.analysis.report import build_page
    from ftax_micro.reporters.page import render_page
    from ftax_micro.results import save_bytes

    page = build_page(question, __version__)
    save_bytes(render_page(page).encode(), path, force=force)
