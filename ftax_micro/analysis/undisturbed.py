"""What is a row of undisturbed samples alone, where its cores were watched between them?

A sample counts where at the glance before it and at the one after it no core was slower
(`core_speed`), and the cores no further apart (`core_distance`), than they can be.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ftax_micro.analysis import core_distance, core_speed
from ftax_micro.records import Data, Measurement

# Of fewer samples (bursts of each level) no value is told: a quick run takes as many.
_LEAST_SAMPLES = 30
# Nor of fewer stretches between two glances: a neighbour may have come and gone within one. Of
# hand-overs to a sleeping thread three to five stretches told 13 to 15 µs, ten and more 12.5 to 13.
_LEAST_STRETCHES = 10


def undisturbed(measurements: Sequence[Measurement]) -> list[Data | None]:
    """For each measurement what it is of undisturbed samples alone, set against the fastest and
    nearest that its cores were in any of them. The very same data where that is all.

    None where fewer than 30 samples (or bursts of a level) are left, or those of fewer than ten
    stretches between glances, and where nobody watched the cores in between and one was slowed
    before or after.
    """
    return [each and each.data for each in _parts_of(measurements)]


def works(measurements: Sequence[Measurement]) -> list[float | None]:
    """For each measurement seconds per round of the fixed work beside those samples, on its cores
    in the mean: their clock, which a hypervisor, a power limit or heat moves by percents from one
    run to the next without any neighbour.

    None where there are no such samples, or the cores were not watched in between.
    """
    return [part and _work(part) for part in _parts_of(measurements)]


class _Part(NamedTuple):
    """The undisturbed part of a measurement; `quiet` are its stretches between two glances."""

    whole: Data
    data: Data
    quiet: npt.NDArray[np.bool_] | None


def _parts_of(measurements: Sequence[Measurement]) -> list[_Part | None]:
    fastest = core_speed.fastest_of(measurements)
    nearest = core_distance.nearest_of(measurements, fastest)
    return [_part(each, fastest, nearest) for each in measurements]


def _part(
    measurement: Measurement, fastest: core_speed.Fastest, nearest: core_distance.Nearest
) -> _Part | None:
    data = measurement.data
    if data is None:
        return None
    if data.core_speeds is None:
        slowed = core_speed.is_slowed(core_speed.slowdown_of(measurement, fastest))
        return None if slowed else _Part(data, data, None)
    speeds = data.core_speeds
    quiet = ~core_speed.are_slowed(core_speed.by_stretch(measurement.device, speeds, fastest))
    far = core_distance.far_stretches(measurement, nearest)
    if far is not None:
        quiet &= ~far
    kept = np.repeat(quiet, speeds.samples)
    if kept.all():
        return _Part(data, data, quiet)
    stretches = np.count_nonzero(quiet & (np.asarray(speeds.samples) > 0))
    if np.count_nonzero(kept) < _LEAST_SAMPLES or stretches < _LEAST_STRETCHES:
        return None
    levels = [
        msgspec.structs.replace(level, samples_s=list(itertools.compress(level.samples_s, kept)))
        for level in data.levels
    ]
    samples = list(itertools.compress(data.samples, kept))
    cut = msgspec.structs.replace(data, samples=samples, levels=levels, core_speeds=None)
    return _Part(data, cut, quiet)


def _work(part: _Part) -> float | None:
    speeds = part.whole.core_speeds
    if speeds is None or part.quiet is None or not any(speeds.samples):
        return None
    works = np.mean(list(speeds.work_s.values()), axis=0)
    between = (works[:-1] + works[1:]) / 2
    return float(np.average(between, weights=part.quiet * np.asarray(speeds.samples)))
