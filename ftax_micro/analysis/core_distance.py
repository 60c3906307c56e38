"""Which rows were measured while their two cores were further apart than they can be?

A row of two threads moves cache lines between two cores, and what that takes depends on where they
lie: on one chip around one cache, on another chip, in another socket. Of a guest's cores nobody
says so, and a hypervisor moves them about within a second: the same hand-over and its wait took
0.2 µs now and 1 µs a second later, on cores as fast as ever. So most rows of two cores have the
time that a line takes there and back, taken every millisecond between their samples
(`CoreSpeeds.hop_s`). It is set against the shortest that the same pair had in the run while both
were undisturbed: two that have become threads of one physical core are nearer than any, and slower.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ftax_micro.analysis import core_speed
from ftax_micro.records import CoreSpeeds, Measurement, Verdict

CODE = "cores_apart"
# Around one cache the way differs by a quarter, to another chip or socket by three times and more.
_TOLERATED = 2.0

# The shortest way between each pair of cores of each device, seconds.
Nearest = Mapping[tuple[str, str], float]


class Distance(NamedTuple):
    """Seconds for a cache line from one core of a row to the other and back, beside its median
    sample, and how many times as long that is as the pair's shortest way.
    """

    hop_s: float
    times: float


def distances(measurements: Sequence[Measurement]) -> list[Distance | None]:
    """How far apart the cores of each measurement were; None where nobody looked."""
    nearest = nearest_of(measurements, core_speed.fastest_of(measurements))
    return [_distance(each, nearest) for each in measurements]


def is_far(times: float | None) -> bool:
    """Whether cores were further apart than around one cache."""
    return times is not None and times > _TOLERATED


def apart_verdict(distance: Distance | None) -> list[Verdict]:
    """The verdict on a row whose cores were so far apart, or none."""
    if distance is None or not is_far(distance.times):
        return []
    sentence = (
        f"its cores were {distance.times:.2g} times as far apart as at their nearest in this run "
        f"(a cache line took {distance.hop_s * 1e9:.0f} ns there and back): a hypervisor moved "
        "them, and the row is one of the further place"
    )
    return [Verdict(code=CODE, sentence=sentence)]


def nearest_of(measurements: Sequence[Measurement], fastest: core_speed.Fastest) -> Nearest:
    """The shortest way of each pair, where both were as fast as ever; else of all its ways. But for
    a hundredth of the looks, as their speed is.
    """
    quiet: dict[tuple[str, str], list[float]] = {}
    every: dict[tuple[str, str], list[float]] = {}
    for each in measurements:
        speeds = _watched(each)
        if speeds is None:
            continue
        slowed = core_speed.are_slowed(core_speed.at_glances(each.device, speeds, fastest))
        key = _pair(each.device, speeds)
        every.setdefault(key, []).extend(speeds.hop_s)
        if not slowed.all():
            quiet.setdefault(key, []).extend(itertools.compress(speeds.hop_s, ~slowed))
    return {key: core_speed.least_held(hops) for key, hops in {**every, **quiet}.items()}


def far_stretches(measurement: Measurement, nearest: Nearest) -> npt.NDArray[np.bool_] | None:
    """Which stretches between two glances had far cores at either; None where nobody looked."""
    speeds = _watched(measurement)
    if speeds is None:
        return None
    return _times(measurement.device, speeds, nearest) > _TOLERATED


def _distance(measurement: Measurement, nearest: Nearest) -> Distance | None:
    speeds = _watched(measurement)
    if speeds is None or not any(speeds.samples):
        return None
    times = _times(measurement.device, speeds, nearest)
    typical = float(np.median(np.repeat(times, speeds.samples)))
    return Distance(typical * nearest[_pair(measurement.device, speeds)], typical)


def _times(device: str, speeds: CoreSpeeds, nearest: Nearest) -> npt.NDArray[np.float64]:
    """How far apart the cores were between two glances: at the further of them."""
    times = np.asarray(speeds.hop_s) / nearest[_pair(device, speeds)]
    found: npt.NDArray[np.float64] = np.maximum(times[:-1], times[1:])
    return found


def _watched(measurement: Measurement) -> CoreSpeeds | None:
    speeds = measurement.data.core_speeds if measurement.data else None
    return speeds if speeds is not None and speeds.hop_s else None


def _pair(device: str, speeds: CoreSpeeds) -> tuple[str, str]:
    return device, ",".join(sorted(speeds.work_s))
