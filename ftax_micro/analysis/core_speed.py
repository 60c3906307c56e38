"""Which rows, samples and blocks were measured while a core was slower than it can be?

The same piece of work is timed on the cores in use before and after each row of the cpu and each
block of a model's forwards (`DeviceState.fixed_work_s`), and of most rows every millisecond between
their samples (`CoreSpeeds`). Where it takes longer than at its fastest in the run, something else
used the core: a hyperthread's neighbour, another guest of the same host, a power limit. The load
average and steal time show none of these. The cores work at the same time, so that two which have
become one physical core's threads (a hypervisor may move them) show it too: then calls take
longer, and hand-overs, through one cache, less. How far apart they are is told by `core_distance`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import numpy as np
import numpy.typing as npt

from ftax_micro.records import Case, CoreSpeeds, DeviceState, Measurement, Verdict

CODE = "core_slowed"
# A quiet core repeats the work within 1 or 2 %; a neighbour costs it half as much again and more.
_TOLERATED = 1.1

# The fastest that each core of each device ever was: seconds per round of the fixed work.
Fastest = Mapping[tuple[str, str], float]


def slowdowns(measurements: Sequence[Measurement]) -> list[float | None]:
    """For each measurement how many times slower its slowest core was than that core at its
    fastest in any of them: beside its median sample where the cores were watched in between, else
    at the slower of the looks before and after. None where its speed was not recorded.
    """
    fastest = fastest_of(measurements)
    return [slowdown_of(each, fastest) for each in measurements]


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


def are_slowed(slowdowns: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which of `slowdowns` are more than those of a quiet core."""
    return slowdowns > _TOLERATED


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


def fastest_of(measurements: Iterable[Measurement]) -> Fastest:
    """The fastest that each core was around or within `measurements`, but for a hundredth of the
    looks: for a millisecond a core may run a tenth faster than it can for any longer.
    """
    seen: dict[tuple[str, str], list[float]] = {}
    for each in measurements:
        speeds = each.data.core_speeds if each.data else None
        for core, works in speeds.work_s.items() if speeds else ():
            seen.setdefault((each.device, core), []).extend(works)
        for core, work_s in _works(each):
            seen.setdefault((each.device, core), []).append(work_s)
    return {key: least_held(works) for key, works in seen.items()}


def least_held(values: Sequence[float]) -> float:
    """The least of `values` but for a hundredth of them; the very least of fewer than 100."""
    return sorted(values)[len(values) // 100]


def slowdown_of(measurement: Measurement, fastest: Fastest) -> float | None:
    """How many times slower than that the slowest core of one was (`slowdowns`)."""
    speeds = measurement.data.core_speeds if measurement.data else None
    if speeds is None or not any(speeds.samples):
        device = measurement.device
        around = (work_s / fastest[device, core] for core, work_s in _works(measurement))
        return max(around, default=None)
    return float(np.median(_by_sample(measurement.device, speeds, fastest)))


def _by_sample(device: str, speeds: CoreSpeeds, fastest: Fastest) -> npt.NDArray[np.float64]:
    """How slow the slowest core was beside each sample: as in the stretch that it lies in."""
    return np.repeat(by_stretch(device, speeds, fastest), speeds.samples)


def by_stretch(device: str, speeds: CoreSpeeds, fastest: Fastest) -> npt.NDArray[np.float64]:
    """How slow the slowest core was between two glances: at the slower of them."""
    seen = at_glances(device, speeds, fastest)
    found: npt.NDArray[np.float64] = np.maximum(seen[:-1], seen[1:])
    return found


def at_glances(device: str, speeds: CoreSpeeds, fastest: Fastest) -> npt.NDArray[np.float64]:
    """How slow the slowest core was at each glance."""
    works = [np.asarray(each) / fastest[device, core] for core, each in speeds.work_s.items()]
    found: npt.NDArray[np.float64] = np.max(works, axis=0)
    return found


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
