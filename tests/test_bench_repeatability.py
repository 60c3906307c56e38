"""Which values bench/repeatability.py holds against a target."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ftax_micro.records import CoreSpeeds, Data, Measurement


def watched(value_s: float, spread: float, quiet: int, slow: int) -> Measurement:
    """A row of `quiet` samples around a value and of `slow` ones beside a busy neighbour."""
    steps = [(index * 8 % 21 - 10) / 10 for index in range(quiet)]
    samples = [value_s * (1 + spread * step) for step in steps] + [9 * value_s] * slow
    speeds = CoreSpeeds(work_s={"0": [*[1e-9] * 11, 2e-9]}, samples=[*[2] * 9, quiet - 18, slow])
    data = Data(estimate="median", stop_reason="interval", samples=samples, core_speeds=speeds)
    return Measurement(device="cpu", name="submit", status="ok", data=data)


def test_only_certain_undisturbed_values_are_held_against_a_target(bench: Any) -> None:
    script = bench("repeatability")
    runs = [
        watched(1.0, 0.01, quiet=40, slow=100),
        watched(2.0, 0.01, quiet=29, slow=100),  # too few
        watched(3.0, 0.90, quiet=40, slow=10),  # too wide
        watched(1.1, 0.01, quiet=40, slow=0),
        watched(1.3, 0.01, quiet=40, slow=0),
    ]
    runs = [msgspec.structs.replace(run, process=index) for index, run in enumerate(runs)]
    ((name, (every, quiet)),) = script.values_of(runs, script.FLOOR).items()
    assert name == "submit"
    assert every[:2] == pytest.approx([9.0, 18.0])
    assert quiet == pytest.approx([1.0, 1.1, 1.3], rel=1e-3)
    row = script.spread_row(name, every, quiet, 2, 0.15)
    assert [each.what for each in row.figures] == [
        "spread of 2 undisturbed",
        "of all 3 undisturbed",
        "of all 5",
    ]
    assert row.figures[0].value == pytest.approx(0.1, rel=1e-2)
    assert bench("rows").verdict(row) == "met"


def test_a_run_of_several_processes_counts_where_most_are_undisturbed(bench: Any) -> None:
    script = bench("repeatability")
    values_s, slow = [1.0, 1.2, 5.0], [0, 0, 100]
    processes = [watched(v, 0.01, quiet=29, slow=s) for v, s in zip(values_s, slow, strict=True)]
    ((_, (every, quiet)),) = script.values_of(processes, script.FLOOR).items()
    assert every == pytest.approx([1.2], rel=1e-2)  # the median over all three
    assert quiet == pytest.approx([1.1], rel=1e-2)  # over two
    ((_, (every, quiet)),) = script.values_of(processes[1:], script.FLOOR).items()
    assert len(every) == 1
    assert quiet == []
