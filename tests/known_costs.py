"""Rows of the cuda device against what the fake driver is known to charge for them.

Two cores run the host, the fake device and, in places, a third thread, so a sample can be late for
no fault of the code, and never early. A row is therefore measured afresh up to `attempts()` times
until it recovers its cost, by its headline or by the least samples of all attempts; one that
computes something else never does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import msgspec
from fake_cuda import FakeCuda

from ftax_micro.analysis.summary import Summary, summarise
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.orchestration.point.measure import measure_point
from ftax_micro.records import Level, Measurement, Plan, Setting

# So that bursts, which are at most half of it, take a millisecond: rarely is one as short as that
# interrupted.
SHORT_QUEUE = 48
# As many equal samples as have an interval.
_COPIES = 7
PLAN = Plan(
    min_samples=30,
    min_time_s=0.0,
    timeout_s=2.0,
    patience_s=0.3,
    half_width=0.02,
    max_samples=600,
    warmup_time_s=0.0,
)


def attempts() -> int:
    """How often to try: more where others keep the machine busy."""
    return 6 if os.getloadavg()[0] < 1.5 * (os.cpu_count() or 1) else 20


def measured(device: CudaDevice, name: str, setting: Setting) -> Measurement:
    """One row in one setting."""
    row = next(row for row in device.rows() if row.name == name)
    return measure_point((device, row, setting), PLAN)


def summary(device: CudaDevice, name: str, setting: Setting) -> Summary:
    """The row's headline; the row must be ok."""
    result = measured(device, name, setting)
    assert result.status == "ok", result.reason
    return summarise([result])[0]


def undelayed(taken: Sequence[Measurement]) -> Measurement:
    """The last of `taken`, made of the least samples of all of them: what no scheduler delayed."""
    last = taken[-1].data
    assert last is not None, taken[-1].reason
    every = [found.data for found in taken if found.data is not None]
    samples = [min(min(data.samples) for data in every)] * _COPIES if last.samples else []
    levels = [
        Level(count=of_one[0].count, samples_s=[min(min(x.samples_s) for x in of_one)] * _COPIES)
        for of_one in zip(*(data.levels for data in every), strict=True)
    ]
    data = msgspec.structs.replace(last, samples=samples, levels=levels)
    return msgspec.structs.replace(taken[-1], data=data)


def recovered(
    take: Callable[[], Sequence[Measurement]], holds: Callable[[Sequence[Summary]], bool]
) -> Sequence[Summary]:
    """The rows of `take` as soon as they hold as they are, or undelayed; else the last undelayed.

    `take` measures the same rows each time.
    """
    every: list[Sequence[Measurement]] = []
    for _ in range(attempts()):
        every.append(take())
        for found in every[-1]:
            assert found.status == "ok", found.reason
        best = [undelayed(of_one) for of_one in zip(*every, strict=True)]
        for rows in (summarise(every[-1]), summarise(best)):
            if holds(rows):
                return rows
    return rows


def within(value: float | None, wanted_s: float) -> bool:
    """The larger of 5 % and 200 ns."""
    return value is not None and abs(value - wanted_s) <= max(0.05 * wanted_s, 200e-9)


def us(*nanoseconds: int) -> float:
    """A sum of the fake's costs in seconds."""
    return sum(nanoseconds) * 1e-9


def assert_recovers(device: CudaDevice, name: str, setting: Setting, wanted_s: float) -> None:
    """The row finds the cost, whatever a scheduler does to it."""
    (row,) = recovered(
        lambda: [measured(device, name, setting)],
        lambda rows: within(rows[0].value, wanted_s),
    )
    assert within(row.value, wanted_s), f"{row.value}, not {wanted_s}"


def cost_s(fake: FakeCuda, keys: Sequence[str]) -> float:
    """The sum of what the fake charges, in seconds."""
    return us(*(fake.cost(key) for key in keys))
