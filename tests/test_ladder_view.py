"""What is computed from a ladder's bursts: cost per operation and per call, what each rung adds."""

from __future__ import annotations

import msgspec
import pytest
from ladder_results import ladder, rung

from ftax_micro.analysis.ladder_view import NOT_LINEAR, LadderRow, ladder_rows, ladder_view
from ftax_micro.records import CoreSpeeds, Data, Level, Measurement


def rows(*rungs: Measurement) -> dict[str, LadderRow]:
    found = ladder_rows(rungs)
    return {f"{row.rung} {row.arguments or ''}".strip(): row for row in found}


def test_slope_and_intercept_are_the_costs_per_operation_and_per_call() -> None:
    row = rows(rung("dispatcher", 1e-6, 5e-6))["dispatcher"]
    assert row.slope is not None
    assert row.intercept is not None
    assert row.slope.value == pytest.approx(1e-6)
    assert row.intercept.value == pytest.approx(5e-6)
    assert row.slope.low is not None
    assert row.slope.high is not None
    assert row.slope.low < 1e-6 < row.slope.high


def test_what_a_rung_adds_is_told_with_both_uncertainties() -> None:
    found = rows(rung("call", 1e-7), rung("binding", 4e-7, below="call"))
    call, binding = found["call"], found["binding"]
    assert call.increment is None
    assert call.ratio_to_floor is not None
    assert call.ratio_to_floor.value == 1.0
    assert binding.increment is not None
    assert binding.increment.value == pytest.approx(3e-7)
    assert binding.ratio_to_floor is not None
    assert binding.ratio_to_floor.value == pytest.approx(4.0)
    assert binding.slope is not None
    assert binding.slope.low is not None
    assert binding.increment.low is not None
    # Wider than either, since both are known to within something.
    assert binding.increment.value - binding.increment.low > binding.slope.value - binding.slope.low


def test_equal_numbers_of_arguments_are_compared_and_else_the_least() -> None:
    found = rows(
        rung("driver", 2e-6, op="kernel", arguments=0),
        rung("driver", 3e-6, op="kernel", arguments=19),
        rung("launcher", 5e-6, op="kernel", arguments=0, below="driver"),
        rung("launcher", 7e-6, op="kernel", arguments=19, below="driver"),
        rung("add", 9e-6, below="driver"),
    )
    added = {name: row.increment.value for name, row in found.items() if row.increment}
    assert added == pytest.approx({"launcher": 3e-6, "launcher 19": 4e-6, "add": 7e-6})
    ratio = found["launcher 19"].ratio_to_floor
    assert ratio is not None
    assert ratio.value == pytest.approx(7 / 3)


def test_without_the_rung_below_there_is_no_increment() -> None:
    gone = Measurement(device="cpu", name="call", status="skipped", reason="not here")
    found = rows(gone, rung("binding", 4e-7, below="call"))
    assert found["call"].slope is None
    assert found["binding"].increment is None
    assert found["binding"].ratio_to_floor is None


def test_devices_are_ladders_of_their_own() -> None:
    found = ladder_rows(
        [
            rung("floor", 1e-9),
            rung("torch", 2e-6, below="floor"),
            rung("floor", 4e-6, device="cuda:0"),
            rung("torch", 6e-6, below="floor", device="cuda:0"),
        ]
    )
    ratios = [row.ratio_to_floor.value for row in found if row.ratio_to_floor]
    assert ratios == pytest.approx([1.0, 2000.0, 1.0, 1.5])


def test_processes_are_joined() -> None:
    view = ladder_view(
        ladder(*(rung("call", each, process=n) for n, each in enumerate((1e-7, 3e-7, 2e-7))))
    )
    (row,) = view.rows
    assert row.summary.processes == 3
    assert row.slope is not None
    assert row.slope.value == pytest.approx(2e-7)
    assert row.slope.low is not None
    assert row.slope.low < 1e-7
    assert view.summaries == [row.summary]


def bent(off: float) -> Measurement:
    straight = rung("call", 1e-6, 1e-6, spread=0.001)
    assert straight.data is not None
    levels = list(straight.data.levels)
    last = levels[-1]
    levels[-1] = Level(count=last.count, samples_s=[each * (1 + off) for each in last.samples_s])
    data: Data = msgspec.structs.replace(straight.data, levels=levels)
    return msgspec.structs.replace(straight, data=data)


def test_a_cost_that_is_not_linear_is_told() -> None:
    (verdict,) = rows(bent(0.5))["call"].summary.verdicts
    assert verdict.code == NOT_LINEAR
    assert verdict.sentence.startswith("its cost is not linear: ")
    assert rows(bent(0.02))["call"].summary.verdicts == ()


def test_of_several_processes_most_have_to_be_off_the_line() -> None:
    """One beside a neighbour is no matter of the rung."""

    def told(*offs: float) -> list[str]:
        of_each = [
            msgspec.structs.replace(bent(off), process=number) for number, off in enumerate(offs)
        ]
        return [each.sentence for each in rows(*of_each)["call"].summary.verdicts]

    assert told(0.0, 0.9, 0.0) == []
    assert told(0.0, 0.9) == []
    (sentence,) = told(0.5, 0.0, 0.9, 0.6)
    assert sentence == told(0.6)[0]  # the median of those that are


def test_a_process_is_judged_by_its_undisturbed_samples() -> None:
    straight = rung("call", 1e-6, spread=0.001)
    assert straight.data is not None
    *others, last = straight.data.levels
    samples = last.samples_s[:20]
    beside = Level(count=last.count, samples_s=samples * 2 + [3 * each for each in samples * 3])
    levels = [Level(count=each.count, samples_s=each.samples_s[:20] * 5) for each in others]
    speeds = CoreSpeeds(work_s={"0": [*[1e-9] * 11, *[2e-9] * 15]}, samples=[4] * 25)
    data = Data(estimate="slope", stop_reason="interval", levels=[*levels, beside])
    unwatched = msgspec.structs.replace(straight, data=data)
    watched = msgspec.structs.replace(data, core_speeds=speeds)
    assert [each.code for each in rows(unwatched)["call"].summary.verdicts] == [NOT_LINEAR]
    told = rows(msgspec.structs.replace(straight, data=watched))["call"].summary.verdicts
    assert NOT_LINEAR not in {each.code for each in told}
