"""Pipelines of known begins, durations and floors, and the model as the design writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.pipeline import NO_CALL, Array, CallKind, Calls, Floor, Operations
from ftax_micro.analysis.floor.values import FloorValues, given_value

US = 1e-6
FLOOR = Floor(
    to_start=4 * US,
    gap=1 * US,
    sync=3 * US,
    submit={
        CallKind.LAUNCH: 2 * US,
        CallKind.COPY: 5 * US,
        CallKind.SET: 1 * US,
        CallKind.GRAPH: 6 * US,
    },
    graph_submit_node=0.1 * US,
    graph_start=7 * US,
    graph_gap=0.5 * US,
)


def operations(
    durations_us: Sequence[float],
    call: Sequence[int] | None = None,
    stream: Sequence[int] | None = None,
    chained: Sequence[bool] | None = None,
) -> Operations:
    """In one stream, each of a call of its own, unless said otherwise."""
    number = len(durations_us)
    return Operations(
        duration_s=np.asarray(durations_us, dtype=float) * US,
        call=np.asarray(range(number) if call is None else call, dtype=np.int64),
        stream=np.asarray([0] * number if stream is None else stream, dtype=np.int64),
        chained=np.asarray([True] * number if chained is None else chained, dtype=bool),
    )


def calls(*kinds: CallKind, thread: Sequence[int] | None = None) -> Calls:
    """Of one thread unless said otherwise."""
    return Calls(
        np.asarray(kinds, dtype=np.int64),
        np.asarray([0] * len(kinds) if thread is None else thread, dtype=np.int64),
    )


def launches(number: int) -> Calls:
    """So many kernel launches."""
    return calls(*[CallKind.LAUNCH] * number)


def loop(ops: Operations, asked: Calls, begins: Array, floor: Any) -> float:
    """The recurrence as it is written in the design."""
    ends: list[float] = []
    latest: dict[int, float] = {}
    last: dict[int, int] = {}
    for i in range(ops.count):
        call, stream = int(ops.call[i]), int(ops.stream[i])
        graph = call != NO_CALL and asked.kind[call] == CallKind.GRAPH
        start = 0.0
        if call != NO_CALL:
            start = begins[call] + (floor.graph_start if graph else floor.to_start)
        if stream in latest and ops.chained[i]:
            inside = graph and last[stream] == call
            start = max(start, latest[stream] + (floor.graph_gap if inside else floor.gap))
        ends.append(start + ops.duration_s[i])
        latest[stream] = max(latest.get(stream, -np.inf), ends[-1])
        last[stream] = call
    return float(max(ends) + floor.sync) if ends else 0.0


@st.composite
def pipelines(draw: Any) -> tuple[Operations, Calls, Array]:
    """Any mix of calls, graphs, streams and overlaps, with the begins of the calls."""
    kinds = draw(st.lists(st.sampled_from(list(CallKind)), max_size=8))
    owners = draw(st.lists(st.integers(-1, len(kinds) - 1), max_size=20))
    number = len(owners)

    def each(values: Any) -> Any:
        return draw(st.lists(values, min_size=number, max_size=number))

    ops = operations(
        each(st.floats(0, 50)), sorted(owners), each(st.integers(0, 2)), each(st.booleans())
    )
    steps = draw(st.lists(st.floats(0, 20), min_size=len(kinds), max_size=len(kinds)))
    return ops, calls(*kinds), np.cumsum(steps) * US


def given_floor(floor: Floor = FLOOR) -> FloorValues:
    """`floor`, as stated and without noise; of its graph, a null kernel of 1 µs."""
    gap = float(np.asarray(floor.graph_gap))
    launch = float(np.asarray(floor.graph_start)) + float(np.asarray(floor.sync)) - gap
    return FloorValues(
        to_start=given_value(float(np.asarray(floor.to_start))),
        gap=given_value(float(np.asarray(floor.gap))),
        sync=given_value(float(np.asarray(floor.sync))),
        submit={kind: given_value(float(np.asarray(v))) for kind, v in floor.submit.items()},
        graph_launch=given_value(launch),
        graph_node=given_value(gap + US),
        graph_submit_node=given_value(float(np.asarray(floor.graph_submit_node))),
        kernel_duration=given_value(US),
        call_direct=given_value(2e-9),
    )


def noisy(value: Any, rng: np.random.Generator, size: int, spread: float) -> Array:
    """(size, …): right-skewed samples, each with its value as the median of its distribution."""
    value = np.asarray(value, dtype=float)
    drawn = rng.gamma(2.0, size=(size, *value.shape)) - 1.678347
    return np.asarray(value * np.exp(spread * drawn))


def work_of(
    ops: Operations, asked: Calls, begins: Any = (), samples: Array | None = None
) -> DeviceWork:
    """One forward of it, or as many as there are `samples` (forwards, N) of the durations."""
    durations = ops.duration_s[np.newaxis] if samples is None else samples
    called = np.asarray(begins if len(begins) else np.zeros(asked.count), dtype=float)
    return DeviceWork(
        operations=replace(ops, duration_s=np.median(durations, axis=0)),
        calls=asked,
        kind=np.zeros(ops.count, dtype=np.int64),
        durations=durations,
        begins=np.repeat(called[np.newaxis], len(durations), axis=0),
    )


@st.composite
def mixed_forwards(draw: Any, durations_us: Any, steps_us: Any, chained: Any) -> Any:
    """Operations, calls and when these begin: any mix of kinds, graphs, threads, streams, overlaps
    and operations without a call. What an operation takes, when the next call begins and whether an
    operation waits for the one before are drawn from strategies.
    """
    kinds = draw(st.lists(st.sampled_from(list(CallKind)), min_size=1, max_size=6))
    owners = [
        each
        for place, kind in enumerate(kinds)
        for each in [place] * (draw(st.integers(1, 4)) if kind == CallKind.GRAPH else 1)
    ]
    owners = [NO_CALL] * draw(st.integers(0, 2)) + owners

    def each(values: Any, of: Any = owners) -> Any:
        return draw(st.lists(values, min_size=len(of), max_size=len(of)))

    threads = each(st.integers(0, 1), of=kinds)
    begins = np.cumsum(each(steps_us, of=kinds)) * US
    ops = operations(each(durations_us), owners, each(st.integers(0, 2)), each(chained))
    return ops, calls(*kinds, thread=threads), begins
