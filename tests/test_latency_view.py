"""Speed-ups over eager, from blocks that took turns."""

from __future__ import annotations

import msgspec
import pytest
from floor_results import floor_result

from ftax_micro.analysis.latency_view import latency_view, summarise_cases
from ftax_micro.records import Case, Data
from ftax_micro.stats import Estimate


def case_of(mode: str, blocks: list[list[float]]) -> Case:
    samples = [value for block in blocks for value in block]
    return Case(
        model="m",
        mode=mode,
        device="cpu",
        dtype="fp32",
        status="ok",
        latency=Data(estimate="median", stop_reason="interval", samples=samples),
        blocks=[len(block) for block in blocks],
    )


def speedup(eager: list[list[float]], mode: list[list[float]]) -> Estimate:
    found = summarise_cases([case_of("eager", eager), case_of("fast", mode)])[1].speedup
    assert found is not None
    return found


def test_what_drifts_from_round_to_round_falls_on_both_and_leaves_the_ratio() -> None:
    drift = [1.0 + 0.1 * i for i in range(12)]
    found = speedup([[2 * d] * 3 for d in drift], [[d] * 5 for d in drift])
    assert found == pytest.approx((2.0, 2.0, 2.0))


def test_a_mode_that_went_on_longer_is_compared_over_the_rounds_of_both() -> None:
    found = speedup([[2.0, 2.0]] * 8, [[1.0]] * 8 + [[50.0]] * 20)
    assert found == pytest.approx((2.0, 2.0, 2.0))


def test_with_few_rounds_the_ratio_is_that_of_the_medians() -> None:
    eager, mode = [[3.9, 4.0, 4.1] * 10], [[1.9, 2.0, 2.1] * 10]
    found = speedup(eager, mode)
    assert found.value == pytest.approx(2.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 2.0 < found.high


def test_eager_is_as_fast_as_itself() -> None:
    (eager,) = summarise_cases([case_of("eager", [[1.0, 2.0]] * 9)])
    assert eager.speedup == Estimate(1.0, None, None)


def test_what_pytorch_always_loads_is_no_warning() -> None:
    found = floor_result()
    process = msgspec.structs.replace(
        found.environment.process, watchers=["/a/libcupti.so.13", "/a/libvtune.so"]
    )
    told = msgspec.structs.replace(
        found,
        kind="model_latency",
        environment=msgspec.structs.replace(found.environment, process=process),
    )
    assert [each.code for each in latency_view(told).warnings] == ["tracer"]
