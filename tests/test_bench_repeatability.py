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


def clocked(value_s: float, clock: float) -> Measurement:
    """An undisturbed row on a core whose cycles are so many times as long."""
    row = watched(value_s, 0.01, quiet=40, slow=0)
    assert row.data is not None
    speeds = CoreSpeeds(work_s={"0": [1e-9 * clock] * 11}, samples=[4] * 10)
    return msgspec.structs.replace(row, data=msgspec.structs.replace(row.data, core_speeds=speeds))


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
    ((name, values),) = script.values_of(runs, script.FLOOR).items()
    assert name == "submit"
    assert values.every[:2] == pytest.approx([9.0, 18.0])
    assert values.quiet == pytest.approx([1.0, 1.1, 1.3], rel=1e-3)
    row = script.spread_row(name, values, 2, 0.15)
    assert [each.what for each in row.figures] == [
        "spread of 2 undisturbed",
        "at one clock",
        "of all 3 undisturbed",
        "of all 5",
    ]
    assert row.figures[0].value == pytest.approx(0.1, rel=1e-2)
    # The cores had one clock throughout.
    assert row.figures[1].value == pytest.approx(row.figures[0].value)
    assert bench("rows").verdict(row) == "met"


def test_a_run_of_several_processes_counts_where_most_are_undisturbed(bench: Any) -> None:
    script = bench("repeatability")
    values_s, slow = [1.0, 1.2, 5.0], [0, 0, 100]
    processes = [watched(v, 0.01, quiet=29, slow=s) for v, s in zip(values_s, slow, strict=True)]
    (values,) = script.values_of(processes, script.FLOOR).values()
    assert values.every == pytest.approx([1.2], rel=1e-2)  # the median over all three
    assert values.quiet == pytest.approx([1.1], rel=1e-2)  # over two
    (values,) = script.values_of(processes[1:], script.FLOOR).values()
    assert len(values.every) == 1
    assert values.quiet == []


def test_what_the_clock_alone_does_is_taken_out_of_a_spread(bench: Any) -> None:
    script = bench("repeatability")
    clocks = [1.0, 1.03, 0.98]
    runs = [
        msgspec.structs.replace(clocked(4.0 * clock, clock), process=index)
        for index, clock in enumerate(clocks)
    ]
    (values,) = script.values_of(runs, script.FLOOR).values()
    assert values.quiet == pytest.approx([4.0, 4.12, 3.92], rel=1e-2)
    assert values.at_one_clock() == pytest.approx([4.0] * 3)
    row = script.spread_row("submit", values, 3, 0.15)
    spreads = {each.what: each.value for each in row.figures}
    assert spreads["spread of 3 undisturbed"] == pytest.approx(0.051, abs=1e-3)
    assert spreads["at one clock"] == pytest.approx(0.0, abs=1e-9)
    assert row.samples["at one clock"] == pytest.approx([4.0] * 3)


def test_without_a_clock_beside_every_value_none_is_taken_out(bench: Any) -> None:
    script = bench("repeatability")
    unwatched = clocked(4.0, 1.0)
    assert unwatched.data is not None
    data = msgspec.structs.replace(unwatched.data, core_speeds=None)
    unwatched = msgspec.structs.replace(unwatched, data=data, process=1)
    (values,) = script.values_of([clocked(4.0, 1.0), unwatched], script.FLOOR).values()
    assert len(values.quiet) == 2
    assert values.at_one_clock() == []
    row = script.spread_row("submit", values, 2, 0.15)
    assert "at one clock" not in {each.what for each in row.figures}
