"""What a report costs: writing its page, and opening it in a browser.

    python bench/report_page.py [--quick] [--large] [-o FILE]

The page is of a made-up result: cases of a GPU with a device pass each, a launch floor and a ladder
of rungs. Writing is a process from its start to its end. A browser's first view is from asking for
the page to its first figure being painted, with the page scrolled to it as soon as it is there, in
headless Chromium driven by Playwright; without either the row is skipped. Before it the words are
painted, with the answer on top. What any page with a figure costs is shown by one of Plotly's on a
page with nothing else, the two in turn. --large adds a page of 20,000 cases, which takes a minute.

write        python -m ftax_micro.report of 200 cases   target: at most 5 s, and 6 MB
first view   of that page                               target: at most 2 s, no error in the console
words        until they are painted, of the same views
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
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
# A page of many figures draws none before it is in sight; a frame later what is drawn is painted.
_WATCH = """
const seen = (plot) => requestAnimationFrame(() => setTimeout(() => {
  if (plot.dataset.drawn) plot.dataset.painted ??= performance.now();
}));
addEventListener("DOMContentLoaded", () => {
  const plot = document.querySelector(".plot");
  plot.scrollIntoView({ behavior: "instant" });
  new MutationObserver(() => seen(plot)).observe(plot, { attributes: true });
  seen(plot);
});
"""
_TOLD = """() => ({
  words_ms: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  figure_ms: Number(document.querySelector(".plot").dataset.painted),
  marks: document.querySelectorAll(".plot[data-drawn] .point").length,
})"""


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
    """Seconds to words and to the first figure. Errors: `RuntimeError` for a message in the
    console, or a figure without anything drawn in it.
    """
    names = f"first view, {cases:,} cases", f"words, {cases:,} cases"
    browsers = _of_tests("browsers")
    executable = browsers.chromium()
    if importlib.util.find_spec("playwright") is None:
        return [skipped(each, "playwright is not installed") for each in names]
    if executable is None:
        return [skipped(each, "no Chromium on this machine") for each in names]
    bare = page.with_name("bare.html")
    bare.write_text(one_figure(), encoding="utf-8")
    views: dict[str, list[View]] = {"ours": [], "one figure": []}
    api = importlib.import_module("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=browsers.FLAGS)
        for _ in range(repeats):
            views["ours"].append(first_view(browser, page))
            views["one figure"].append(first_view(browser, bare))
        browser.close()
    took = {name: [each.figure_s for each in own] for name, own in views.items()}
    words = [each.words_s for each in views["ours"]]
    limit = None if cases > CASES else VIEW_S
    slowest = observed("slowest", max(took["ours"]), "s", limit)
    beside = ratio(took["ours"], took["one figure"], what="over one figure")
    return [
        Row(name=names[0], samples=took, figures=[slowest, beside]),
        Row(
            name=names[1],
            samples={"ours": words},
            figures=[observed("slowest", max(words), "s")],
        ),
    ]


@dataclass(frozen=True)
class View:
    """Seconds from asking for a page until words and until a figure are painted."""

    words_s: float
    figure_s: float


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


def first_view(browser: Any, page: Path) -> View:
    """Of a page in a context of its own, by the browser's clock. Errors: as `viewed`."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.add_init_script(_WATCH)
    opened.goto(page.as_uri(), timeout=0)
    opened.wait_for_selector(".plot[data-painted]", state="attached", timeout=0)
    told = opened.evaluate(_TOLD)
    context.close()
    if complaints:
        raise RuntimeError(f"{len(complaints)} messages in the console, the first: {complaints[0]}")
    if not told["marks"]:
        raise RuntimeError("nothing is drawn in the first figure")
    return View(told["words_ms"] / 1e3, told["figure_ms"] / 1e3)


if __name__ == "__main__":
    sys.exit(main())
