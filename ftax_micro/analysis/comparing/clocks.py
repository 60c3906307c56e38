"""How much of a comparison is the cores' clock, which nobody changed?

A core's clock moves by percents from one run to the next, with heat, with the power that others
draw, and in a virtual machine with where the hypervisor puts it; no neighbour is needed for that.
The fixed work, which is nothing but cycles, was timed beside both rows (`undisturbed.works`): five
ladders whose rungs were up to 4.2 % apart were within 1.5 % for most of them per round of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ftax_micro.analysis.comparing.sections import ComparedRow, Section
from ftax_micro.analysis.comparing.sides import Side

# Nearer to each other than this, clocks are told apart by no row.
_SAME_CLOCK = 0.01


def clock_notes(sides: Sequence[Side], baseline: int, sections: Sequence[Section]) -> Iterator[str]:
    """A sentence for each side whose cores had another clock than the baseline's.

    Only of the same build on the same model of cpu, or it would be other work.
    """
    base = sides[baseline]
    if base.cpu is None or base.build is None:
        return
    rows = [row for section in sections for row in section.rows]
    for place, side in enumerate(sides):
        if place == baseline or (side.cpu, side.build) != (base.cpu, base.build):
            continue
        ratios = [ratio for row in rows if (ratio := _ratio(row, place, baseline)) is not None]
        if ratios and abs(median(ratios) - 1) > _SAME_CLOCK:
            yield (
                f"{side.label}: undisturbed, its cores took {median(ratios):.3f} times as long as "
                f"{base.label}'s for the same piece of work beside these rows: so much of each "
                "ratio is their clock"
            )


def _ratio(row: ComparedRow, place: int, baseline: int) -> float | None:
    ours, base = row.values[place], row.values[baseline]
    if ours is None or base is None or ours.work_s is None or base.work_s is None:
        return None
    return ours.work_s / base.work_s
