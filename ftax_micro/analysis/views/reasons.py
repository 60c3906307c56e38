"""Why rows have no value, said once for all rows that it holds for.

A sweep of a thousand cases can lack the same thing a thousand times: a page of that hides what else
is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from ftax_micro.analysis.views.contract import Question

# Names in one sentence, sentences of one sheet, and characters of one reason (a compiler's message
# can have thousands); CSV and JSON have everything.
_MOST_NAMES = 3
_MOST_REASONS = 8
_LONGEST = 240


class Subject(NamedTuple):
    """What a reason is about: a case or a step, and its mode where it has one."""

    case: str
    mode: str | None = None


def reason_lines(
    about: Iterable[tuple[Subject, str]], everything: Collection[Subject], noun: str = "cases"
) -> list[str]:
    """A sentence for each reason, those of most subjects first.

    `everything` is what the sheet is about, with reasons or without: a reason of all of it, or of
    all of some modes, needs no names.
    """
    groups: dict[str, dict[Subject, None]] = {}
    for subject, reason in about:
        groups.setdefault(reason, {})[subject] = None
    ordered = sorted(groups.items(), key=lambda each: -len(each[1]))
    lines = [
        f"{_names(subjects, everything, noun)}: {_short(reason)}"
        for reason, subjects in ordered[:_MOST_REASONS]
    ]
    rest = ordered[_MOST_REASONS:]
    if rest:
        number = len({subject for _, subjects in rest for subject in subjects})
        lines.append(
            f"and {len(rest)} more reasons, of {number} {noun}: --format csv or json has them all"
        )
    return lines


def _names(subjects: Collection[Subject], everything: Collection[Subject], noun: str) -> str:
    if len(subjects) > 1 and set(subjects) >= set(everything):
        return f"all {len(subjects)} {noun}"
    if len(subjects) <= _MOST_NAMES:
        return _joined(subjects)
    modes = dict.fromkeys(each.mode for each in subjects)
    told = ", ".join(mode for mode in modes if mode)
    if set(subjects) >= {each for each in everything if each.mode in modes} and told:
        return f"all {len(subjects)} {noun} in {told}"
    first = list(subjects)[:_MOST_NAMES]
    return f"{_joined(first)} and {len(subjects) - len(first)} more of {len(everything)} {noun}"


def _joined(subjects: Collection[Subject]) -> str:
    """The names, each case once with all its modes, a mode of all once."""
    modes = {mode for _, mode in subjects}
    if len(subjects) > 1 and len(modes) == 1 and (mode := modes.pop()) is not None:
        return f"{', '.join(case for case, _ in subjects)} {mode}"
    cases: dict[str, list[str]] = {}
    for case, mode in subjects:
        cases.setdefault(case, []).extend([mode] if mode else [])
    return ", ".join(f"{case} {', '.join(modes)}".strip() for case, modes in cases.items())


def _short(reason: str) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"


def traces_aside(question: Question) -> list[str]:
    """What a view of cases says of traces that it was given."""
    names = ", ".join(name for name, _ in question.traces)
    return [f"{names}: left aside, a trace has no cases in modes and sizes"] if names else []
