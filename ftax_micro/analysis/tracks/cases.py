"""The device pass of a case, and the schedules of its bounds, as a timeline.

An edge of what was measured is the median of that edge over the forwards: where in each forward one
thing is over before another begins, it is so here. A mean, or a median begin with a median duration
behind it, has things overlap that never did.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ftax_micro.analysis.bounds_view import case_label
from ftax_micro.analysis.case_bounds import NO_STREAM, CaseBounds, device_work, run_order
from ftax_micro.analysis.floor_values import FloorValues
from ftax_micro.analysis.joint import DeviceWork
from ftax_micro.analysis.pipeline import Floor
from ftax_micro.analysis.tracks.contract import (
    Fact,
    Facts,
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
from ftax_micro.stats import Array


def case_name(case: Case) -> str:
    """A case in words, with its mode."""
    return f"{case_label(case)}, {case.mode}"


def planned(name: str, found: CaseBounds, floor: FloorValues) -> Planned:
    """The timeline of a case that has a device pass with operations, by the floor of its device."""
    return Planned(name, partial(_timeline, found, floor))


def _timeline(found: CaseBounds, values: FloorValues, name: str) -> Timeline:
    done = found.case.device_pass
    assert done is not None  # whoever plans has looked
    host = found.case.host.samples if found.case.host is not None else []
    host_s = float(np.median(host)) if host else None
    work = device_work(done, host_s)
    measured = _measured(found, done, work)
    floor = values.point() if found.bounds is not None else None
    layers = bound_layers(work, found.bounds, floor, measured)
    if found.forward is not None and floor is not None:
        layers.append(_predicted(work, done, host_s, floor, measured))
    return timeline(name, measured, np.zeros(0, dtype=np.int64), layers)


def _predicted(
    work: DeviceWork, done: DevicePass, host_s: float | None, floor: Floor, measured: Layer
) -> Layer:
    """Calls begin and return after the same shares of the host's time as under the tracer."""
    ends = _ends([(each.begin_s, each.duration_s) for each in done.calls], len(done.host_s))
    if host_s is not None:
        ends = ends / np.array(done.host_s)[:, np.newaxis] * host_s
    schedule = predicted_schedule(work, floor, np.median(ends, axis=0), host_s or 0.0)
    facts: dict[str, Fact] = {"predicted_s": schedule.end_s}
    if host_s is not None:
        facts["host_s"] = host_s
    return schedule_layer(schedule, measured, facts, measured.calls.name)


def _ends(edges: list[tuple[list[float], list[float]]], forwards: int) -> Array:
    """(forwards, places): when each is over."""
    if not edges:
        return np.zeros((forwards, 0))
    return np.stack([np.add(start, took) for start, took in edges], axis=1).astype(float)


def _measured(found: CaseBounds, done: DevicePass, work: DeviceWork) -> Layer:
    order = run_order(done).tolist()
    operations = [done.operations[place] for place in order]
    return Layer(
        name="measured",
        measured=True,
        end_ns=int(nanoseconds(np.median(done.latency_s))),
        calls=_calls(done.calls),
        operations=_operations(found.case, done, operations, work),
        call=work.operations.call,
        facts=_about(found, done),
    )


def _calls(calls: list[HostCall]) -> Stretches:
    starts = [float(np.median(each.begin_s)) for each in calls]
    ends = [float(np.median(np.add(each.begin_s, each.duration_s))) for each in calls]
    return Stretches(
        name=[each.name for each in calls],
        kind=["call"] * len(calls),
        row=np.zeros(len(calls), dtype=np.int64),
        rows={0: HOST},
        start_ns=nanoseconds(starts),
        end_ns=nanoseconds(ends),
        facts=[
            {"correlation": place, **_over_forwards("duration", np.array(each.duration_s))}
            for place, each in enumerate(calls)
        ],
    )


def _operations(
    case: Case, done: DevicePass, operations: list[DeviceOperation], work: DeviceWork
) -> Stretches:
    streams = np.unique(work.operations.stream).tolist()
    starts = [float(np.median(each.start_s)) for each in operations]
    ends = [float(np.median(np.add(each.start_s, each.duration_s))) for each in operations]
    seen: set[int] = set()
    facts = []
    for each in operations:
        first = each.call is not None and each.call not in seen
        facts.append(_of_operation(each, done, first=first))
        if each.call is not None:
            seen.add(each.call)
    return Stretches(
        name=[each.name for each in operations],
        kind=[each.kind for each in operations],
        row=work.operations.stream,
        rows={each: _row(case.device, each, len(streams)) for each in streams},
        start_ns=nanoseconds(starts),
        end_ns=nanoseconds(ends),
        facts=facts,
    )


def _row(device: str, stream: int, streams: int) -> str:
    if stream != NO_STREAM:
        return f"{device} stream {stream}"
    return device if streams == 1 else f"{device} stream unknown"


def _of_operation(each: DeviceOperation, done: DevicePass, *, first: bool) -> Facts:
    found: dict[str, Fact] = dict(_over_forwards("duration", np.array(each.duration_s)))
    if each.stream is not None:
        found["stream"] = each.stream
    if each.call is not None:
        found["correlation"] = each.call
    if first and each.call is not None:
        call = done.calls[each.call]
        delays = np.array(each.start_s) - np.add(call.begin_s, call.duration_s)
        found["launch_delay_s"] = float(np.median(delays))
    if each.shape is not None:
        found |= {
            "grid": each.shape.grid,
            "block": each.shape.block,
            "registers per thread": each.shape.registers,
            "shared memory": each.shape.shared_bytes,
        }
    return found


def _over_forwards(name: str, values: Array) -> Facts:
    return {
        f"{name}_s": float(np.median(values)),
        f"{name}_least_s": float(values.min()),
        f"{name}_most_s": float(values.max()),
    }


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
    if found.reason is not None:
        facts["no_bounds"] = found.reason
    return {**facts, **about_bounds(found.bounds, found.regime, found.notes)}
