"""What a comparison says of the cores' clock, which differs with nobody beside them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from fake_results import environment, result, row

from ftax_micro.analysis.comparing.comparison import compare_results
from ftax_micro.analysis.undisturbed import works
from ftax_micro.records import CoreSpeeds, Data, Measurement
from ftax_micro.results import Result

WORK_S = 1e-9


def clocked(clock: float, name: str = "a", slowed: int = 0, cores: str = "0") -> Measurement:
    """A row whose cycles are so many times as long, its last stretches beside a neighbour."""
    stretches = 12
    kept = stretches - slowed
    samples = [5e-9 * clock] * 5 * kept + [15e-9] * 5 * slowed
    glances = [WORK_S * clock] * (kept + 1) + [2 * WORK_S * clock] * slowed
    speeds = CoreSpeeds(work_s=dict.fromkeys(cores, glances), samples=[5] * stretches)
    data = Data(estimate="median", stop_reason="interval", samples=samples, core_speeds=speeds)
    return msgspec.structs.replace(row(name, samples), data=data)


def notes(base: Result, *others: Result) -> list[str]:
    results = [base, *others]
    compared = compare_results(results, labels=["base", "other", "third"][: len(results)])
    return [note for note in compared.notes if "clock" in note]


def of(clocks: Sequence[float], **changes: object) -> Result:
    rows = [clocked(clock, name) for clock, name in zip(clocks, ("a", "b", "c"), strict=False)]
    return result(*rows, environment=environment(**changes))


def test_a_clock_is_that_beside_the_undisturbed_samples_alone() -> None:
    rows = [clocked(1.0), clocked(1.04), clocked(1.02, slowed=2)]
    assert works(rows) == pytest.approx([1.0e-9, 1.04e-9, 1.02e-9])
    assert works([clocked(1.0), clocked(1.0, slowed=11)])[1] is None  # none is left
    (two_cores,) = works([clocked(1.03, cores="01")])
    assert two_cores == pytest.approx(1.03e-9)


def test_samples_count_each_and_not_the_stretches_they_lie_in() -> None:
    glances = [1.00e-9] * 6 + [1.06e-9] * 6
    many, few = [10, 10, 10, 10, 10, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 10, 10, 10, 10, 10]
    for samples, work_s in ((many, 1.00e-9), (few, 1.06e-9)):
        speeds = CoreSpeeds(work_s={"0": glances}, samples=samples)
        data = Data(
            estimate="median", stop_reason="interval", samples=[1e-6] * 50, core_speeds=speeds
        )
        watched = msgspec.structs.replace(row("a", [1.0]), data=data)
        assert works([watched]) == pytest.approx([work_s])


def test_nobody_looked_nobody_knows() -> None:
    assert works([row("a", [1e-9] * 40)]) == [None]
    assert notes(result(row("a", [1e-9] * 40)), result(row("a", [2e-9] * 40))) == []


def test_another_clock_is_said_once_and_by_how_much() -> None:
    (told,) = notes(of([1.0, 1.0, 1.0]), of([1.03, 1.04, 1.03]))
    assert told.startswith("other: undisturbed, its cores took 1.030 times as long as base's ")
    assert len(notes(of([1.0]), of([0.97]), of([1.05]))) == 2


def test_the_same_clock_is_not_worth_a_word() -> None:
    assert notes(of([1.0, 1.0]), of([1.009, 1.005])) == []


def test_another_build_or_another_cpu_is_other_work() -> None:
    base = of([1.0])
    assert notes(base, of([1.03])) != []
    assert notes(base, of([1.03], build_id="4567")) == []
    assert notes(of([1.0], build_id=None), of([1.03], build_id=None)) == []
    other = of([1.03])
    device = msgspec.structs.replace(other.devices[0], model="Another Processor")
    assert notes(base, msgspec.structs.replace(other, devices=[device])) == []
