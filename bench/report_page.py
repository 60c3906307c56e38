"""What a report costs: writing its page, and opening it in a browser.

    python bench/report_page.py [--quick] [--large] [-o FILE]

The page is of a made-up result: cases of a GPU with a device pass each, a launch floor and a ladder
of rungs. Writing is a process from its start to its end. The first view is what the window shows
when the page has been asked for and nobody has scrolled: all of it is there when the largest of its
texts is painted (the Largest Contentful Paint of the Web Vitals) and each figure in it too. It is
taken in headless Chromium driven by Playwright; without either the row is skipped. The first figure
is mostly below that window: its row is of other views, which scroll to it as soon as it is there.
What any figure costs is shown by one of Plotly's on a page with nothing else, the two in turn.
--large adds a page of 20,000 cases, which takes a minute.

write         python -m ftax_micro.report of 200 cases   target: at most 5 s, and 6 MB
first view    of that page                               target: at most 2 s
first figure  of that page; none of the views may write to the browser's console
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from common import ROOT, attempt, finish, observed, parser, ratio
from rows import Row, skipped

from ftax_micro.records import Case
from ftax_micro.results import Result, save_result

CASES, LARGE, FEW = 200, 20_000, 36
WRITE_S, VIEW_S, MEGABYTES = 5.0, 2.0, 6.0
# Cases of one model: six batches, two dtypes, three modes.
_OF_A_MODEL = 36
_PATIENCE_MS = 120_000
_WINDOW = {"width": 1280, "height": 900}
# A page of many figures draws none before it is in sight; a frame later what is drawn is painted.
_WATCH = """
const seen = (plot) => requestAnimationFrame(() => setTimeout(() => {
  if (plot.dataset.drawn) plot.dataset.painted ??= performance.now();
}));
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.largestPaint = each.startTime;
}).observe({ type: "largest-contentful-paint", buffered: true });
addEventListener("DOMContentLoaded", () => {
  const plots = [...document.querySelectorAll(".plot")];
  const watched = plots.filter((plot) => plot.getBoundingClientRect().top < innerHeight);
  if (%s && !watched.length) {
    plots[0].scrollIntoView({ behavior: "instant" });
    watched.push(plots[0]);
  }
  for (const plot of watched) {
    plot.classList.add("watched");
    new MutationObserver(() => seen(plot)).observe(plot, { attributes: true });
    seen(plot);
  }
});
"""
# All that is watched is painted, and nothing larger for a second; texts are watched until a scroll.
_PAINTED = """(scrolled) => {
  const plots = [...document.querySelectorAll(".watched")];
  const figures = plots.map((plot) => Number(plot.dataset.painted ?? Infinity));
  const last = Math.max(window.largestPaint ?? (scrolled ? 0 : Infinity), ...figures);
  return performance.now() > last + 1000 ? last / 1000 : false;
}"""
_EMPTY = """() => [...document.querySelectorAll(".watched")]
  .filter((plot) => !plot.querySelector(".point")).length"""


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
    made = _of_tests("report_results")
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


def _of_tests(name: str) -> Any:
    sys.path.insert(0, str(ROOT / "tests"))
    return importlib.import_module(name)


def written(result: Path, page: Path) -> float:
    """Seconds of a process that writes the page."""
    command = [sys.executable, "-m", "ftax_micro.report", str(result), "-o", str(page), "--force"]
    begin_s = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, cwd=page.parent)
    return time.perf_counter() - begin_s


def viewed(page: Path, cases: int, repeats: int) -> list[Row]:
    """Seconds to the first view and to the first figure. Errors: `RuntimeError` for a message in
    the console, or a figure without anything drawn in it.
    """
    names = f"first view, {cases:,} cases", f"first figure, {cases:,} cases"
    browsers = _of_tests("browsers")
    executable = browsers.chromium()
    if importlib.util.find_spec("playwright") is None:
        return [skipped(each, "playwright is not installed") for each in names]
    if executable is None:
        return [skipped(each, "no Chromium on this machine") for each in names]
    bare = page.with_name("bare.html")
    bare.write_text(one_figure(), encoding="utf-8")
    views: list[float] = []
    figures: dict[str, list[float]] = {"ours": [], "one figure": []}
    api = importlib.import_module("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=browsers.FLAGS)
        for _ in range(repeats):
            views.append(painted_s(browser, page))
            figures["ours"].append(painted_s(browser, page, figure=True))
            figures["one figure"].append(painted_s(browser, bare, figure=True))
        browser.close()
    limit = None if cases > CASES else VIEW_S
    slowest = observed("slowest", max(figures["ours"]), "s")
    beside = ratio(figures["ours"], figures["one figure"], what="over one figure")
    return [
        Row(
            name=names[0],
            samples={"ours": views},
            figures=[observed("slowest", max(views), "s", limit)],
        ),
        Row(name=names[1], samples=figures, figures=[slowest, beside]),
    ]


def one_figure() -> str:
    """The least page with a figure of Plotly's, as its manual has it."""
    library = importlib.import_module("plotly.offline").get_plotlyjs()
    return (
        '<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><p>One figure.</p>'
        f'<div class="plot"></div><script>{library}</script><script>'
        'const plot = document.querySelector(".plot");'
        "Plotly.newPlot(plot, [{ x: [1, 2, 4], y: [1, 1, 2] }])"
        '.then(() => { plot.dataset.drawn = "true"; });</script>'
    )


def painted_s(browser: Any, page: Path, *, figure: bool = False) -> float:
    """Seconds by the browser's clock from asking for a page, in a context of its own, until all
    that its window shows is painted; with `figure`, its first one too. Errors: as `viewed`.
    """
    context = browser.new_context(viewport=_WINDOW)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.add_init_script(_WATCH % json.dumps(figure))
    opened.goto(page.as_uri(), timeout=0)
    found = opened.wait_for_function(_PAINTED, arg=figure, timeout=_PATIENCE_MS)
    seconds, empty = float(found.json_value()), opened.evaluate(_EMPTY)
    context.close()
    if complaints:
        raise RuntimeError(f"{len(complaints)} messages in the console, the first: {complaints[0]}")
    if empty:
        raise RuntimeError("nothing is drawn in a figure")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
