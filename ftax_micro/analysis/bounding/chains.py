"""Repeated launch chains: what fusing sequences of operations that come again would save.

A chain is a sequence of operations that follow each other in a stream, each launched by a call of
its own. Fused it is one launch, as long as all of them: what is saved is launches and gaps, not the
reads and writes between, which only who writes the kernel knows.

The problem: chains are commonly ranked by how many launches they have (SKIP, arXiv 2504.11750), but
a launch that hides behind the device's work costs nothing.
  wrong:  saved = occurrences × (length − 1) × cost of a launch
  right:  saved = T(as it is) − T(fused), with T the pipeline model (`what_if`)

Candidates are maximal repeats (`repeats`). Among them those are chosen that take most off the
model to first order, which is what lies on its critical path: up to the last operation that the
device waited for, the host's time from call to call; behind it, gaps. What a chosen chain saves is
then what the whole model says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.pipeline import (
    NO_CALL,
    Array,
    Booleans,
    CallKind,
    Floor,
    Integers,
    run_pipeline,
)
from ftax_micro.analysis.bounding.repeats import Repeat, choose, maximal_repeats, places_of

# Longer than any kernel that someone fuses; whole layers are what graphs are for.
LONGEST = 32
LEAST_REPEATS = 3
MOST_CHAINS = 10
# Chains are looked for again among what is left, without those that are worth less than this part
# of the best one; so often for so many operations in all.
_WITHIN, _ROUNDS, _SEARCHED = 0.5, 4, 200_000


@dataclass(frozen=True, eq=False)
class Launched:
    """A forward's work, its operations stream by stream, and what a chain may be made of.

    `symbol` (N,) is the same for operations of the same kernel. `joins` (N,): whether the operation
    may be one launch with what is before it, which the caller knows to be of another thread, or to
    wait for the host, or not. `returned_s` is when the forward returns to its caller, 0 where that
    is when the device is done.
    """

    work: DeviceWork
    symbol: Integers
    joins: Booleans
    returned_s: float = 0.0


@dataclass(frozen=True, eq=False)
class Chain:
    """Operations that come again: for each forward the places of the first one, ascending."""

    length: int
    first: tuple[Integers, ...]

    def runs(self, forward: int) -> tuple[tuple[int, int], ...]:
        """Places of the first and last operation of each occurrence, as `what_if.Change` has it."""
        last = self.length - 1
        return tuple((place, place + last) for place in self.first[forward].tolist())


@dataclass(frozen=True, eq=False)
class Found:
    """The chains to take, and how many repeats they were chosen from."""

    chains: tuple[Chain, ...]
    repeats: int


def by_stream(work: DeviceWork) -> tuple[DeviceWork, Integers]:
    """The work with its operations stream by stream, and where each of them was before."""
    order = np.argsort(work.operations.stream, kind="stable")
    operations = replace(
        work.operations,
        duration_s=work.operations.duration_s[order],
        call=work.operations.call[order],
        stream=work.operations.stream[order],
        chained=work.operations.chained[order],
    )
    ordered = replace(
        work,
        operations=operations,
        kind=work.kind[order],
        durations=work.durations[:, order],
        left_over=None if work.left_over is None else work.left_over[order],
    )
    return ordered, order


def launched_alone(work: DeviceWork) -> Booleans:
    """(N,): which operations have a launch call for themselves."""
    call = work.operations.call
    called = call != NO_CALL
    number = np.bincount(call[called], minlength=work.calls.count)
    alone = (number == 1) & (work.calls.kind != CallKind.GRAPH)
    return np.asarray(called & np.concatenate([alone, [False]])[call])


def find_chains(
    forwards: Sequence[Launched],
    floors: Sequence[Floor],
    least: int = LEAST_REPEATS,
    longest: int = LONGEST,
    most: int = MOST_CHAINS,
) -> Found:
    """Up to `most` chains that do not overlap, which come `least` times in a forward on average.

    Those of which fusing saves nothing to first order are left out. Errors: as `run_pipeline`;
    `ValueError` without forwards.
    """
    parts = [_sequence(each, floor) for each, floor in zip(forwards, floors, strict=True)]
    place, forward = _concatenated(parts)
    symbols, worth = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    chosen, repeats = _chosen(symbols, worth, least * len(forwards), longest, most)
    chains = [
        Chain(
            each.length,
            tuple(place[each.first[forward[each.first] == i]] for i in range(len(forwards))),
        )
        for each in chosen
    ]
    return Found(tuple(chains), repeats)


def _chosen(
    symbols: Integers, worth: Array, least: int, longest: int, most: int
) -> tuple[list[Repeat], int]:
    """What to take, and how many repeats there are at first.

    Of a layer longer than the longest chain the best part is taken; what is left of it is a repeat
    that nothing longer hides only then. So more is looked for after the best are taken.
    """
    symbols = symbols.copy()
    rounds = int(np.clip(_SEARCHED // max(1, len(symbols)), 1, _ROUNDS))
    chosen: list[Repeat] = []
    count = 0
    for number in range(rounds):
        unique = symbols < 0
        # Each of what repeats with nothing has a symbol of its own.
        symbols[unique] = -1 - np.arange(int(unique.sum()))
        repeats = maximal_repeats(symbols, longest, least)
        count = count or len(repeats)
        within = 0.0 if number + 1 == rounds else _WITHIN
        more = choose(repeats, worth, least, most - len(chosen), within)
        for each in more:
            symbols[places_of(each)] = NO_CALL
        chosen += more
        if not more or len(chosen) == most:
            break
    return chosen, count


def _sequence(each: Launched, floor: Floor) -> tuple[Integers, Array, Integers]:
    """Symbols of a forward, what saving each is worth, and its place; negative ones (no place of
    theirs) wherever a chain cannot go on.
    """
    stays = launched_alone(each.work)
    symbol = np.where(stays, each.symbol, NO_CALL)
    stream = each.work.operations.stream
    joins = each.joins.copy()
    joins[:1] = False
    joins[1:] &= stream[1:] == stream[:-1]
    border = np.flatnonzero(~joins)
    place = np.insert(np.arange(len(symbol)), border, NO_CALL)
    worth = np.insert(_worth(each, floor), border, 0.0)
    return np.insert(symbol, border, NO_CALL), worth, place


def _concatenated(parts: Sequence[tuple[Integers, Array, Integers]]) -> tuple[Integers, Integers]:
    place = np.concatenate([part[2] for part in parts])
    forward = np.repeat(np.arange(len(parts)), [len(part[2]) for part in parts])
    return place, forward


def _worth(each: Launched, floor: Floor) -> Array:
    """(N,): what the latency loses with each operation's launch, to first order; seconds."""
    work, operations = each.work, each.work.operations
    if not operations.count:
        return np.zeros(0)
    begins = np.median(work.begins, axis=0)
    timeline = run_pipeline(operations, work.calls, begins, floor)
    last = int(np.argmax(timeline.end_s))
    gap = float(np.max(np.asarray(floor.gap, dtype=float)))
    # Of the stream that ends last: the last operation that began later than the device could.
    mine = np.flatnonzero(operations.stream == operations.stream[last])
    until = np.concatenate([[-np.inf], np.maximum.accumulate(timeline.end_s[mine])[:-1]])
    waited = mine[timeline.start_s[mine] > until + gap * (1 + 1e-9)]
    pace = int(waited[waited <= last][-1])
    calls = work.calls.count
    if each.returned_s <= float(timeline.end_s[last]) + float(np.asarray(floor.sync)):
        calls = int(operations.call[pace]) + 1
    step = np.diff(begins, prepend=0.0)
    called = (operations.call != NO_CALL) & (operations.call < calls)
    worth = np.where(called, step[np.where(called, operations.call, 0)] if len(step) else 0.0, 0.0)
    behind = (operations.stream == operations.stream[last]) & (np.arange(len(worth)) > pace)
    return np.asarray(np.where(behind & ~called, gap, worth))
