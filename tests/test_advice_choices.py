"""The mode that saves most, and the sizes that cost nothing, on cases with chosen times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from timed_cases import case, data

from ftax_micro.analysis.advice.choices import best_modes, free_sizes, sweep_label
from ftax_micro.analysis.advice.contract import Advice, BestMode, FreeSize, NoAdvice
from ftax_micro.analysis.advice.text import sentence
from ftax_micro.analysis.crossover.hinge import crossovers
from ftax_micro.analysis.latency_view import summarise_cases
from ftax_micro.records import Case

MS = 1e-3


def mode(name: str, latency: float, spread: float = 0.01) -> Case:
    samples = data(latency, spread)
    blocks = [6] * (len(samples.samples) // 6)
    # Of runs of their own, whose samples are not paired.
    changes: dict[str, Any] = {"latency": samples, "blocks": blocks, "facts": {"begun_at": name}}
    return msgspec.structs.replace(case(latency, mode=name), **changes)


def absent(name: str, status: str) -> Case:
    changes: dict[str, Any] = {"latency": None, "status": status, "reason": "no operator"}
    return msgspec.structs.replace(case(1.0, mode=name), **changes)


def best(*cases: Case) -> Advice:
    (found,) = best_modes("a.json", summarise_cases(cases), lambda each: each.model, lambda _: True)
    return found


def sweep(
    latencies: Sequence[float], axis: str = "batch", device: str = "cuda:0", **changes: Any
) -> list[Case]:
    sizes = [2**power for power in range(len(latencies))]
    return [
        case(latency, device=device, **{axis: size}, **changes)
        for size, latency in zip(sizes, latencies, strict=True)
    ]


def free(cases: Sequence[Case]) -> FreeSize:
    (found,) = free_sizes("a.json", crossovers(cases), sweep_label)
    assert isinstance(found, FreeSize)
    return found


# Modes


def test_the_fastest_mode_is_told_with_its_ratio_and_what_it_saves() -> None:
    found = best(mode("eager", 4 * MS), mode("torchscript", 2 * MS), mode("onnxruntime", 3 * MS))
    assert isinstance(found, BestMode)
    assert (found.mode, found.sure, found.rivals) == ("torchscript", True, ())
    assert found.share is not None
    assert found.saving is not None
    assert found.share.value == pytest.approx(0.5)
    assert found.saving.value == pytest.approx(2 * MS)
    assert found.share.low is not None
    assert found.share.high is not None
    assert found.share.low < 0.5 < found.share.high
    text = sentence([found])
    assert "4.000 ms in eager, 2.0000 ms in torchscript, its fastest mode: 2.00 × (1.9" in text
    assert text.endswith("as fast, same outputs")


def test_modes_that_may_be_as_fast_are_named() -> None:
    found = best(mode("eager", 4 * MS), mode("a", 2 * MS), mode("b", 2.01 * MS), mode("c", 3 * MS))
    assert isinstance(found, BestMode)
    assert (found.mode, found.rivals) == ("a", ("b",))
    assert sentence([found]).endswith("; b may be as fast")


def test_one_that_is_faster_beyond_doubt_goes_before_one_that_only_looks_so() -> None:
    found = best(mode("eager", 4 * MS), mode("noisy", 3.4 * MS, 0.9), mode("sure", 3.5 * MS))
    assert isinstance(found, BestMode)
    assert (found.mode, found.rivals) == ("sure", ("noisy",))


def test_nothing_is_promised_of_a_mode_that_may_be_slower() -> None:
    doubtful = best(mode("eager", 4 * MS, 0.2), mode("a", 3.9 * MS, 0.2))
    assert "no mode is faster beyond doubt, a at 3.9" in sentence([doubtful])
    slower = best(mode("eager", 4 * MS), mode("a", 5 * MS))
    assert "4.000 ms in eager, its fastest mode; a at 5.000 ms comes nearest" in sentence([slower])
    assert slower.saving is not None
    assert slower.saving.value == pytest.approx(-1 * MS)


@pytest.mark.parametrize("status", ["failed", "skipped"])
def test_a_mode_that_did_not_run_or_computed_something_else_is_none(status: str) -> None:
    found = best(mode("eager", 4 * MS), absent("wrong", status))
    assert sentence([found]) == "bert_base: 4.000 ms in eager; no other mode was measured"


def test_without_something_to_compare_with_there_is_a_reason() -> None:
    alone = best(mode("eager", 4 * MS))
    assert isinstance(alone, NoAdvice)
    assert "no mode but eager was asked for" in sentence([alone])
    without = best(absent("eager", "failed"), mode("a", 1 * MS))
    assert sentence([without]) == (
        "bert_base: no advice on the fastest mode, since eager has no time to compare with"
    )
    assert not list(best_modes("", summarise_cases([absent("eager", "failed")]), str, bool))


# Sizes


def test_a_batch_on_the_plateau_costs_nothing() -> None:
    found = free(sweep([1 * MS, 1 * MS, 1.01 * MS, 1.02 * MS, 2 * MS, 4 * MS]))
    assert found.free is not None
    assert found.beyond is not None
    assert (found.free.value, found.beyond.value) == (8, 16)
    assert found.crossover is not None
    text = sentence([found])
    assert "bert_base cuda:0 fp16 sequence 128 in eager: batch 8 costs no more than batch 1" in text
    assert "; batch 16 takes 2.00 × (1.9" in text
    assert ". The crossover is at batch 7.88 (4 … 8.33)" in text


def test_where_nothing_is_free_the_next_size_is_told() -> None:
    found = free(sweep([1 * MS, 2 * MS], device="cpu"))
    assert found.free is None
    assert "no batch above 1 is free beyond doubt; batch 2 takes 2.00 × (" in sentence([found])
    assert "crossover" not in sentence([found])


def test_a_size_that_may_be_free_is_said_to_be_open() -> None:
    found = free(sweep([1 * MS, 1.05 * MS]))
    assert found.free is None
    assert sentence([found]).endswith("as long and may be free too")


def test_the_end_of_a_sweep_is_told() -> None:
    text = sentence([free(sweep([1 * MS, 1 * MS, 1 * MS], axis="sequence"))])
    assert "sequence 4 costs no more than sequence 1" in text
    assert text.endswith("; larger ones were not measured")


def models(*settings: str) -> list[Case]:
    return [case(1 * MS, model=f"bert_base@{each}") for each in settings]


def test_width_is_a_size_too_and_depth_is_not() -> None:
    wide = free(
        models("hidden_size=384,intermediate_size=1536", "hidden_size=768,intermediate_size=3072")
    )
    assert (wide.kind, wide.axis, wide.first) == ("width", "hidden_size", 384)
    assert "hidden_size 768 costs no more than hidden_size 384" in sentence([wide])
    deep = models("num_hidden_layers=2", "num_hidden_layers=4")
    assert not list(free_sizes("", crossovers(deep), sweep_label))
    images = [case(1 * MS, model="resnet50", sequence=None, image=size) for size in (64, 128)]
    assert not list(free_sizes("", crossovers(images), sweep_label))
