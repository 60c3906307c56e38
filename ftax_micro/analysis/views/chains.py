"""Sequences of launches that come again, and what fusing each into one launch would save."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ftax_micro.analysis.bounding.chain_rows import STREAMS, ChainRow, Chains, case_chains
from ftax_micro.analysis.bounding.chains import LEAST_REPEATS, LONGEST
from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.floor.values import FloorValues, floor_values
from ftax_micro.analysis.names import kernel_name, legible
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit, named_source
from ftax_micro.analysis.traces.chains import TraceChains
from ftax_micro.analysis.traces.correlation import correlate
from ftax_micro.analysis.traces.machine_floor import charged_floors
from ftax_micro.analysis.views.contract import Question, View
from ftax_micro.analysis.views.reasons import Subject, reason_lines
from ftax_micro.stats import Estimate
from ftax_micro.units import format_seconds

COLUMNS = (
    Column("source", None, folds=True, spare=0, once=True),
    Column("case", "case", folds=True, once=True),
    Column("mode", "mode", once=True, spare=1),
    Column("chain", "chain", folds=True),
    Column("op", "op", folds=True, spare=4),
    Column("length", "long", Unit.COUNT, spare=3),
    Column("occurrences", "times", Unit.COUNT, spare=5),
    Column("launches_saved", None, Unit.COUNT),
    Column("saved", "saved", Unit.SECONDS, interval=True),
    Column("saved_share", "share", Unit.SHARE),
    Column("counted", "counted", Unit.SECONDS, spare=2),
    Column("kernels", None),
    Column("latency", None, Unit.SECONDS),
)
MEANING = (
    f"chains of 2 to {LONGEST} launches that come {LEAST_REPEATS} times or more in a forward or "
    "step; 'saved' is what the pipeline model makes of launching each as one kernel that takes as "
    "long: the host's time from launch to launch where the device waits for it, else gaps; "
    "'counted' is what counting launches would say, each at the floor of a launch call"
)
# Kernels of a chain, and characters of a name; CSV and JSON have all.
_SHOWN, _LONGEST_NAME = 4, 36


class _Found(NamedTuple):
    source: str
    case: str
    mode: str | None
    chains: Chains


def build(question: Question) -> Sheet:
    """The chains of every case on a GPU and of every device of the traces."""
    found = [*_of_results(question), *_of_traces(question)]
    rows = tuple(row for each in found for row in _rows(each))
    columns = (named_source(COLUMNS[0], [each.source for each in found]), *COLUMNS[1:])
    lines = [MEANING] if rows else []
    subjects = [Subject(question.prefix(each.source) + each.case, each.mode) for each in found]
    pairs = list(zip(subjects, found, strict=True))
    lines += [line for subject, each in pairs for line in _below(subject, each.chains)]
    reasons = [
        (subject, f"no chains, {each.chains.reason}")
        for subject, each in pairs
        if each.chains.reason
    ]
    lines += reason_lines(reasons, subjects)
    return Sheet("chains", None, columns, rows, tuple(lines))


VIEW = View("repeated launch chains, and what fusing them would save", build)


def _of_results(question: Question) -> Iterator[_Found]:
    for models in question.models:
        floors: dict[str, FloorValues] = {}
        for each in models.bounds:
            case = each.case
            if case.device not in floors:
                floors[case.device] = floor_values(models.floor, case.device)
            chains = case_chains(each, floors[case.device], models.result.plan.confidence)
            yield _Found(models.source, case_label(case), case.mode, chains)


def _of_traces(question: Question) -> Iterator[_Found]:
    for name, trace in question.traces:
        correlation = correlate(trace)
        floors = charged_floors(trace, correlation, question.trace_floor(trace))
        chains = TraceChains(trace, correlation)
        for device, where, mine in question.steps_by_device(trace, correlation):
            floor, why = floors.get(device, (None, None))
            yield _Found(name, where, None, chains.of(mine, floor, why))


def _rows(found: _Found) -> Iterator[Row]:
    latency = found.chains.latency
    for row in found.chains.rows:
        share = row.saved.value / latency.value if latency and latency.value > 0 else None
        cells = (
            *(found.source, found.case, found.mode, chain_text(row), _op(row)),
            *(len(row.kernels), row.occurrences, row.launches_saved, row.saved, share),
            *(row.counted_s, " → ".join(map(legible, row.kernels)), latency),
        )
        yield Row(cells, row.saved.value > 0)


def chain_text(row: ChainRow) -> str:
    """The chain in a few words: its first kernels by their own names."""
    names = [_short(kernel_name(each)) for each in row.kernels]
    if len(set(names)) == 1:
        return f"{len(names)} × {names[0]}"
    shown = " → ".join(names[:_SHOWN])
    left = len(names) - _SHOWN
    return f"{shown} → {left} more" if left > 0 else shown


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _op(row: ChainRow) -> str | None:
    """The op that it is inside of, else those that launch it."""
    if row.op is not None:
        return legible(row.op)
    names = list(dict.fromkeys(legible(op) for op in row.ops if op))
    more = len(names) - _SHOWN
    text = ", ".join(names[:_SHOWN])
    return (f"{text} and {more} more" if more > 0 else text) or None


def _below(subject: Subject, chains: Chains) -> list[str]:
    name = " ".join(part for part in subject if part)
    lines = []
    saving = sum(row.saved.value > 0 for row in chains.rows)
    if saving and chains.together and chains.latency:
        idle = ""
        if chains.idle is not None:
            idle = f", of which the device was idle {format_seconds(chains.idle.value)}"
        lines.append(
            f"{name}: fusing {_number(len(chains.rows))} saves {_interval(chains.together)} of "
            f"{format_seconds(chains.latency.value)}{idle}"
        )
        if chains.idle is not None and chains.together.value > chains.idle.value:
            why = ""
            if STREAMS in chains.notes:
                why = ": the rest is streams side by side, if none waits for another"
            lines.append(f"{name}: that is more than the device was idle{why}")
    if saving < len(chains.rows):
        lines.append(
            f"{name}: fusing {_number(len(chains.rows) - saving)} saves nothing, since the device "
            "does not wait for them"
        )
    return lines + [f"{name}: {note}" for note in chains.notes]


def _number(chains: int) -> str:
    return "one chain" if chains == 1 else f"{chains} chains"


def _interval(found: Estimate) -> str:
    text = format_seconds(found.value)
    if found.low is None or found.high is None:
        return text
    return f"{text} ({format_seconds(found.low)} … {format_seconds(found.high)})"
