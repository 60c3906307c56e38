"""What is compared with what, and what is said about the results as a whole."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from comparing import pair, reasons
from fake_results import (
    absent,
    around,
    correction,
    device,
    environment,
    gpu,
    result,
    row,
    slope_row,
)

from ftax_micro import compare_results
from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.facts import ProcessFacts
from ftax_micro.records import QUICK_PLAN, Measurement, Plan
from ftax_micro.results import Result

# What is matched with what


def test_devices_are_matched_by_kind_and_order() -> None:
    one = result(row(device="cuda:1", samples=around(1e-6, 1)), row(samples=around(1e-6, 2)))
    two = result(row(device="cuda:0", samples=around(2e-6, 3)), row(samples=around(1e-6, 4)))
    comparison = compare_results([one, two])
    assert [each.device for each in comparison.rows] == ["cpu", "cuda"]
    assert [r.ratios[1].verdict for r in comparison.rows if r.ratios[1]] == ["same", "slower"]


def test_several_devices_of_a_kind_keep_their_order_and_get_labels() -> None:
    def machine(names: list[str], medians: list[float]) -> Result:
        rows = [
            row(device=name, samples=around(m, n))
            for n, (name, m) in enumerate(zip(names, medians, strict=True))
        ]
        return result(*rows, devices=[device(name) for name in names])

    same = compare_results([machine(["cuda:0", "cuda:1"], [1e-6, 2e-6])] * 2)
    assert [each.device for each in same.rows] == ["cuda:0", "cuda:1"]
    other = compare_results(
        [machine(["cuda:2", "cuda:3"], [1e-6, 2e-6]), machine(["cuda:0", "cuda:1"], [1e-6, 2e-6])]
    )
    assert [each.device for each in other.rows] == ["cuda #1", "cuda #2"]
    assert other.count("same") == 2


def test_settings_match_in_any_order() -> None:
    one = row(setting={"wait": "spin", "idle_ns": 0}, samples=around(1e-6, 1))
    two = row(setting={"idle_ns": 0, "wait": "spin"}, samples=around(1e-6, 2))
    assert pair(one, two).verdict == "same"


def test_calibrated_loops_do_not_stand_in_the_way() -> None:
    one, two = (row(samples=around(1e-6, n), loops=100 * n) for n in (1, 2))
    assert pair(one, two).verdict == "same"


def test_what_one_result_lacks_is_listed_with_its_reason() -> None:
    measured = [row(name, around(1e-6, 1)) for name in ("a", "b", "c")]
    other = result(absent("a"), absent("b", "failed", "CUDA_ERROR_UNKNOWN"))
    assert reasons(result(*measured), other) == [
        ("cpu a", 1, "skipped: one core only"),
        ("cpu b", 1, "failed: CUDA_ERROR_UNKNOWN"),
        ("cpu c", 1, "not measured"),
    ]
    assert reasons(other, result(*measured)) == [
        ("cpu a", 0, "skipped: one core only"),
        ("cpu b", 0, "failed: CUDA_ERROR_UNKNOWN"),
        ("cpu c", 0, "not measured"),
    ]


def test_another_setting_is_another_row() -> None:
    spin = result(row(setting={"wait": "spin"}, samples=around(1e-6, 1)))
    block = result(row(setting={"wait": "block"}, samples=around(1e-6, 1)))
    assert reasons(spin, block) == [
        ("cpu submit wait=spin", 1, "not measured"),
        ("cpu submit wait=block", 0, "not measured"),
    ]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (row(samples=[5.0] * 9, unit="count"), "different unit: s against count"),
        (slope_row("submit", 1e-6), "different estimate: median against slope"),
        (
            row(samples=around(1e-6), loops=50),
            "different sampling: single shots against loops",
        ),
        (
            row(samples=around(2e-6), corrections=[correction(1e-6, 0, 2e-6)]),
            "different corrections: none against leg",
        ),
        (row(samples=[-1e-9] * 20), "its value is not positive, which has no ratio"),
        (row(samples=[0.0] * 20), "its value is not positive, which has no ratio"),
    ],
)
def test_other_quantities_are_not_compared(other: Measurement, reason: str) -> None:
    assert reasons(result(row(samples=around(1e-6))), result(other)) == [("cpu submit", 1, reason)]


def test_a_row_that_failed_in_one_process_has_no_number() -> None:
    measured = row(samples=around(1e-6, 1))
    torn = result(measured, msgspec.structs.replace(absent("submit", "failed", "boom"), process=1))
    assert reasons(result(measured), torn) == [("cpu submit", 1, "failed: boom")]


# The table as a whole


def test_every_result_is_set_against_the_baseline() -> None:
    results = [result(row(samples=around(m * 1e-6, n))) for n, m in enumerate([2.0, 1.0, 3.0])]
    comparison = compare_results(results, baseline=1, labels=["a", "b", "c"])
    ratios = comparison.rows[0].ratios
    assert ratios[1] is None
    assert [round(r.value, 1) for r in ratios if r] == [2.0, 3.0]
    assert [side.label for side in comparison.sides] == ["a", "b", "c"]


def test_machines_are_described() -> None:
    busy = ProcessFacts(
        python_version="3.11.7",
        python_implementation="CPython",
        python_debug_build=False,
        python_free_threaded=False,
        variables={"CUDA_LAUNCH_BLOCKING": "1"},
    )
    place = environment(hostname="node7", gpus=[gpu(name="Other GPU")], process=busy)
    server = result(
        row(device="cuda:0", samples=around(1e-6, 1)),
        environment=place,
        devices=[device("cuda:0", "Big GPU")],
    )
    laptop = result(row(samples=around(1e-6, 2)))
    left, right = compare_results([server, laptop]).sides
    assert (left.hostname, left.gpus, left.driver) == ("node7", ("Big GPU",), "580.1")
    assert "launch_blocking" in left.warnings
    assert (right.label, right.cpu, right.cores, right.gpus) == ("quiet", "A Processor", 4, ())
    assert right.driver is None


def test_a_gpu_that_was_asked_for_and_is_not_there_is_none() -> None:
    absent_gpu = msgspec.structs.replace(device("cuda:0"), model=None)
    devices = [device("cpu"), absent_gpu]
    sides = [result(row(samples=around(1e-6, seed)), devices=devices) for seed in (1, 2)]
    assert compare_results(sides).sides[0].gpus == ()


def test_hosts_of_the_same_name_are_told_apart() -> None:
    one = result(row(samples=around(1e-6)))
    sides = compare_results([one, one, one]).sides
    assert [side.label for side in sides] == ["quiet", "quiet (2)", "quiet (3)"]


def _notes(**changes: Any) -> str:
    one, two = (result(row(samples=around(1e-6, n))) for n in (1, 2))
    return "\n".join(compare_results([one, msgspec.structs.replace(two, **changes)]).notes)


def test_differences_between_the_runs_are_noted() -> None:
    assert "another plan" in _notes(plan=Plan(min_samples=200))
    assert "min_samples 200 against 100" in _notes(plan=Plan(min_samples=200))
    assert "measured with --quick" in _notes(plan=QUICK_PLAN)
    assert "version 0.0.9" in _notes(tool_version="0.0.9")
    assert "incomplete: SIGINT" in _notes(complete=False, incomplete_reason="SIGINT")
    assert _notes(plan=Plan(confidence=0.9)) == _notes()


def test_one_process_a_side_is_noted() -> None:
    assert "--processes 5" in _notes()


@pytest.mark.parametrize(
    ("count", "options", "words"),
    [
        (0, {}, "two results"),
        (1, {}, "two results"),
        (2, {"baseline": 2}, "baseline 2"),
        (2, {"baseline": -1}, "baseline -1"),
        (2, {"margin": -0.1}, "margin"),
        (2, {"margin": math.nan}, "margin"),
        (2, {"margin": 2.0}, "margin"),
        (2, {"confidence": 1.0}, "confidence"),
        (2, {"confidence": math.nan}, "confidence"),
        (2, {"labels": ["only one"]}, "labels"),
    ],
)
def test_what_makes_no_sense_is_refused(count: int, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        compare_results([result(row(samples=around(1e-6)))] * count, **options)


def test_an_unknown_probe_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean submit"):
        compare_results([result(row(samples=around(1e-6)))] * 2, probes=["sumbit"])


def test_results_without_rows_compare_to_nothing() -> None:
    comparison = compare_results([result(), result()])
    assert (comparison.rows, comparison.comparisons) == ((), 0)
