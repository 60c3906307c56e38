"""What a report costs: writing its page, and opening it in a browser.

    python bench/report_page.py [--quick] [--large] [-o FILE]

The page is of a made-up result: cases of a GPU with a device pass each, a launch floor and a ladder
of rungs. Writing is a process from its start to its end. A browser's first view is from asking for
the page to its first figure being drawn, in headless Chromium driven by Playwright; without either
the row is skipped. --large adds a page of 20,000 cases, which takes minutes.

write        python -m ftax_micro.report of 200 cases   target: at most 5 s, and 6 MB
first view   of that page                               target: at most 2 s, no error in the console
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from common import ROOT, attempt, finish, observed, parser
from rows import Row, skipped

from ftax_micro.records import Case
from ftax_micro.results import Result, save_result

CASES, LARGE, FEW = 200, 20_000, 36
WRITE_S, VIEW_S, MEGABYTES = 5.0, 2.0, 6.0
# Cases of one model: six batches, two dtypes, three modes.
_OF_A_MODEL = 36
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--large", action="store_true", help=f"also a page of {LARGE:,} cases")
    args = arguments.parse_args(argv)
    cases, repeats = (FEW, 1) if args.quick else (CASES, 5)
    rows = attempt("report_page", lambda: measured(cases, repeats))
    if args.large:
        rows += attempt("report_page", lambda: measured(LARGE, 1))
    return finish("report_page", rows, args, {"cases": cases, "repeats": repeats})


def measured(cases: int, repeats: int) -> list[Row]:
    """Writing the page of so many cases, its size, and its first view."""
    if importlib.util.find_spec("plotly") is None:
        return [skipped(f"write, {cases:,} cases", "plotly is not installed")]
    with tempfile.TemporaryDirectory() as folder:
        result, page = Path(folder) / "models.json", Path(folder) / "report.html"
        save_result(made_up(cases), result)
        took = [written(result, page) for _ in range(repeats)]
        size = page.stat().st_size / 1e6
        # Targets are of the usual study; larger ones are for knowing.
        seconds, megabytes = (None, None) if cases > CASES else (WRITE_S, MEGABYTES)
        slowest = observed("slowest", max(took), "s", seconds)
        whole = observed("megabytes", size, "count", megabytes)
        return [
            Row(name=f"write, {cases:,} cases", samples={"ours": took}, figures=[slowest]),
            Row(
                name=f"size, {cases:,} cases",
                unit="count",
                samples={"ours": [size]},
                figures=[whole],
            ),
            *attempt(f"first view, {cases:,} cases", lambda: viewed(page, cases, repeats)),
        ]


def made_up(cases: int) -> Result:
    """A result with so many cases. Of a large one only the first have device passes: with all of
    them it would be a gigabyte.
    """
    sys.path.insert(0, str(ROOT / "tests"))
    made = importlib.import_module("report_results")
    models = [f"model_{number}" for number in range(-(-cases // _OF_A_MODEL))]
    few = models[: -(-CASES // _OF_A_MODEL)]
    whole: Result = made.swept(*few)
    more = [
        msgspec.structs.replace(each, model=model, device_pass=None)
        for model in models[len(few) :]
        for each in whole.cases[:_OF_A_MODEL]
    ]
    own: list[Case] = [*whole.cases, *more][:cases]
    return msgspec.structs.replace(whole, cases=own)


def written(result: Path, page: Path) -> float:
    """Seconds of a process that writes the page."""
    command = [sys.executable, "-m", "ftax_micro.report", str(result), "-o", str(page), "--force"]
    begin_s = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, cwd=page.parent)
    return time.perf_counter() - begin_s


def viewed(page: Path, cases: int, repeats: int) -> Row:
    """Seconds to the first figure. Errors: `RuntimeError` for a message in the console."""
    name = f"first view, {cases:,} cases"
    executable = os.environ.get("FTAX_MICRO_CHROMIUM") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if importlib.util.find_spec("playwright") is None:
        return skipped(name, "playwright is not installed")
    if executable is None:
        return skipped(name, "no Chromium on this machine")
    api = importlib.import_module("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        views = [first_view(browser, page) for _ in range(repeats)]
        browser.close()
    told = [each for _, complaints in views for each in complaints]
    if told:
        raise RuntimeError(f"{len(told)} messages in the console, the first: {told[0]}")
    took = [each for each, _ in views]
    limit = None if cases > CASES else VIEW_S
    return Row(
        name=name, samples={"ours": took}, figures=[observed("slowest", max(took), "s", limit)]
    )


def first_view(browser: Any, page: Path) -> tuple[float, list[str]]:
    """Seconds until a figure is drawn, and the messages in the console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    begin_s = time.perf_counter()
    opened.goto(page.as_uri(), timeout=0)
    # A page of many figures draws none before it is in sight.
    opened.locator(".plot").first.scroll_into_view_if_needed(timeout=0)
    opened.wait_for_selector(".plot[data-drawn]", state="attached", timeout=0)
    took = time.perf_counter() - begin_s
    context.close()
    return took, complaints


if __name__ == "__main__":
    sys.exit(main())
