"""Every model, tiny, built and run once; the full sizes counted without being made."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tiny_models import SIZES, TINY, tiny

from ftax_micro.errors import MissingPackageError, Skip, UsageError
from ftax_micro.models import known_models
from ftax_micro.models.contract import Family, Shape
from ftax_micro.models.request import own_spec, parse_model
from ftax_micro.models.transformers_spec import transformers_spec
from ftax_micro.models.workload import Workload, build_workload, count_parameters
from ftax_micro.modes.outputs import tensors_of

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

# Weights of the published checkpoints, in millions: their model cards, or torchvision's table.
PUBLISHED = {
    "bert_base": 109.5,
    "bert_large": 335.1,
    "distilbert": 66.4,
    "roberta": 124.6,
    "albert": 11.7,
    "mobilebert": 24.6,
    "deberta": 138.6,
    "deberta_v2": 183.8,
    "longformer": 148.7,
    "modernbert": 149.0,
    "gpt2": 124.4,
    "qwen3_style": 596.0,
    "hubert": 94.4,
    "wavlm": 94.4,
    "resnet18": 11.69,
    "resnet50": 25.56,
    "resnet101": 44.55,
    "resnet152": 60.19,
    "wide_resnet50_2": 68.88,
    "resnext50": 25.03,
    "mobilenet_v2": 3.50,
    "shufflenet_v2": 2.28,
    "efficientnet_b0": 5.29,
    "densenet121": 7.98,
    "vgg16": 138.36,
    "alexnet": 61.10,
    "regnet_y_400mf": 4.34,
    "vit_b_16": 86.57,
}


@pytest.fixture(autouse=True)
def others_warn() -> Iterator[None]:
    """Libraries' own deprecations, met on import and construction, are not ours to fail on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def small(name: str, **sizes: int) -> Workload:
    request = parse_model(tiny(name))
    own = {key: size for key, size in SIZES.items() if getattr(request.spec.shape, key)}
    return build_workload(
        request.spec, request.overrides, request.spec.shape.replaced(**own, **sizes)
    )


def forward(workload: Workload) -> list[torch.Tensor]:
    with torch.inference_mode():
        return tensors_of(workload.module(**workload.inputs))


@pytest.mark.parametrize("name", TINY)
def test_a_tiny_model_answers_with_finite_numbers_that_differ(name: str) -> None:
    outputs = forward(small(name))
    assert outputs
    for output in outputs:
        assert output.isfinite().all()
        assert output.std() > 1e-6


@pytest.mark.parametrize("name", TINY)
def test_the_batch_is_the_first_size_of_inputs_and_outputs(name: str) -> None:
    workload = small(name, batch=2)
    assert {each.shape[0] for each in workload.inputs.values()} == {2}
    assert forward(workload)[0].shape[0] == 2


@pytest.mark.parametrize("name", PUBLISHED)
def test_full_sizes_have_the_published_number_of_weights(name: str) -> None:
    millions = count_parameters(known_models()[name]) / 1e6
    assert millions == pytest.approx(PUBLISHED[name], rel=0.011)  # with or without a pooler


def test_every_model_can_be_counted_and_tells_its_settings() -> None:
    for spec in known_models().values():
        assert count_parameters(spec) > 0
        assert spec.parameters()


def test_one_seed_gives_one_model_and_leaves_torch_s_generator_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first, second = small("bert_tiny"), small("bert_tiny")
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(forward(first)[0], forward(second)[0])
    assert torch.equal(first.inputs["input_ids"], second.inputs["input_ids"])


def test_another_seed_gives_another_model() -> None:
    spec = parse_model(tiny("feed_forward"))
    one, two = (build_workload(spec.spec, spec.overrides, seed=seed) for seed in (0, 1))
    assert not torch.equal(forward(one)[0], forward(two)[0])


@pytest.mark.parametrize(("dtype", "size"), [("fp32", 4), ("bf16", 2), ("fp16", 2)])
def test_a_dtype_is_that_of_weights_and_inputs(dtype: str, size: int) -> None:
    request = parse_model(tiny("layer_norm"))
    workload = build_workload(request.spec, request.overrides, dtype=dtype)
    assert workload.weight_bytes == size * workload.parameters
    assert workload.inputs["input"].element_size() == size


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown dtype 'fp8'; known: fp32, fp16, bf16"):
        build_workload(known_models()["layer_norm"], dtype="fp8")


def test_settings_change_depth_and_width() -> None:
    deep = parse_model("bert_base@num_hidden_layers=24")
    assert count_parameters(deep.spec, deep.overrides) > 1.7 * count_parameters(deep.spec)
    wide = parse_model("resnet50@width_per_group=128")
    assert count_parameters(wide.spec, wide.overrides) == count_parameters(
        known_models()["wide_resnet50_2"]
    )


@pytest.mark.parametrize(
    "text",
    [
        "bert_base@num_attention_heads=7",
        "multi_head_attention@num_attention_heads=7",
        "resnet50@layers=3-4",
        "resnet50@block=round",
        "moe_block@chosen=9",
        "vit_b_16@num_heads=7",
    ],
)
def test_settings_that_the_model_refuses_are_usage_errors(text: str) -> None:
    request = parse_model(text)
    with pytest.raises(UsageError):
        forward(build_workload(request.spec, request.overrides))


def test_heads_of_zeros_are_filled_and_norms_calibrated() -> None:
    vit = small("vit_b_16").module
    assert vit.heads.head.weight.any()
    resnet = small("resnet50")
    assert not torch.equal(resnet.module.bn1.running_var, torch.ones(64))
    assert resnet.module.bn1.momentum == 0.1
    assert not any(each.training for each in resnet.module.modules())


def test_a_model_of_one_s_own_keeps_its_inputs() -> None:
    linear = torch.nn.Linear(3, 2)
    spec = own_spec("mine", lambda: (linear, torch.ones(5, 3)))
    workload = build_workload(spec)
    assert set(workload.inputs) == {"input"}
    assert forward(workload)[0].shape == (5, 2)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (None, "must return an nn.Module and its inputs, not NoneType"),
        ((1, 2), "must return an nn.Module"),
        ((torch.nn.ReLU(), "text"), "inputs"),
        ((torch.nn.ReLU(), ()), "there are none"),
        ((torch.nn.ReLU(), {"input": 3}), "inputs must be tensors; input"),
        ((torch.nn.ReLU(), (torch.ones(1), torch.ones(1))), "2 inputs for 1 parameters"),
    ],
)
def test_a_factory_that_returns_something_else_is_a_usage_error(made: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build_workload(own_spec("mine", lambda: made))  # type: ignore[arg-type,return-value]


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(MissingPackageError, match=r"ftax-micro\[models\]"):
        count_parameters(known_models()["bert_base"])


def test_a_class_that_the_library_has_dropped_is_skipped_with_its_version() -> None:
    spec = transformers_spec("gone", Family.encoder, ("NoSuchModel", "BertConfig"))
    with pytest.raises(Skip, match=r"transformers \d+\.\S+ has no NoSuchModel"):
        count_parameters(spec)


def test_families_cover_the_zoo() -> None:
    assert {spec.family for spec in known_models().values()} == set(Family)
    assert Shape().replaced() == Shape()
