"""BERT's weights in PyTorch's own encoder: the same answers, on the fast path, or a reason."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest
from tiny_models import tiny

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import PreparationError
from ftax_micro.models.request import own_spec, parse_model
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes import MODES
from ftax_micro.modes.better_transformer import _check_mask, _check_path
from ftax_micro.modes.equality import check_equal

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")


def small(name: str, lengths: str | None = None, **more: Any) -> Workload:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what libraries say when they are imported
        request = parse_model(tiny(name))
        shape = request.spec.shape.replaced(batch=3, sequence=32)
        settings = {**request.overrides, **more}
        return build_workload(request.spec, settings, shape, lengths=lengths)


@pytest.mark.parametrize("lengths", [None, "penn_treebank"])
@pytest.mark.parametrize("name", ["bert_tiny", "distilbert", "roberta"])
def test_the_converted_encoder_computes_what_the_model_computes(
    name: str, lengths: str | None
) -> None:
    workload = small(name, lengths)
    with torch.inference_mode():
        eager = MODES.open("eager")().prepare(workload)
        prepared = MODES.open("better_transformer")().prepare(workload)
        reference, outputs = eager.outputs(eager.forward()), prepared.outputs(prepared.forward())
        agreement = check_equal(reference, outputs, "fp32", workload.valid)
        assert agreement.relative_norm < 1e-5
        assert prepared.executed is not None
        counted = prepared.executed()
        assert counted["aten::_transformer_encoder_layer_fwd"] == 2
        assert ("aten::_nested_tensor_from_mask" in counted) == (lengths is not None)
        assert prepared.facts == {"nested": lengths is not None}
        assert set(prepared.costs_s) == {"convert", "first_runs"}
        # Other tokens under the same mask.
        assert prepared.run is not None
        assert eager.run is not None
        others = [workload.inputs["input_ids"].flip(1), *list(workload.inputs.values())[1:]]
        check_equal(eager.run(others), prepared.run(others), "fp32", workload.valid)
    if workload.valid is not None:
        assert not outputs[0][~workload.valid].any()  # which eager's are not
        assert reference[0][~workload.valid].any()


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("albert", {}, "the model is no BERT, RoBERTa or DistilBERT"),
        ("bert_tiny", {"hidden_act": "gelu_new"}, "no activation 'gelu_new'"),
        ("bert_tiny", {"num_attention_heads": 1}, "an even number of heads, not 1"),
        ("bert_tiny", {"is_decoder": True}, "a decoder masks what comes later"),
    ],
)
def test_what_is_not_pytorch_s_encoder_is_skipped(
    name: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(Skip, match=message):
        MODES.open("better_transformer")().prepare(small(name, **more))


def test_a_module_of_the_user_s_is_skipped() -> None:
    workload = build_workload(own_spec("mine", lambda: (torch.nn.Linear(2, 2), torch.ones(2))))
    with pytest.raises(Skip, match="the model is no BERT"):
        MODES.open("better_transformer")().prepare(workload)


def test_a_fast_path_that_is_off_is_a_reason() -> None:
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with pytest.raises(Skip, match="fast path is switched off"):
            MODES.open("better_transformer")().prepare(small("bert_tiny"))
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


@pytest.mark.parametrize("mask", [[[0, 1, 1]], [[1, 0, 1]], [[0, 0, 0]]])
def test_padding_elsewhere_than_at_the_right_is_skipped(mask: list[list[int]]) -> None:
    with pytest.raises(Skip, match="padding at the right"):
        _check_mask(torch.tensor(mask))


def test_padding_at_the_right_is_taken() -> None:
    _check_mask(torch.tensor([[1, 1, 1], [1, 0, 0]]))


def test_another_path_than_the_fast_one_is_no_result() -> None:
    layer, nested = "aten::_transformer_encoder_layer_fwd", "aten::_nested_tensor_from_mask"
    _check_path({layer: 2, nested: 1}, 2, nested=True)
    with pytest.raises(PreparationError, match="fast path in 0 of 2 layers"):
        _check_path({"aten::addmm": 9}, 2, nested=False)
    with pytest.raises(PreparationError, match="no nested tensor"):
        _check_path({layer: 2}, 2, nested=True)
