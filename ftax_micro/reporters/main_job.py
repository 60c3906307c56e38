"""The main job as a table, markdown and JSON: floor, rungs, models, and what they come to."""

from __future__ import annotations

import msgspec

from ftax_micro.analysis.main_view import MainView
from ftax_micro.analysis.sheet import Sheet
from ftax_micro.reporters import ladder, latency, markdown, sheets, table
from ftax_micro.results import ANSWERS, encode_result


def render_table(view: MainView) -> str:
    """The tables of floor, rungs and models, then what binds these and what to do."""
    parts = [table.render_floor(view.floor), ladder.render_table(view.ladder)]
    parts += [latency.render_table(view.latency), _shortfalls(view)]
    parts += [sheets.render_table([each]) for each in _answers(view)]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def render_markdown(view: MainView) -> str:
    """The tables of floor, rungs and models, then what binds these and what to do."""
    parts = [markdown.render_floor(view.floor), ladder.render_markdown(view.ladder)]
    parts += [latency.render_markdown(view.latency), markdown.bullet_list(view.shortfalls)]
    parts += [sheets.render_markdown([each]) for each in _answers(view)]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def render_json(view: MainView) -> str:
    """The result as it would be saved, and beside it the answers, which are made from it."""
    document = msgspec.json.decode(encode_result(view.result))
    document[ANSWERS] = [sheets.plain_sheet(each) for each in (view.bounds, view.advice)]
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def _answers(view: MainView) -> list[Sheet]:
    """What binds the models and what to do; without a model there is nothing to say of either."""
    return [each for each in (view.bounds, view.advice) if each.rows or each.lines]


def _shortfalls(view: MainView) -> str:
    page = table.Page()
    for line in view.shortfalls:
        page.line(line, "yellow")
    return page.text()
