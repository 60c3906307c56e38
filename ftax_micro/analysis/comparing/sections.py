"""One kind of quantity, compared: which rows there are, which pairs, and what is left over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ftax_micro.analysis.comparing.differences import Difference, row_differences
from ftax_micro.analysis.comparing.matching import (
    NOT_MEASURED,
    Match,
    absence_reason,
    absences,
    difference_reason,
    match_quantities,
    row_title,
)
from ftax_micro.analysis.comparing.parts import Part
from ftax_micro.analysis.comparing.ratios import Ratio, ratio_of
from ftax_micro.analysis.quantities.contract import Kind, Value
from ftax_micro.analysis.summary import setting_text
from ftax_micro.records import Setting


@dataclass(frozen=True)
class ComparedRow:
    """A row in all results, in their order: `values` are None where it is not in one at all, and
    `ratios` are None for the baseline and where nothing could be compared. `quantity` says which of
    several numbers it is (``latency``, ``pipelined`` …); None where there is one alone.
    """

    device: str
    name: str
    setting: Setting
    quantity: str | None
    values: tuple[Value | None, ...]
    ratios: tuple[Ratio | None, ...]

    @property
    def setting_text(self) -> str:
        """The setting on one line."""
        return setting_text(self.setting)

    @property
    def title(self) -> str:
        """Device, name, setting and quantity on one line."""
        return row_title(self.device, self.name, self.setting, self.quantity)


@dataclass(frozen=True)
class Section:
    """The rows of one kind. `sides` are the places of the results that have the kind, against the
    one at `baseline`: that of the comparison, or the first that has it. `repeatable`: a run can
    repeat them in fresh processes.
    """

    kind: str
    title: str
    repeatable: bool
    baseline: int
    sides: tuple[int, ...]
    rows: tuple[ComparedRow, ...]


@dataclass(frozen=True)
class NotCompared:
    """A row of a kind that one result (index `side`) cannot be compared on, and why. `whole_kind`:
    the result has nothing of it, and `row` is the kind's title.
    """

    kind: str
    row: str
    side: int
    reason: str
    quantity: str | None = None
    whole_kind: bool = False


@dataclass(frozen=True)
class Draft:
    """A section before its ratios: how sure these have to be depends on how many there are in all.

    `pairs` are the places of rows and of the sides that can be compared on them.
    """

    kind: Kind
    baseline: int
    sides: tuple[int, ...]
    matches: tuple[Match, ...]
    pairs: tuple[tuple[int, int], ...]
    missing: tuple[NotCompared, ...]

    def section(self, parts: Sequence[Part], level: float, margin: float) -> Section:
        """With ratios whose intervals hold with the confidence `level` each."""
        ratios: list[list[Ratio | None]] = [[None] * len(parts) for _ in self.matches]
        for row, side in self.pairs:
            found = self.matches[row].found
            base, other = found[self.baseline], found[side]
            assert base is not None
            assert other is not None
            one_result = parts[side].index == parts[self.baseline].index
            ratios[row][side] = ratio_of(base, other, level, margin, one_result=one_result)
        rows = tuple(
            ComparedRow(
                *(match.device, match.name, match.setting, match.quantity),
                values=tuple(None if each is None else each.value for each in match.found),
                ratios=tuple(own),
            )
            for match, own in zip(self.matches, ratios, strict=True)
        )
        kind = self.kind
        return Section(kind.name, kind.title, kind.repeatable, self.baseline, self.sides, rows)

    def differences(self) -> list[Difference]:
        """Facts of compared rows that are not those of the baseline's."""
        found: list[Difference] = []
        for side in self.sides:
            places = [row for row, other in self.pairs if other == side]
            pairs = {}
            for match in (self.matches[row] for row in places):
                base, other = match.found[self.baseline], match.found[side]
                if base is not None and other is not None:
                    pairs[match.subject_title] = base, other
            found += row_differences(pairs, side, self.baseline)
        return found


def draft(kind: Kind, parts: Sequence[Part], baseline: int) -> Draft | None:
    """What can be compared of one kind; None where no side has any of it."""
    quantities = [part.quantities[kind.name] for part in parts]
    sides = tuple(place for place, found in enumerate(quantities) if found)
    if not sides:
        return None
    missing = [
        NotCompared(kind.name, kind.title.lower(), place, kind.missing, whole_kind=True)
        for place in range(len(parts))
        if place not in sides
    ]
    base = baseline if baseline in sides else sides[0]
    if len(sides) == 1:
        return Draft(kind, base, sides, (), (), tuple(missing))
    matches = match_quantities(quantities, [part.devices for part in parts])
    told = absences(matches)
    pairs: list[tuple[int, int]] = []
    for row, match in enumerate(matches):
        reasons = _reasons(match, base, sides, told)
        missing += [
            NotCompared(kind.name, match.title, side, why, match.quantity)
            for side, why in reasons.items()
        ]
        if base not in reasons:
            pairs += [(row, side) for side in sides if side not in (base, *reasons)]
    return Draft(kind, base, sides, tuple(matches), tuple(pairs), tuple(missing))


def _reasons(
    match: Match,
    baseline: int,
    sides: Sequence[int],
    told: Mapping[tuple[object, int], str],
) -> dict[int, str]:
    """Why sides cannot be compared on a row. What the baseline lacks is said of it alone."""
    found: dict[int, str] = {}
    base = match.found[baseline]
    for side in (baseline, *(each for each in sides if each != baseline)):
        own = match.found[side]
        if own is None:
            reason: str | None = told.get((match.subject, side), NOT_MEASURED)
        else:
            reason = absence_reason(own, is_baseline=side == baseline)
        if reason is None and own is not None and base is not None:
            reason = difference_reason(base, own)
        if reason is not None:
            found[side] = reason
        if baseline in found:
            break
    return found
