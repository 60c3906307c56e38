"""What the main job answers: what binds each model in each mode, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ftax_micro.analysis.advice.advisor import advise_result
from ftax_micro.analysis.bounding.cases import CaseBounds, result_bounds
from ftax_micro.analysis.bounding.rows import BoundRow, rows_of_cases
from ftax_micro.analysis.floor.view import FloorView, floor_view
from ftax_micro.analysis.ladder_view import LadderView, ladder_view
from ftax_micro.analysis.latency_view import CaseSummary, LatencyView, latency_view
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.analysis.views.advice import advice_sheet
from ftax_micro.analysis.views.reasons import Subject, reason_lines
from ftax_micro.records import Case
from ftax_micro.results import Result

# The paper's protocol.
PAPER_SAMPLES = 100
_COLUMNS = (
    Column("model", "model", folds=True),
    Column("mode", "mode"),
    Column("latency", "latency", Unit.SECONDS),
    Column("device_bound", "device bound", Unit.SECONDS, spare=0),
    Column("tax", "framework tax", Unit.SECONDS, interval=True),
    Column("tax_share", "share", Unit.SHARE),
    Column("regime", "regime"),
)
_LEGEND = (
    "device bound: what the operations alone would take; framework tax: what is left of the "
    "latency beyond that and the least that this machine takes to start them"
)
_TWINS = (
    "on the cpu that is what a model's zero-work twin takes: the same operations in the same mode "
    "with next to nothing to compute"
)


@dataclass(frozen=True)
class MainView:
    """Floor, rungs and model latencies of one result, what they come to, and what falls short.

    `bounds` has a row for each model in each mode that has bounds, `advice` the sentences.
    """

    result: Result
    floor: FloorView
    ladder: LadderView
    latency: LatencyView
    bounds: Sheet
    advice: Sheet
    shortfalls: list[str]


def main_view(result: Result) -> MainView:
    """The view of `result`; pure, so a saved file renders as it did when it was measured."""
    # Whether the run is whole is said once, below the models.
    anatomy = msgspec.structs.replace(result, complete=True, incomplete_reason=None)
    models = [case for case in result.cases if not case.twin]
    latency = latency_view(msgspec.structs.replace(result, cases=models))
    bounds = result_bounds(result)
    return MainView(
        result,
        floor_view(anatomy),
        ladder_view(anatomy),
        latency,
        _bounds_sheet(bounds),
        advice_sheet(advise_result("", result, bounds)),
        [*_few(latency.rows), *_twins(result.cases)],
    )


def _bounds_sheet(bounds: list[CaseBounds]) -> Sheet:
    pairs = zip(bounds, rows_of_cases("", bounds), strict=True)
    known = [(found.case, row) for found, row in pairs if row.latency is not None]
    legend = f"{_LEGEND}; {_TWINS}" if any(_inline(case) for case, _ in known) else _LEGEND
    subjects = [_subject(case) for case, _ in known]
    notes = [(_subject(case), note) for case, row in known for note in row.notes]
    return Sheet(
        "bounds",
        "What binds the models" if known else None,
        _COLUMNS,
        tuple(_row(*each) for each in known),
        (legend, *reason_lines(notes, subjects)) if known else (),
    )


def _row(case: Case, row: BoundRow) -> Row:
    own = (case.model, case.mode, row.latency, row.device_bound, row.tax, row.tax_share)
    return Row((*own, row.regime))


def _subject(case: Case) -> Subject:
    return Subject(case.model, case.mode)


def _inline(case: Case) -> bool:
    return case.device == "cpu"


def _few(rows: list[CaseSummary]) -> list[str]:
    which = ", ".join(
        f"{row.case.model} {row.case.mode} {len(row.case.latency.samples)}"
        for row in rows
        if row.case.latency and len(row.case.latency.samples) < PAPER_SAMPLES
    )
    few = f"fewer samples than the paper's {PAPER_SAMPLES}, for want of time: {which}"
    return [few] if which else []


def _twins(cases: list[Case]) -> list[str]:
    """Twins that went wrong: their models' bounds are missing for that."""
    return [
        f"the zero-work twin of {case.model} in {case.mode}: failed, {case.reason}"
        for case in cases
        if case.twin and case.status == "failed"
    ]
