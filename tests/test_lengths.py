"""Lengths of text: their moments, what is padded, and where modes are compared then."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tiny_models import tiny
from workload_here import WorkloadRun

from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.models.lengths import LENGTHS
from ftax_micro.models.request import parse_model
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes.equality import MismatchError, check_equal
from ftax_micro.orchestration.workload.request import WorkloadRequest
from ftax_micro.records import Plan

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

NAN = float("nan")
PLAN = Plan(min_samples=2, min_time_s=0.0, timeout_s=2.0, half_width=100.0, quick=True)


def padded(
    name: str = "bert_tiny", batch: int = 4, lengths: str | None = "penn_treebank"
) -> Workload:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what libraries say when they are imported
        request = parse_model(tiny(name))
        shape = request.spec.shape.replaced(batch=batch, sequence=40)
        return build_workload(request.spec, request.overrides, shape, lengths=lengths)


def test_lengths_have_the_paper_s_moments() -> None:
    drawn = np.array(LENGTHS["penn_treebank"].draw(100_000, 1000, seed=1))
    assert drawn.mean() == pytest.approx(20.92, rel=0.01)
    assert drawn.std() == pytest.approx(10.18, rel=0.01)
    assert drawn.min() >= 1


def test_no_length_is_beyond_what_there_is_room_for() -> None:
    drawn = LENGTHS["penn_treebank"].draw(1000, 16, seed=1)
    assert (min(drawn) >= 1, max(drawn)) == (True, 16)


def test_a_small_batch_is_the_beginning_of_a_large_one() -> None:
    distribution = LENGTHS["penn_treebank"]
    assert distribution.draw(4, 128, seed=7) == distribution.draw(64, 128, seed=7)[:4]
    assert distribution.draw(64, 128, seed=7) != distribution.draw(64, 128, seed=8)


def test_a_sentence_keeps_its_tokens_and_is_padded_to_the_shape_asked_for() -> None:
    dense, sparse = padded(lengths=None), padded()
    assert dense.valid is None
    assert sparse.valid is not None
    assert sparse.lengths == "penn_treebank"
    tokens, mask = sparse.inputs["input_ids"], sparse.inputs["attention_mask"]
    assert tokens.shape == dense.inputs["input_ids"].shape == (4, 40)
    assert (mask.bool() == sparse.valid).all()
    assert (tokens[sparse.valid] == dense.inputs["input_ids"][sparse.valid]).all()
    assert (tokens[~sparse.valid] == sparse.module.config.pad_token_id).all()
    lengths = LENGTHS["penn_treebank"].draw(4, 40, seed=0)
    assert sparse.valid.sum(1).tolist() == lengths
    for row, length in zip(sparse.valid, lengths, strict=True):
        assert row[:length].all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt2", "gpt2 is none"),
        ("feed_forward", "feed_forward is none"),
        ("fnet", "fnet takes no attention mask"),
    ],
)
def test_models_without_padding_refuse(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        padded(name)


def test_an_unknown_distribution_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean penn_treebank"):
        padded(lengths="penn_tree")


def test_outputs_are_compared_where_a_token_is_no_padding() -> None:
    valid = torch.tensor([[True, True, False], [True, False, False]])
    reference = [torch.ones(2, 3, 5), torch.ones(2, 3)]
    output = torch.ones(2, 3, 5)
    output[~valid] = float("nan")
    assert check_equal(reference, [output, torch.ones(2, 3)], "fp32", valid).largest == 0.0
    with pytest.raises(MismatchError, match="output 0: 15 of 30 are not finite"):
        check_equal(reference, [output, torch.ones(2, 3)], "fp32")
    # Two dimensions are a vector for each sentence, even where it is as wide as sentences are long.
    with pytest.raises(MismatchError, match="output 1: 1 of 6"):
        check_equal(reference, [output, torch.tensor([[1, 1, NAN], [1, 1, 1]])], "fp32", valid)
    wrong = output.clone()
    wrong[0, 1, 0] = 2.0
    with pytest.raises(MismatchError, match="largest difference is 1"):
        check_equal(reference, [wrong, torch.ones(2, 3)], "fp32", valid)


def test_lengths_are_part_of_a_case() -> None:
    request = parse_model(tiny("bert_tiny"))
    shape = request.spec.shape.replaced(batch=2, sequence=24)
    run = WorkloadRun(
        WorkloadRequest(request, shape, lengths="penn_treebank"), ["torchscript"], PLAN
    )
    (case,) = run.run()
    assert (case.status, case.reason, case.lengths) == ("ok", None, "penn_treebank")
    refused = WorkloadRequest(parse_model(tiny("fnet")), shape, lengths="penn_treebank")
    (case,) = WorkloadRun(refused, ["eager"], PLAN).run()
    assert (case.status, case.lengths) == ("failed", "penn_treebank")
    assert "no attention mask" in str(case.reason)
