"""What the main job answers, from its floor and its cases."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ftax_micro.analysis.floor_view import FloorView, floor_view
from ftax_micro.analysis.ladder_view import LadderView, ladder_view
from ftax_micro.analysis.latency_view import CaseSummary, LatencyView, latency_view
from ftax_micro.results import Result

# The paper's protocol.
PAPER_SAMPLES = 100
_REFERENCE = "eager"


@dataclass(frozen=True)
class Fastest:
    """The mode that a model is fastest in, beside eager; None where only eager has a time."""

    model: str
    eager: CaseSummary
    best: CaseSummary | None


@dataclass(frozen=True)
class MainView:
    """Floor, rungs and model latencies of one result, what they come to, and what falls short."""

    result: Result
    floor: FloorView
    ladder: LadderView
    latency: LatencyView
    fastest: list[Fastest]
    fewer_samples: list[CaseSummary]


def main_view(result: Result) -> MainView:
    """The view of `result`; pure, so a saved file renders as it did when it was measured."""
    # Whether the run is whole is said once, below the models.
    anatomy = msgspec.structs.replace(result, complete=True, incomplete_reason=None)
    latency = latency_view(result)
    timed = [row for row in latency.rows if row.latency is not None]
    few = [row for row in timed if _samples(row) < PAPER_SAMPLES]
    return MainView(
        result, floor_view(anatomy), ladder_view(anatomy), latency, _fastest(timed), few
    )


def _fastest(rows: list[CaseSummary]) -> list[Fastest]:
    found = []
    for model in dict.fromkeys(row.case.model for row in rows):
        own = [row for row in rows if row.case.model == model]
        eager = next((row for row in own if row.case.mode == _REFERENCE), None)
        if eager is None:
            continue
        others = [row for row in own if row.speedup is not None and row is not eager]
        best = max(others, key=lambda row: row.speedup.value if row.speedup else 0.0, default=None)
        found.append(Fastest(model, eager, best))
    return found


def _samples(row: CaseSummary) -> int:
    return len(row.case.latency.samples) if row.case.latency else 0
