"""The device pass of a case, and the schedules of its bounds, as a timeline.

An edge of what was measured is the median of that edge over the forwards: where in each forward one
thing is over before another begins, it is so here. A mean, or a median begin with a median duration
behind it, has things overlap that never did.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ftax_micro.analysis.bounding.cases import NO_STREAM, CaseBounds, device_work, run_order
from ftax_micro.analysis.bounding.joint import DeviceWork
from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.floor.values import FloorValues
from ftax_micro.analysis.tracks.contract import (
    NONE,
    NOTHING,
    Fact,
    Facts,
    Ints,
    Layer,
    Planned,
    Stretches,
    Timeline,
    nanoseconds,
)
from ftax_micro.analysis.tracks.layers import (
    HOST,
    about_bounds,
    bound_layers,
    schedule_layer,
    timeline,
)
from ftax_micro.analysis.tracks.schedules import predicted_schedule
from ftax_micro.records import Case, DeviceOperation, DevicePass, HostCall


def case_name(case: Case) -> str:
    """A case in words, with its mode."""
    return f"{case_label(case)}, {case.mode}"


def planned(name: str, found: CaseBounds, floor: FloorValues) -> Planned:
    """The timeline of a case that has a device pass with operations, by the floor of its device."""
    return Planned(name, partial(_timeline, found, floor))


def measured_layer(found: CaseBounds) -> Layer:
    """What was measured of a case that has a device pass with operations."""
    done, _, work = _traced(found)
    return _measured(found, done, work, _Edges(done.calls))


def _timeline(found: CaseBounds, values: FloorValues, name: str) -> Timeline:
    done, host_s, work = _traced(found)
    calls = _Edges(done.calls)
    measured = _measured(found, done, work, calls)
    floor = values.point() if found.bounds is not None else None
    layers = bound_layers(work, found.bounds, floor, measured)
    if found.forward is not None and floor is not None:
        # Calls begin and return after the same shares of the host's time as under the tracer.
        scale = 1.0 if host_s is None else host_s / np.array(done.host_s)[:, np.newaxis]
        returns = np.median(calls.end * scale, axis=0)
        schedule = predicted_schedule(work, floor, returns, host_s or 0.0)
        facts: dict[str, Fact] = {"predicted_s": schedule.end_s}
        if host_s is not None:
            facts["host_s"] = host_s
        layers.append(schedule_layer(schedule, measured, facts, measured.calls.name))
    return timeline(name, measured, np.zeros(0, dtype=np.int64), layers)


def _traced(found: CaseBounds) -> tuple[DevicePass, float | None, DeviceWork]:
    """The device pass, the host's time without a tracer where it is known, and the work."""
    done = found.case.device_pass
    assert done is not None  # whoever plans has looked
    host = found.case.host.samples if found.case.host is not None else []
    host_s = float(np.median(host)) if host else None
    return done, host_s, device_work(done, host_s)


class _Edges:
    """(forwards, places): when calls or operations begin and end, and how long they take."""

    def __init__(self, found: Sequence[HostCall] | Sequence[DeviceOperation]) -> None:
        begins = [each.begin_s if isinstance(each, HostCall) else each.start_s for each in found]
        took = [each.duration_s for each in found]
        self.start, self.duration = (
            np.array(each, dtype=float).T if each else np.zeros((1, 0)) for each in (begins, took)
        )
        self.end = self.start + self.duration

    def stretch(self) -> tuple[Ints, Ints]:
        """(places,): the median edges."""
        return nanoseconds(np.median(self.start, axis=0)), nanoseconds(np.median(self.end, axis=0))

    def durations(self) -> list[dict[str, Fact]]:
        """Of each place the median, the least and the most."""
        columns = (
            np.median(self.duration, axis=0).tolist(),
            self.duration.min(axis=0).tolist(),
            self.duration.max(axis=0).tolist(),
        )
        names = ("duration_s", "duration_least_s", "duration_most_s")
        return [dict(zip(names, each, strict=True)) for each in zip(*columns, strict=True)]


def _measured(found: CaseBounds, done: DevicePass, work: DeviceWork, calls: _Edges) -> Layer:
    return Layer(
        name="measured",
        measured=True,
        end_ns=int(nanoseconds(np.median(done.latency_s))),
        calls=_calls(done, calls) if done.calls else NOTHING,
        operations=_operations(found.case, done, work, calls),
        call=work.operations.call,
        facts=_about(found, done),
    )


def _calls(done: DevicePass, edges: _Edges) -> Stretches:
    start, end = edges.stretch()
    number = len(done.calls)
    return Stretches(
        name=[each.name for each in done.calls],
        kind=["call"] * number,
        row=np.zeros(number, dtype=np.int64),
        rows={0: HOST},
        start_ns=start,
        end_ns=end,
        facts=[{"correlation": place, **each} for place, each in enumerate(edges.durations())],
    )


def _operations(case: Case, done: DevicePass, work: DeviceWork, calls: _Edges) -> Stretches:
    operations = [done.operations[place] for place in run_order(done).tolist()]
    edges, call = _Edges(operations), work.operations.call
    start, end = edges.stretch()
    asked, first = np.unique(call, return_index=True)
    asked, first = asked[asked != NONE], first[asked != NONE]
    delays: dict[int, float] = {}
    if len(first):
        late = np.median(edges.start[:, first] - calls.end[:, asked], axis=0)
        delays = dict(zip(first.tolist(), late.tolist(), strict=True))
    streams = np.unique(work.operations.stream).tolist()
    return Stretches(
        name=[each.name for each in operations],
        kind=[each.kind for each in operations],
        row=work.operations.stream,
        rows={each: _row(case.device, each, len(streams)) for each in streams},
        start_ns=start,
        end_ns=end,
        facts=[
            {**took, **_of_operation(each, delays.get(place))}
            for place, (each, took) in enumerate(zip(operations, edges.durations(), strict=True))
        ],
    )


def _row(device: str, stream: int, streams: int) -> str:
    if stream != NO_STREAM:
        return f"{device} stream {stream}"
    return device if streams == 1 else f"{device} stream unknown"


def _of_operation(each: DeviceOperation, delay_s: float | None) -> Facts:
    """What is known of it besides its times; `delay_s` of the first operation of a call."""
    found: dict[str, Fact] = {}
    if each.stream is not None:
        found["stream"] = each.stream
    if each.call is not None:
        found["correlation"] = each.call
    if delay_s is not None:
        found["launch_delay_s"] = delay_s
    if each.shape is not None:
        found |= {
            "grid": each.shape.grid,
            "block": each.shape.block,
            "registers per thread": each.shape.registers,
            "shared memory": each.shape.shared_bytes,
        }
    return found


def _about(found: CaseBounds, done: DevicePass) -> Facts:
    """What a reader of the measured layer has to know."""
    facts: dict[str, Fact] = {
        "times": f"medians over {len(done.latency_s)} forwards under the tracer",
        "host_calls": len(done.calls),
        "operations": len(done.operations),
        "busy_s": float(np.median(done.busy_s)),
        "device": found.case.device,
        "mode": found.case.mode,
    }
    if found.traced_ratio is not None:
        facts["traced_over_untraced_latency"] = found.traced_ratio
    return {**facts, **about_bounds(found)}
