"""Results of several machines, or of one machine before and after, side by side.

Whatever the kind (launch floor, dispatch ladder, model latency, framework tax), it is compared in
the same way: each gives its numbers as quantities, those about the same thing are set against the
baseline's, and what cannot be compared is told with its reason. The intervals of all ratios hold
together, over all kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ftax_micro import stats
from ftax_micro.analysis.comparing.clocks import clock_notes
from ftax_micro.analysis.comparing.differences import Difference, run_differences, told_once
from ftax_micro.analysis.comparing.parts import chosen, open_kinds, split, whole_parts
from ftax_micro.analysis.comparing.ratios import RatioVerdict
from ftax_micro.analysis.comparing.sections import ComparedRow, NotCompared, Section, draft
from ftax_micro.analysis.comparing.sides import Side, describe_sides
from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.results import Result


@dataclass(frozen=True)
class Comparison:
    """Several results against one of them, `sides[baseline]`.

    `confidence` holds for all `comparisons` ratios together, `margin` is the relative difference
    that counts as none (0.02 = 2 %). `differences` are facts that were not the same, `notes` what
    concerns the table as a whole.
    """

    sides: tuple[Side, ...]
    baseline: int
    confidence: float
    margin: float
    comparisons: int
    sections: tuple[Section, ...]
    not_compared: tuple[NotCompared, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    @property
    def rows(self) -> tuple[ComparedRow, ...]:
        """The rows of all sections."""
        return tuple(row for section in self.sections for row in section.rows)

    def count(self, verdict: RatioVerdict) -> int:
        """How many ratios have this verdict."""
        return sum(r is not None and r.verdict == verdict for row in self.rows for r in row.ratios)


def compare_results(
    results: Sequence[Result],
    *,
    baseline: int | str = 0,
    confidence: float = 0.95,
    margin: float = 0.02,
    labels: Sequence[str] | None = None,
    probes: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    by: str | None = None,
) -> Comparison:
    """`results` row by row against one of them: floors, ladders, model latencies, taxes.

    A row is ``slower`` or ``faster`` where its interval lies wholly beyond `margin`, ``same`` where
    it lies wholly within, ``ambiguous`` otherwise; a count is ``different`` where it is either of
    the first two. `labels` name the results (default: their host names), `baseline` is one of
    these, or counts from 0. `probes` restrict the comparison to these rows, rungs, models, modes
    or quantities, `kinds` to some of ``floor``, ``ladder``, ``latency``, ``tax``; a kind is
    compared among the results that have it. `by` (``mode``, ``dtype``, ``device``, a setting …)
    compares within results: a side for each of its values, paired where they took turns. Pure:
    nothing is measured or drawn.

    Errors: `UsageError` for fewer than two results (with `by`: sides), a margin or a confidence
    that makes no sense; `UnknownNameError` for a baseline, probe, kind or key that is none.
    """
    _check(results, confidence, margin, by)
    opened = open_kinds(kinds)
    parts = chosen(whole_parts(results, labels, opened, confidence), probes)
    left_out: list[str] = []
    if by is not None:
        parts, left_out = split(parts, by, opened)
        if len(parts) < 2:
            raise UsageError(f"a comparison needs two sides or more: by {by} there is but one")
    sides = describe_sides([results[part.index] for part in parts], [p.label for p in parts])
    base = _baseline(baseline, sides)
    found = [draft(kind, parts, base) for kind in opened]
    drafts = [each for each in found if each is not None]
    comparisons = sum(len(each.pairs) for each in drafts)
    level = stats.familywise(confidence, comparisons)
    sections = tuple(each.section(parts, level, margin) for each in drafts if each.matches)
    of_runs = run_differences(results, [part.index for part in parts], base)
    of_rows = [difference for each in drafts for difference in each.differences()]
    return Comparison(
        sides=sides,
        baseline=base,
        confidence=confidence,
        margin=margin,
        comparisons=comparisons,
        sections=sections,
        not_compared=tuple(absent for each in drafts for absent in each.missing),
        differences=tuple(told_once(of_runs, of_rows)),
        notes=(*left_out, *_notes(sides, base, sections, len(results))),
    )


def _check(results: Sequence[Result], confidence: float, margin: float, by: str | None) -> None:
    if len(results) < (2 if by is None else 1):
        raise UsageError(f"a comparison needs two results or more, not {len(results)}")
    if not 0 <= margin < 1:
        raise UsageError(f"a margin of {margin:g} is not from 0 up to below 1")
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence of {confidence:g} is not between 0 and 1")


def _baseline(baseline: int | str, sides: Sequence[Side]) -> int:
    labels = [side.label for side in sides]
    if isinstance(baseline, str):
        if baseline not in labels:
            raise UnknownNameError("baseline", baseline, labels)
        return labels.index(baseline)
    if not 0 <= baseline < len(sides):
        raise UsageError(f"baseline {baseline} is none of the {len(sides)} results (from 0)")
    return baseline


def _notes(
    sides: Sequence[Side], baseline: int, sections: Sequence[Section], results: int
) -> list[str]:
    """What a reader has to know before believing the table."""
    notes: list[str] = []
    base = sides[baseline]
    for side in sides:
        if side is not base:
            notes += base.differences(side)
        if not side.complete:
            notes.append(f"{side.label} is incomplete: {side.incomplete_reason}")
    ratios = [(s.repeatable, r) for s in sections for row in s.rows for r in row.ratios if r]
    if ratios and all(ratio.identical for _, ratio in ratios):
        notes.append("the results hold the same samples: one run is compared with itself")
        return notes
    notes += clock_notes(sides, baseline, sections)
    notes += _single_process_notes(sections)
    if results > 1 and any(not repeatable and not r.paired for repeatable, r in ratios):
        notes.append(
            "models were timed in one run on each side: what differs from run to run is in no "
            "interval, so repeat both runs before trusting small differences"
        )
    return notes


def _single_process_notes(sections: Sequence[Section]) -> Iterator[str]:
    """A sentence where rows that more processes could repeat are of one, on any side."""
    rows = [row for section in sections if section.repeatable for row in section.rows]
    compared = [row for row in rows if any(row.ratios)]
    single = [row for row in compared if min(v.processes for v in row.values if v) == 1]
    if single:
        some = len(single) < len(compared)
        which = f", which measured {len(single)} of {len(compared)} rows," if some else ""
        yield (
            f"a single process{which} hides what differs from run to run (layout, placement): "
            "repeat with --processes 5 before trusting small differences"
        )
