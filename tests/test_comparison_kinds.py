"""Ladders, model latencies and taxes compared as floors are: what is matched, and what is not."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from comparing import kinds_of, model_result, only_row, reasons
from fake_results import around, device, environment, gpu, result, row
from floor_results import US, floor_rows
from ladder_results import ladder, rung
from test_case_bounds import case as traced_case
from timed_cases import GPU, case, data

from ftax_micro import compare_results
from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.records import Case, Data, FactValue
from ftax_micro.results import Result, decode_result

# Ladders


def test_rungs_are_compared_by_their_slopes() -> None:
    def machine(seconds: float, call_s: float) -> Result:
        lowest = rung("raw_call", 2e-9, call_s, op="call", spread=1e-4)
        return ladder(lowest, rung("extension", seconds, arguments=5))

    one, two = machine(3e-8, 1e-8), machine(6e-8, 9e-8)
    comparison = compare_results([one, two])
    assert kinds_of(comparison) == ["ladder"]
    assert [each.title for each in comparison.rows] == [
        "cpu raw_call op=call",
        "cpu extension op=add arguments=5",
    ]
    ratios = [each.ratios[1] for each in comparison.rows]
    assert [each and each.verdict for each in ratios] == ["same", "slower"]
    assert ratios[1] is not None
    assert ratios[1].value == pytest.approx(2, rel=0.01)


def test_another_number_of_arguments_is_another_rung() -> None:
    one, two = (ladder(rung("ctypes", 1e-7, arguments=n)) for n in (5, 19))
    assert reasons(one, two) == [
        ("cpu ctypes op=add arguments=5", 1, "not measured"),
        ("cpu ctypes op=add arguments=19", 0, "not measured"),
    ]


# Latencies


def test_a_case_is_compared_on_all_its_times() -> None:
    def timed(factor: float) -> Result:
        found = case(10e-3 * factor, host=8e-3)
        return model_result(msgspec.structs.replace(found, pipelined=data(9e-3 * factor)))

    comparison = compare_results([timed(1.0), timed(1.2)])
    found = {each.quantity: each.ratios[1] for each in comparison.rows}
    assert {name: ratio and ratio.verdict for name, ratio in found.items()} == {
        "latency": "slower",
        "host": "same",
        "pipelined": "slower",
    }
    title = "cuda:0 bert_base eager fp16 batch=1 sequence=128 latency"
    assert comparison.rows[0].title == title
    assert comparison.rows[0].setting_text == "mode=eager dtype=fp16 batch=1 sequence=128"


def test_a_host_time_that_is_the_latency_is_not_compared_again() -> None:
    comparison = compare_results([model_result(case(10e-3, host=10e-3))] * 2)
    assert [each.quantity for each in comparison.rows] == ["latency"]


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "torchscript"},
        {"dtype": "fp32"},
        {"batch": 2},
        {"sequence": 64},
        {"lengths": "uniform"},
        {"twin": True},
        {"facts": {"threads": 2}},
        {"device": "cpu"},
    ],
)
def test_another_case_is_another_row(changes: dict[str, Any]) -> None:
    one, two = model_result(case(1e-3)), model_result(case(1e-3, **changes))
    assert [why for _, _, why in reasons(one, two)] == ["not measured"] * 2


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"parameters": 110}, "different number of parameters: 100 against 110"),
        ({"steps": 2}, "different steps: 1 against 2"),
        (
            {"status": "failed", "reason": "out of memory", "latency": None},
            "failed: out of memory",
        ),
    ],
)
def test_cases_that_are_not_the_same_work_are_listed_with_the_reason(
    changes: dict[str, Any], why: str
) -> None:
    base = case(1e-3, parameters=100)
    other = msgspec.structs.replace(base, **changes)
    found = reasons(model_result(base), model_result(other))
    assert found == [("cuda:0 bert_base eager fp16 batch=1 sequence=128 latency", 1, why)]


def test_what_fails_fails_in_all_its_times() -> None:
    whole = msgspec.structs.replace(case(1e-3, host=1e-4), pipelined=data(1e-3))
    failed = msgspec.structs.replace(case(1e-3), status="failed", reason="boom", latency=None)
    found = reasons(model_result(whole), model_result(failed))
    assert [(side, why) for _, side, why in found] == [(1, "failed: boom")] * 3


def test_threads_that_waited_differently_are_not_compared() -> None:
    def waiting(style: str | None) -> Result:
        facts = {} if style is None else {"wait_style": style}
        own = msgspec.structs.replace(device(GPU), facts=facts)
        return model_result(case(1e-3), devices=[device("cpu"), own])

    (found,) = reasons(waiting("spin"), waiting("blocking"))
    assert found[2] == "different wait style: spin against blocking"
    assert not reasons(waiting("spin"), waiting(None))  # an older file does not tell


# Rounds


def _by_turns(begun: tuple[str, str], seed: int = 0) -> Result:
    """Two modes, one slower by 8 %, while the machine drifts by half."""
    rng = np.random.default_rng(seed)
    drift = np.linspace(1, 1.5, 30)

    def mode(name: str, seconds: float, run: str) -> Case:
        samples = (seconds * drift[:, None] * rng.normal(1, 0.005, (30, 10))).ravel()
        timed = Data(estimate="median", stop_reason="interval", samples=[float(x) for x in samples])
        facts = {"begun_at": run, "threads": 1}
        found = case(1.0, mode=name, blocks=[10] * 30, facts=facts)
        return msgspec.structs.replace(found, latency=timed)

    return model_result(mode("eager", 1e-3, begun[0]), mode("fast", 1.08e-3, begun[1]))


def test_modes_that_took_turns_are_compared_paired() -> None:
    comparison = compare_results([_by_turns(("now", "now"))], by="mode")
    assert [side.label for side in comparison.sides] == ["eager", "fast"]
    ratio = only_row(comparison).ratios[1]
    assert ratio is not None
    assert (ratio.paired, ratio.verdict) == (True, "slower")
    assert ratio.value == pytest.approx(1.08, abs=0.005)


def test_modes_of_other_runs_and_other_files_are_not_paired() -> None:
    comparison = compare_results([_by_turns(("now", "then"))], by="mode")
    alone = only_row(comparison).ratios[1]
    assert alone is not None
    assert (alone.paired, alone.verdict) == (False, "ambiguous")
    files = compare_results([_by_turns(("now", "now"), seed) for seed in (1, 2)])
    assert not any(ratio and ratio.paired for each in files.rows for ratio in each.ratios)
    assert any("in one run on each side" in note for note in files.notes)


# Sides within a result


def test_one_result_is_split_by_a_setting() -> None:
    rows = [
        row("sync", around(seconds, seed), setting={"wait": wait})
        for seed, (wait, seconds) in enumerate({"spin": 1e-6, "block": 5e-6}.items())
    ]
    comparison = compare_results([result(*rows, row("submit", around(1e-6)))], by="wait")
    assert [side.label for side in comparison.sides] == ["spin", "block"]
    assert only_row(comparison).title == "cpu sync"
    assert comparison.count("slower") == 1
    assert comparison.notes[0] == "launch floor: without wait, and left out: 1"
    back = compare_results([result(*rows)], by="wait", baseline="block")
    assert back.count("faster") == 1


def test_devices_of_one_result_are_compared() -> None:
    both = model_result(case(1e-3), case(5e-3, device="cpu"))
    comparison = compare_results([both], by="device")
    assert [side.label for side in comparison.sides] == [GPU, "cpu"]
    assert only_row(comparison).device == "device"
    assert comparison.count("slower") == 1


def test_models_of_one_result_are_compared_whatever_they_weigh() -> None:
    both = model_result(case(1e-3, parameters=10), case(2e-3, model="bert_large", parameters=20))
    comparison = compare_results([both], by="model")
    assert [side.label for side in comparison.sides] == ["bert_base", "bert_large"]
    assert (comparison.count("slower"), comparison.not_compared) == (1, ())


def test_several_results_split_by_a_key_have_a_side_each() -> None:
    each = model_result(case(1e-3), case(2e-3, mode="fast"))
    comparison = compare_results([each, each], by="mode", labels=["a", "b"], baseline="b eager")
    assert [side.label for side in comparison.sides] == ["a eager", "a fast", "b eager", "b fast"]
    assert [ratio and ratio.verdict for ratio in only_row(comparison).ratios] == [
        *("same", "slower", None, "slower"),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": "modus"}, "did you mean mode"),
        ({"by": "mode"}, "two sides or more"),
        ({"by": "dtype", "baseline": "fp8"}, "unknown baseline"),
        ({"kinds": ["latencies"]}, "did you mean latency"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    one = model_result(case(1e-3), case(1e-3, dtype="fp32"))
    with pytest.raises((UsageError, UnknownNameError), match=words):
        compare_results([one] if "by" in options else [one, one], **options)


# Taxes


def _on_gpu(latency_us: float, seed: int) -> Result:
    found = traced_case(latency=Data(**_samples(latency_us * US, seed)))
    return model_result(found, measurements=[*floor_rows(seed), row("call_direct", [2e-9] * 30)])


def _samples(seconds: float, seed: int) -> dict[str, Any]:
    samples = around(seconds, seed)
    return {"estimate": "median", "stop_reason": "interval", "samples": samples}


def test_taxes_are_compared_where_bounds_are_known() -> None:
    # The launch-limited bound is 26 µs (test_case_bounds), so that the tax doubles.
    comparison = compare_results([_on_gpu(40, 1), _on_gpu(54, 2)], kinds=["tax"])
    assert [each.quantity for each in comparison.rows] == ["tax", "avoidable"]
    tax = comparison.rows[0].ratios[1]
    assert tax is not None
    assert tax.low is not None
    assert tax.high is not None
    assert tax.low < 28 / 14 < tax.high
    assert tax.verdict == "slower"
    assert comparison.rows[0].values[0] is not None
    assert comparison.rows[0].values[0].value == pytest.approx(14 * US, rel=0.05)


def test_a_tax_that_is_gone_is_faster_and_nothing_is_a_multiple_of_none() -> None:
    there, gone = _on_gpu(40, 1), _on_gpu(26, 2)
    comparison = compare_results([there, gone], kinds=["tax"], probes=["tax"])
    ratio = only_row(comparison).ratios[1]
    assert ratio is not None
    assert ratio.verdict == "faster"
    assert ratio.low is not None
    assert ratio.low < 0.1
    less = _on_gpu(20, 3)
    back = compare_results([less, there], kinds=["tax"], probes=["tax"])
    assert back.comparisons == 0
    assert [(each.side, "below zero" in each.reason) for each in back.not_compared] == [(0, True)]


def test_without_bounds_the_result_has_no_tax() -> None:
    bare = model_result(traced_case())
    comparison = compare_results([_on_gpu(40, 1), bare])
    assert "tax" not in kinds_of(comparison)
    (found,) = [each for each in comparison.not_compared if each.kind == "tax"]
    assert (found.side, found.row, found.whole_kind) == (1, "framework tax", True)
    assert "--machine" in found.reason


# Several kinds


def test_each_kind_is_compared_among_the_results_that_have_it() -> None:
    floor = result(row("submit", around(1e-6, 1)))
    models = [model_result(case(seconds)) for seconds in (1e-3, 2e-3)]
    comparison = compare_results([floor, *models], labels=["floor", "a", "b"])
    (section,) = comparison.sections
    assert (section.kind, section.baseline, section.sides) == ("latency", 1, (1, 2))
    assert comparison.count("slower") == 1
    assert [(n.kind, n.side) for n in comparison.not_compared] == [
        ("floor", 1),
        ("floor", 2),
        ("latency", 0),
    ]


def test_all_ratios_of_all_kinds_hold_together() -> None:
    both = [
        model_result(case(1e-3), measurements=[row("submit", around(1e-6, seed))])
        for seed in (1, 2)
    ]
    comparison = compare_results(both)
    assert kinds_of(comparison) == ["floor", "latency"]
    assert comparison.comparisons == 2
    chosen = compare_results(both, kinds=["floor"])
    assert (kinds_of(chosen), chosen.comparisons) == (["floor"], 1)


def test_probes_of_one_sort_are_either_and_of_two_sorts_both() -> None:
    cases = [
        case(1e-3, model=model, mode=mode, pipelined=data(1e-3))
        for model in ("m", "n", "o")
        for mode in ("eager", "fast")
    ]
    comparison = compare_results([model_result(*cases)] * 2, probes=["m", "n", "fast", "pipelined"])
    assert [(each.name, each.setting["mode"], each.quantity) for each in comparison.rows] == [
        ("m", "fast", "pipelined"),
        ("n", "fast", "pipelined"),
    ]


# What differs


def test_facts_of_runs_that_differ_are_told() -> None:
    def machine(driver: str, numpy: str | None, clock: float) -> Result:
        process = msgspec.structs.replace(
            environment().process, packages={"numpy": numpy} if numpy else {}
        )
        gpus = [gpu(driver_version=driver, sm_clock_max_hz=clock)]
        own = msgspec.structs.replace(device(GPU), facts={"uuid": "1"})
        return result(
            row(samples=around(1e-6, 1)),
            environment=environment(gpus=gpus, process=process),
            devices=[device("cpu"), own],
        )

    comparison = compare_results([machine("580.1", None, 1.98e9), machine("590.2", "2.4", 1.4e9)])
    assert [(d.fact, d.base, d.value) for d in comparison.differences] == [
        ("driver", "580.1", "590.2"),
        ("highest SM clock", "1.98 GHz", "1.4 GHz"),
        ("numpy", "not recorded", "2.4"),
    ]
    assert not compare_results([machine("580.1", "2.4", 1e9)] * 2).differences


def test_facts_of_cases_that_differ_are_told_once_with_their_rows() -> None:
    def versions(torch: str, operations: int) -> Result:
        process = msgspec.structs.replace(environment().process, packages={"torch": torch[:4]})
        cases = [
            case(1e-3, model=model, facts={"torch": torch}, executed=executed, pipelined=data(1e-3))
            for model, executed in (("m", {"add": operations}), ("n", {"add": 5}))
        ]
        return model_result(*cases, environment=environment(process=process))

    found = compare_results([versions("2.14+cu", 10), versions("2.15+cu", 12)]).differences
    assert [(d.fact, d.base, d.value, len(d.rows), d.of) for d in found] == [
        ("torch", "2.14+cu", "2.15+cu", 2, 2),
        ("operations executed", "10", "12", 1, 2),
    ]
    assert found[1].rows == ("cuda:0 m eager fp16 batch=1 sequence=128",)


def test_modes_that_took_turns_with_others_are_told() -> None:
    facts: dict[str, FactValue] = {"begun_at": "now"}
    alone = model_result(case(1e-3, facts=facts))
    beside = model_result(case(1e-3, facts=facts), case(1e-3, mode="fast", facts=facts))
    (found,) = compare_results([alone, beside]).differences
    assert (found.fact, found.base, found.value) == ("timed by turns", "eager", "eager, fast")


def test_an_older_file_is_compared_with_a_newer() -> None:
    new = model_result(case(1e-3, blocks=[42], facts={"torch": "2.15"}, parameters=10))
    raw = {**msgspec.to_builtins(new), "schema_version": 2}
    for name in ("rungs", "rooflines"):
        del raw[name]
    for name in ("facts", "macs", "executed", "tool_version", "measured_at", "reasons"):
        del raw["cases"][0][name]
    comparison = compare_results([decode_result(msgspec.json.encode(raw)), new])
    assert only_row(comparison).ratios[1] is not None
    assert (comparison.not_compared, comparison.differences) == ((), ())


def test_clocks_a_little_apart_are_the_same() -> None:
    def at(hertz: float, seed: int) -> Result:
        found = row(samples=around(1e-6, seed), device=GPU)
        state = {"sm_clock_hz": hertz}
        raw = {**msgspec.to_builtins(found), "state_before": state, "state_after": state}
        return result(msgspec.convert(raw, type(found)))

    assert not compare_results([at(1.98e9, 1), at(1.95e9, 2)]).differences
    (found,) = compare_results([at(1.98e9, 1), at(1.41e9, 2)]).differences
    assert (found.fact, found.base, found.value) == ("SM clock (GHz)", "1.98", "1.41")
