"""Advice on results and steps whose bounds are known: the numbers, and the sentences with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from floor_results import COSTS, GPU, US, floor_result, floor_rows
from test_case_bounds import (
    LATENCY_US,
    NUMBER,
    call,
    case,
    device_pass,
    launched,
    on_cpu,
    operation,
)
from timed_cases import data

from ftax_micro.analysis.advice.advisor import advise_result, advise_steps
from ftax_micro.analysis.advice.contract import (
    Advice,
    Binding,
    FasterDevice,
    NoAdvice,
    OneGraph,
    Waiting,
)
from ftax_micro.analysis.advice.text import sentence, together
from ftax_micro.analysis.bounding.cases import result_bounds
from ftax_micro.analysis.bounding.rows import BoundRow
from ftax_micro.records import Case, Roofline
from ftax_micro.stats import Estimate


def advise(*cases: Case, floor: bool = True, peaks: Sequence[Roofline] = ()) -> list[Advice]:
    rows = floor_result(spread=0.0)
    whole = msgspec.structs.replace(
        rows,
        cases=list(cases),
        rooflines=list(peaks),
        measurements=rows.measurements if floor else [],
    )
    return advise_result("a.json", whole, result_bounds(whole))


def only(found: Sequence[Advice], kind: type[Any], mode: str = "eager") -> Any:
    (one,) = (each for each in found if isinstance(each, kind) and each.mode == mode)
    return one


def micro(value: float) -> Any:
    return pytest.approx(value * US)


# What binds


def test_a_framework_bound_case_is_told_with_its_tax() -> None:
    binding = only(advise(case()), Binding)
    assert binding.regime == "framework-bound"
    assert binding.saving.value == micro(LATENCY_US - 26)
    assert binding.share.value == pytest.approx((LATENCY_US - 26) / LATENCY_US)
    text = sentence([binding])
    assert text.startswith("bert_tiny is framework-bound in eager (tax 24.0 µs, 48.0 %")
    assert "waiting for the host's software" in text


def test_modes_with_the_same_regime_share_a_sentence() -> None:
    found = advise(case(), case(mode="torchscript"))
    (line,) = (sentence(each) for each in together(found) if isinstance(each[0], Binding))
    assert "framework-bound in eager (" in line
    assert "and torchscript (" in line


def test_what_is_launch_bound_is_told_to_launch_less() -> None:
    """Kernels that take nothing, launched as fast as the floor allows: 4 · 2 + 4 + 0.1 + 3."""
    operations = [operation(2.0 * n + 4, 0.1, n) for n in range(30)]
    busy = device_pass(operations, [call(2.0 * n) for n in range(30)])
    taken = 29 * COSTS["launch"] + COSTS["to_start"] + 0.1 * US + COSTS["sync"]
    found = advise(case(device_pass=busy, latency=data(taken, 0.001), host=data(42 * US)))
    binding = only(found, Binding)
    assert binding.regime == "launch-bound"
    assert "Fewer launches can help: fused operations, or one graph" in sentence([binding])
    assert only(found, OneGraph).saving.value > 0


@pytest.mark.parametrize(
    ("work", "moved", "regime", "words"),
    [
        (400_000, 1000, "compute-bound", "at 81 % of the measured peak of a matrix product"),
        (4000, 600_000, "memory-bound", "at 91 % of the measured peak of a copy"),
        (4000, 1000, "kernel-latency-bound", "use only 1 % of the measured peak"),
    ],
)
def test_of_the_device_it_is_told_what_binds_there(
    work: int, moved: int, regime: str, words: str
) -> None:
    peaks = [
        Roofline(device="cpu", operation=kind, dtype="fp32", work=1e9, status="ok", data=data(1.0))
        for kind in ("matmul", "copy")
    ]
    full = on_cpu(1000, macs=work, weight_bytes=moved, activation_bytes=moved // 4)
    binding = only(advise(full, on_cpu(10, twin=True), peaks=peaks), Binding)
    assert binding.regime == regime
    assert words in sentence([binding])
    assert "the framework is not the problem" in sentence([binding])


def test_without_peaks_it_is_device_bound_and_no_more() -> None:
    binding = only(advise(on_cpu(1000), on_cpu(10, twin=True)), Binding)
    assert binding.regime == "device-bound"
    assert "%" in sentence([binding])
    assert "peak" not in sentence([binding])


def test_what_is_ambiguous_or_invalid_is_said_so() -> None:
    straddling = on_cpu(1000, latency=data(1000 * US, 0.05))
    binding = only(advise(straddling, on_cpu(100, twin=True)), Binding)
    assert binding.regime == "ambiguous"
    assert "in eager: ambiguous, device-bound or framework-bound" in sentence([binding])
    wrong = advise(case(latency=data(10 * US)))
    assert only(wrong, Binding).regime == "invalid"
    assert "no advice, since its device bound is" in sentence([only(wrong, Binding)])
    assert not any(isinstance(each, FasterDevice) for each in wrong)


def test_without_bounds_there_is_a_reason() -> None:
    why = "no advice on what binds it, since its zero-work twin was not measured"
    assert f"bert_tiny eager: {why}" in [sentence([each]) for each in advise(on_cpu(100))]
    reasons = [each.reason for each in advise(case(), floor=False) if isinstance(each, NoAdvice)]
    assert any("to_start was not measured" in each for each in reasons)


# What a change would save


def test_a_faster_gpu_saves_what_the_host_does_not_hide() -> None:
    """The host launches every 10 µs: of all kernels only the last one counts."""
    faster = only(advise(case()), FasterDevice)
    assert not faster.at_most
    assert faster.saving.value == micro(1.5)
    assert faster.limit.value == micro(3)
    assert faster.limit_share.value == pytest.approx(3 / LATENCY_US)
    assert "kernels twice as fast would save 1.50 µs (3.0 %) of 50.0 µs in eager" in sentence(
        [faster]
    )


def test_one_graph_saves_all_launches_but_one() -> None:
    graph = only(advise(case()), OneGraph)
    replayed = COSTS["graph_launch"] + NUMBER * (0.5 + 3) * US
    assert graph.saving.value == pytest.approx(LATENCY_US * US - replayed)
    assert "one graph of all its operations would save" in sentence([graph])


def test_a_replay_is_a_graph_already() -> None:
    operations = [operation(8 + 3.5 * n, 3, 0) for n in range(NUMBER)]
    replayed = device_pass(operations, [call(0, "cudaGraphLaunch_v10000")])
    taken = COSTS["graph_launch"] + NUMBER * 3.5 * US
    found = advise(
        case(mode="cuda_graph", device_pass=replayed, host=None, latency=data(taken, 0.001))
    )
    assert not any(isinstance(each, OneGraph) for each in found)
    assert only(found, FasterDevice, "cuda_graph").saving.value > 0


def test_a_graph_that_may_save_nothing_is_told_so() -> None:
    doubtful = OneGraph(
        source="",
        case="a",
        name="a",
        mode="eager",
        at_most=False,
        latency=Estimate(1e-3, 1e-3, 1e-3),
        saving=Estimate(1e-5, -1e-5, 3e-5),
        share=Estimate(0.01, -0.01, 0.03),
    )
    assert "in eager that may be nothing" in sentence([doubtful])


def test_on_the_cpu_work_twice_as_fast_saves_half_of_it() -> None:
    faster = only(advise(on_cpu(100), on_cpu(30, twin=True)), FasterDevice)
    assert (faster.saving.value, faster.limit.value) == (micro(35), micro(70))
    assert "operations that compute twice as fast would save" in sentence([faster])


def test_a_model_that_is_far_off_promises_nothing() -> None:
    found = advise(case(device_pass=launched(slower=2.0), host=None))
    why = "the latency that the pipeline model predicts is 80% off the measured one"
    assert why in [each.reason for each in found if isinstance(each, NoAdvice)]
    assert not any(isinstance(each, (FasterDevice, OneGraph)) for each in found)


def test_what_would_change_is_told_of_eager_and_of_the_fastest_mode() -> None:
    slower, faster = (data(each * US) for each in (49, 47))
    found = advise(case(), case(mode="torchscript", latency=slower), case(mode="b", latency=faster))
    assert [each.mode for each in found if isinstance(each, FasterDevice)] == ["eager", "b"]


def test_advice_goes_by_case_and_what_there_is_none_on_comes_last() -> None:
    other = {"model": "other", "device_pass": None}
    found = advise(case(), case(**other), case(mode="torchscript"))
    assert [each.kind for each in found if each.case.startswith("bert_tiny")] == [
        *("regime", "regime", "mode", "faster_device", "faster_device", "graph", "graph")
    ]
    assert [each.kind for each in found][-1] == "none"


# Steps of traces


def step(name: str, latency_us: float, **more: Any) -> BoundRow:
    def exact(value_us: float) -> Estimate:
        return Estimate(value_us * US, value_us * US, value_us * US)

    values: dict[str, Any] = {
        "latency": exact(latency_us),
        "busy": exact(20),
        "idle": exact(latency_us - 20),
        "idle_by_cause": (("not launched", (latency_us - 30) * US), ("waiting", 10 * US)),
    }
    return BoundRow("t.json", f"{name} cuda:0", "trace", "ok", None, **{**values, **more})


def bounded(latency_us: float) -> BoundRow:
    tax = Estimate(40 * US, 40 * US, 40 * US)
    return step(
        "step",
        latency_us,
        tax=tax,
        tax_share=Estimate(0.4, 0.4, 0.4),
        graph_bound=Estimate(35 * US, 34 * US, 36 * US),
        regime="framework-bound",
        why="no bound explains more than 60%",
    )


def test_of_a_step_upper_limits_are_told() -> None:
    found = advise_steps([bounded(100)])
    faster = only(found, FasterDevice, "trace")
    graph = only(found, OneGraph, "trace")
    assert (faster.saving, faster.limit) == ((micro(10),) * 3, (micro(20),) * 3)
    assert graph.saving == (micro(65), micro(64), micro(66))
    lines = [sentence(each) for each in together(found)]
    assert lines[0].startswith("step cuda:0: framework-bound (tax 40.0 µs, 40.0 %): ")
    assert "kernels twice as fast would save at most 10.0 µs (10.0 %" in " ".join(lines)
    assert "one graph of all its operations would save at most 65.0 µs" in " ".join(lines)


def test_kernels_of_other_steps_may_get_faster_too() -> None:
    occupied = Estimate(10 * US, 9 * US, 11 * US)
    faster = only(advise_steps([step("s", 100, occupied=occupied)]), FasterDevice, "trace")
    assert faster.limit == (micro(30), micro(29), micro(31))


def test_of_an_invalid_step_nothing_is_promised() -> None:
    found = advise_steps([step("s", 100, regime="invalid", why="its device bound is 120.0%")])
    assert not any(isinstance(each, (FasterDevice, OneGraph)) for each in found)


def test_what_the_device_waits_for_is_told_with_its_largest_cause() -> None:
    waiting = only(advise_steps([step("s", 100)]), Waiting, "trace")
    assert waiting.saving.value == micro(80)
    assert sentence([waiting]).endswith(
        "(80.0 %), 70.0 µs of it because the host had not launched the next operation yet"
    )


def test_of_many_steps_the_one_with_the_median_latency_is_told() -> None:
    found = advise_steps([step("a", 100), step("b", 300), step("c", 200)])
    assert {each.case for each in found if each.told} == {"c cuda:0"}
    assert {each.case for each in found} == {"a cuda:0", "b cuda:0", "c cuda:0"}
    medians = step("3 steps", 210, steps=3)
    found = advise_steps([medians, step("a", 100), step("b", 300), step("c", 200)])
    assert {each.case for each in found if each.told} == {"3 steps cuda:0"}


def test_a_trace_without_device_activity_says_why_there_is_nothing_to_say() -> None:
    bare = BoundRow("t.json", "whole trace", "trace", "skipped", "the trace has no device activity")
    (none,) = advise_steps([bare])
    assert sentence([none]).endswith("since the trace has no device activity")


def test_floors_of_gpus_are_told_apart() -> None:
    """Each case is advised by the floor of its own device."""
    rows = floor_rows(spread=0.0)
    assert {row.device for row in rows} == {GPU}
    found = advise(case(), on_cpu(100), on_cpu(30, twin=True))
    assert {each.name for each in found} == {f"bert_tiny {GPU} fp32", "bert_tiny cpu fp32"}
