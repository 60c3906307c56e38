"""Which rows, samples and blocks were measured while a core was slower than it can be?

The same piece of work is timed on the cores in use before and after each row of the cpu and each
block of a model's forwards (`DeviceState.fixed_work_s`), and of most rows every millisecond between
their samples (`CoreSpeeds`). Where it takes longer than at its fastest in the run, something else
used the core: a hyperthread's neighbour, another guest of the same host, a power limit. The load
average and steal time show none of these. The cores work at the same time, so that two which have
become one physical core's threads (a hypervisor may move them) show it too: then calls take
longer, and hand-overs, through one cache, less.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import msgspec
import numpy as np
import numpy.typing as npt

from ftax_micro.records import Case, CoreSpeeds, Data, DeviceState, Measurement, Verdict

CODE = "core_slowed"
# A quiet core repeats the work within 1 or 2 %; a neighbour costs it half as much again and more.
_TOLERATED = 1.1
# Of fewer samples (bursts of each level) no value is told: a quick run takes as many.
_LEAST_UNDISTURBED = 30
# Nor of fewer stretches between two glances: a neighbour may have come and gone within one. Of
# hand-overs to a sleeping thread three to five stretches told 13 to 15 µs, ten and more 12.5 to 13.
_LEAST_STRETCHES = 10

# The fastest that each core of each device ever was: seconds per round of the fixed work.
_Fastest = Mapping[tuple[str, str], float]


def slowdowns(measurements: Sequence[Measurement]) -> list[float | None]:
    """For each measurement how many times slower its slowest core was than that core at its
    fastest in any of them: beside its median sample where the cores were watched in between, else
    at the slower of the looks before and after. None where its speed was not recorded.
    """
    fastest = _fastest(measurements)
    return [_slowdown(each, fastest) for each in measurements]


def undisturbed(measurements: Sequence[Measurement]) -> list[Data | None]:
    """For each measurement what it is of undisturbed samples alone: those before and after which no
    core was slower than at its fastest in any of them. The very same data where that is all.

    None where fewer than 30 samples (or bursts of a level) are left, or those of fewer than ten
    stretches between glances, and where nobody watched the cores in between and one was slowed
    before or after.
    """
    fastest = _fastest(measurements)
    return [_undisturbed(each, fastest) for each in measurements]


def block_slowdowns(
    cases: Sequence[Case], measurements: Sequence[Measurement] = ()
) -> list[list[float]]:
    """For each case and block how many times slower its slowest core was than that core at its
    fastest in any of them, or beside any of `measurements` of the same run. A case whose cores'
    speed was not read has none.
    """
    fastest: dict[str, float] = {}
    everything = [
        *(pair for case in cases for states in case.states for pair in _known(states)),
        *(pair for each in measurements for pair in _works(each)),
    ]
    for core, work_s in everything:
        fastest[core] = min(work_s, fastest.get(core, work_s))
    return [
        [max(s / fastest[core] for core, s in _known(states)) for states in case.states]
        if case.states and all(any(_known(states)) for states in case.states)
        else []
        for case in cases
    ]


def is_slowed(slowdown: float | None) -> bool:
    """Whether a core was slower than a quiet one ever is."""
    return slowdown is not None and slowdown > _TOLERATED


def typical_slowdown(slowdowns: Sequence[float], blocks: Sequence[int]) -> float | None:
    """The slowdown beside a case's median sample; `blocks` says how many samples each block has."""
    if not slowdowns:
        return None
    return median(each for each, n in zip(slowdowns, blocks, strict=True) for _ in range(n))


def undisturbed_samples(case: Case, slowdowns: Sequence[float]) -> list[float]:
    """Seconds per forward of the blocks of `case` beside which no core was slowed."""
    samples = iter(case.latency.samples if case.latency else ())
    blocks = [list(itertools.islice(samples, size)) for size in case.blocks]
    return [
        value
        for block, slowdown in zip(blocks, slowdowns, strict=True)
        for value in block
        if not is_slowed(slowdown)
    ]


def slowed_blocks_verdict(slowdowns: Sequence[float], blocks: Sequence[int]) -> list[Verdict]:
    """The verdict on a case, or none: a median stands as long as most samples are undisturbed."""
    if not is_slowed(typical_slowdown(slowdowns, blocks)):
        return []
    count = sum(map(is_slowed, slowdowns))
    sentence = (
        f"beside {count} of {len(slowdowns)} blocks a core was slower than at its fastest in this "
        f"run, by up to {max(slowdowns):.2g} times: something shared it, and the median is not "
        "what this machine does undisturbed"
    )
    return [Verdict(code=CODE, sentence=sentence)]


def speed_ratio(ours: Case, other: Case) -> float | None:
    """How many times as fast cores were beside `other` as beside `ours`: the typical time of the
    fixed work around our blocks over that around the other's. None where it was not read.
    """
    times = [
        [work_s for states in case.states for _, work_s in _known(states)] for case in (ours, other)
    ]
    return median(times[0]) / median(times[1]) if all(times) else None


def slowed_verdict(slowdown: float | None) -> list[Verdict]:
    """The verdict on a row whose core was slower by `slowdown`, or none."""
    if slowdown is None or not is_slowed(slowdown):
        return []
    sentence = (
        f"a core was {slowdown:.2g} times slower beside this row than at its fastest in this run: "
        "something shared it, and the row is not what this machine does undisturbed"
    )
    return [Verdict(code=CODE, sentence=sentence)]


def _fastest(measurements: Iterable[Measurement]) -> _Fastest:
    fastest: dict[tuple[str, str], float] = {}
    for each in measurements:
        speeds = each.data.core_speeds if each.data else None
        seen = speeds.work_s.items() if speeds else ()
        for core, work_s in (*_works(each), *((core, min(works)) for core, works in seen)):
            key = (each.device, core)
            fastest[key] = min(work_s, fastest.get(key, work_s))
    return fastest


def _slowdown(measurement: Measurement, fastest: _Fastest) -> float | None:
    speeds = measurement.data.core_speeds if measurement.data else None
    if speeds is None or not any(speeds.samples):
        device = measurement.device
        around = (work_s / fastest[device, core] for core, work_s in _works(measurement))
        return max(around, default=None)
    return float(np.median(_by_sample(measurement.device, speeds, fastest)))


def _by_sample(device: str, speeds: CoreSpeeds, fastest: _Fastest) -> npt.NDArray[np.float64]:
    """How slow the slowest core was beside each sample: as in the stretch that it lies in."""
    return np.repeat(_by_stretch(device, speeds, fastest), speeds.samples)


def _by_stretch(device: str, speeds: CoreSpeeds, fastest: _Fastest) -> npt.NDArray[np.float64]:
    """How slow the slowest core was between two glances: at the slower of them."""
    works = [np.asarray(each) / fastest[device, core] for core, each in speeds.work_s.items()]
    at_glances = np.max(works, axis=0)
    found: npt.NDArray[np.float64] = np.maximum(at_glances[:-1], at_glances[1:])
    return found


def _undisturbed(measurement: Measurement, fastest: _Fastest) -> Data | None:
    data = measurement.data
    if data is None or data.core_speeds is None:
        return None if is_slowed(_slowdown(measurement, fastest)) else data
    speeds = data.core_speeds
    quiet = _by_stretch(measurement.device, speeds, fastest) <= _TOLERATED
    kept = np.repeat(quiet, speeds.samples)
    if kept.all():
        return data
    stretches = np.count_nonzero(quiet & (np.asarray(speeds.samples) > 0))
    if np.count_nonzero(kept) < _LEAST_UNDISTURBED or stretches < _LEAST_STRETCHES:
        return None
    levels = [
        msgspec.structs.replace(level, samples_s=list(itertools.compress(level.samples_s, kept)))
        for level in data.levels
    ]
    samples = list(itertools.compress(data.samples, kept))
    return msgspec.structs.replace(data, samples=samples, levels=levels, core_speeds=None)


def _works(measurement: Measurement) -> Iterable[tuple[str, float]]:
    """Core and time of the work on each core the row used, or, unknown which, on all."""
    used = str(measurement.facts.get("cores") or "").split(",")
    for core, work_s in _known((measurement.state_before, measurement.state_after)):
        if core in used or used == [""]:
            yield core, work_s


def _known(states: Iterable[DeviceState | None]) -> Iterable[tuple[str, float]]:
    for state in states:
        if state is not None and state.fixed_work_s is not None:
            yield from ((core, work_s) for core, work_s in state.fixed_work_s.items() if work_s > 0)
