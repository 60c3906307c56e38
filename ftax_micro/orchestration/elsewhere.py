"""Which points are measured in a process of their own, and measuring them there.

Traced ones, since a tracer changes every later time of its process, and those whose row says that
it cannot run in this one. Points of one device under one tracer share a process: each costs as much
as starting Python, the tracer and the driver. And those that one process tells too little of, once
more in each of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ftax_micro.analysis.summary import setting_text
from ftax_micro.devices.contract import TRACER, FloorRow
from ftax_micro.orchestration.plans import shared_plan
from ftax_micro.orchestration.point.job import PointJob, PointName
from ftax_micro.orchestration.point.measure import absent, reason_of
from ftax_micro.orchestration.point.process import Begins, Ends, PointProcess, Task
from ftax_micro.orchestration.point.selection import Point
from ftax_micro.profilers import TRACERS
from ftax_micro.records import Measurement, Plan


@dataclass(frozen=True)
class Deferred:
    """A point for another process, and why where its setting does not tell."""

    point: Point
    why: str | None = None


@dataclass(frozen=True)
class Parting:
    """Points to measure here, points for other processes, and what needs no process to know."""

    here: list[Point]
    deferred: list[Deferred]
    absences: list[Measurement]


def part_points(points: Sequence[Point]) -> Parting:
    """Part `points`. Where a tracer cannot be had, its points are skipped, and so are those that
    subtract one of them: nobody has to wait for what comes to nothing.
    """
    reasons: dict[tuple[str, str, str], str] = {}
    parting = Parting([], [], [])
    for point in points:
        tracer = point[2].get(TRACER)
        reason = _missing(str(tracer)) if tracer is not None else None
        if reason is not None:
            reasons[_key(point)] = reason
            parting.absences.append(absent(point, 0, "skipped", reason))
        elif tracer is not None:
            parting.deferred.append(Deferred(point))
    for point in points:
        device, row, setting = point
        if TRACER in setting:
            continue
        taken = row.subtracted
        part = taken and (device.name, taken.name, setting_text({**setting, **taken.setting}))
        if part is not None and part in reasons:
            reason = f"{part[1]} {part[2]} has no value: {reasons[part]}"
            parting.absences.append(absent(point, 0, "skipped", reason))
        else:
            parting.here.append(point)
    return parting


def measure_elsewhere(
    deferred: Sequence[Deferred],
    process: PointProcess,
    plan: Plan,
    begins: Begins,
    ends: Ends,
) -> None:
    """Measure `deferred`, telling of each by its index. Errors: `Interrupted`."""
    groups: dict[tuple[str, str | None], list[int]] = {}
    for index, each in enumerate(deferred):
        device, _, setting = each.point
        tracer = setting.get(TRACER)
        key = (device.name, None if tracer is None else str(tracer))
        groups.setdefault(key, []).append(index)
    for (name, tracer_name), indices in groups.items():
        job = PointJob(
            device=name,
            points=[_named(deferred[index]) for index in indices],
            plan=plan,
            tracer=tracer_name,
        )
        process.measure(job, _shifted_begins(indices, begins), _shifted_ends(indices, ends))


def measure_again(
    points: Sequence[Point],
    processes_of: Callable[[FloorRow], int],
    process: PointProcess,
    plan: Plan,
    begins_of: Callable[[Sequence[Point]], Begins],
    ends: Ends,
) -> None:
    """Measure `points`, which a first process has measured, in as many more as `processes_of` their
    rows asks for. All processes of a row share the time of `plan`. Errors: `Interrupted`.
    """
    groups: dict[tuple[str, int], list[Point]] = {}
    for point in points:
        device, row, _ = point
        groups.setdefault((device.name, processes_of(row)), []).append(point)
    tasks: list[Task] = []
    for (name, processes), group in groups.items():
        for number in range(1, processes):
            job = PointJob(
                device=name,
                points=[PointName(name=row.name, setting=setting) for _, row, setting in group],
                plan=shared_plan(plan, processes),
                process=number,
            )
            tasks.append((job, begins_of(group), ends))
    process.measure_all(tasks)


def _shifted_begins(indices: Sequence[int], begins: Begins) -> Begins:
    return lambda index: begins(indices[index])


def _shifted_ends(indices: Sequence[int], ends: Ends) -> Ends:
    return lambda index, measurement: ends(indices[index], measurement)


def _named(each: Deferred) -> PointName:
    _, row, setting = each.point
    return PointName(name=row.name, setting=setting, why=each.why)


def _key(point: Point) -> tuple[str, str, str]:
    device, row, setting = point
    return device.name, row.name, setting_text(setting)


def _missing(tracer: str) -> str | None:
    try:
        reason: str | None = TRACERS.open(tracer).missing()
    except Exception as error:  # of a broken installation
        return reason_of(error)
    return reason
