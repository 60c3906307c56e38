"""Which rows were measured while a core was slower than it can be?

Before and after each row of the cpu the same piece of work is timed on the cores in use
(`DeviceState.fixed_work_s`). Where it takes longer than at its fastest in the run, something else
used the core: a hyperthread's neighbour, another guest of the same host, a power limit. The load
average and steal time show none of these. The cores work at the same time, so that two which have
become one physical core's threads (a hypervisor may move them) show it too: then calls take
longer, and hand-overs, through one cache, less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ftax_micro.records import Measurement, Verdict

CODE = "core_slowed"
# A quiet core repeats the work within 1 or 2 %; a neighbour costs it half as much again and more.
_TOLERATED = 1.1


def slowdowns(measurements: Sequence[Measurement]) -> list[float | None]:
    """For each measurement how many times slower its slowest core was than that core at its
    fastest in any of them; None where its speed was not recorded.
    """
    fastest: dict[tuple[str, str], float] = {}
    for each in measurements:
        for core, work_s in _works(each):
            key = (each.device, core)
            fastest[key] = min(work_s, fastest.get(key, work_s))
    return [
        max((work_s / fastest[each.device, core] for core, work_s in _works(each)), default=None)
        for each in measurements
    ]


def slowed_verdict(slowdown: float | None) -> list[Verdict]:
    """The verdict on a row whose core was slower by `slowdown`, or none."""
    if slowdown is None or slowdown <= _TOLERATED:
        return []
    sentence = (
        f"a core was {slowdown:.2g} times slower beside this row than at its fastest in this run: "
        "something shared it, and the row is not what this machine does undisturbed"
    )
    return [Verdict(code=CODE, sentence=sentence)]


def _works(measurement: Measurement) -> Iterable[tuple[str, float]]:
    """Core and time of the work on each core the row used, or, unknown which, on all."""
    used = str(measurement.facts.get("cores") or "").split(",")
    for state in (measurement.state_before, measurement.state_after):
        if state is None or state.fixed_work_s is None:
            continue
        for core, work_s in state.fixed_work_s.items():
            if work_s > 0 and (core in used or used == [""]):
                yield core, work_s
