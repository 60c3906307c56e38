"""The main job as a table, markdown and JSON: floor, rungs, models, and what they come to."""

from __future__ import annotations

from ftax_micro.analysis.main_view import PAPER_SAMPLES, Fastest, MainView
from ftax_micro.reporters import ladder, latency, markdown, table
from ftax_micro.results import encode_result
from ftax_micro.units import format_seconds


def render_table(view: MainView) -> str:
    """The tables of floor, rungs and models, then a line for each answer."""
    answers = "\n".join(_answers(view))
    parts = [table.render_floor(view.floor), ladder.render_table(view.ladder)]
    parts += [latency.render_table(view.latency), answers]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def render_markdown(view: MainView) -> str:
    """The tables of floor, rungs and models, then a list of the answers."""
    answers = markdown.bullet_list(_answers(view))
    parts = [markdown.render_floor(view.floor), ladder.render_markdown(view.ladder)]
    parts += [latency.render_markdown(view.latency), answers]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def render_json(view: MainView) -> str:
    """The result as it would be saved."""
    return encode_result(view.result).decode()


def _answers(view: MainView) -> list[str]:
    lines = [_answer(each) for each in view.fastest]
    if view.fewer_samples:
        which = ", ".join(
            f"{row.case.model} {row.case.mode} {len(row.case.latency.samples)}"
            for row in view.fewer_samples
            if row.case.latency
        )
        lines.append(f"fewer samples than the paper's {PAPER_SAMPLES}, for want of time: {which}")
    return lines


def _answer(fastest: Fastest) -> str:
    eager = fastest.eager.latency
    assert eager is not None  # a row with a time
    took = f"{fastest.model}: {format_seconds(eager.value)} in eager"
    best = fastest.best
    if best is None or best.latency is None or best.speedup is None:
        return f"{took}; no other mode was measured"
    speedup = best.speedup
    between = "" if speedup.low is None else f" ({speedup.low:.2f} … {speedup.high:.2f})"
    own = format_seconds(best.latency.value)
    if speedup.low is not None and speedup.low <= 1:
        return f"{took}; no mode is faster beyond doubt, {best.case.mode} at {own} comes nearest"
    times = f"{speedup.value:.2f} × as fast{between}"
    return f"{took}, {own} in {best.case.mode}, its fastest mode: {times}"
