"""What `--model` means: names, settings, lists. Nothing is built here."""

from __future__ import annotations

import re

import pytest

from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.models import known_models
from ftax_micro.models.contract import Family, Shape
from ftax_micro.models.request import parse_model, split_models

PAPER = [
    "bert_base",
    "bert_large",
    "distilbert",
    "roberta",
    "albert",
    "squeezebert",
    "mobilebert",
    "funnel",
    "deberta",
    "longformer",
    "nystromformer",
    "reformer",
    "fnet",
    "gpt2",
    "wavlm",
    "hubert",
    "wav2vec2",
    "speecht5",
    "resnet18",
    "resnet50",
    "resnet101",
    "resnet152",
    "wide_resnet50_2",
    "resnext50",
    "mobilenet_v2",
    "shufflenet_v2",
    "squeezenet",
    "efficientnet_b0",
    "mnasnet",
    "alexnet",
    "vgg16",
    "densenet161",
    "inception_v3",
    "googlenet",
    "feed_forward",
    "rnn",
    "lstm",
    "conv1d",
    "conv2d",
    "depthwise_conv2d",
    "layer_norm",
    "multi_head_attention",
]
TODAY = ["modernbert", "llama_style", "qwen3_style", "vit_b_16", "moe_block"]


def test_the_paper_s_models_and_today_s_are_all_there() -> None:
    assert set(PAPER) | set(TODAY) <= set(known_models())


def test_names_are_lower_snake_case_and_shapes_fit_the_family() -> None:
    sizes = {
        Family.encoder: {"sequence"},
        Family.decoder: {"sequence"},
        Family.vision: {"image"},
        Family.speech: {"audio"},
    }
    for name, spec in known_models().items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert spec.name == name
        assert spec.shape.batch == 1
        has = {key for key in ("sequence", "image", "audio") if getattr(spec.shape, key)}
        assert len(has) == 1
        assert has == sizes.get(spec.family, has)


def test_the_paper_s_protocol_is_the_default() -> None:
    models = known_models()
    assert models["bert_base"].shape.sequence == 128
    assert models["resnet50"].shape.image == 224
    assert models["wavlm"].shape.audio == 32_000


def test_a_name_alone_has_no_settings() -> None:
    request = parse_model("layer_norm")
    assert (request.spec.name, request.overrides) == ("layer_norm", {})


def test_settings_have_the_type_of_their_default() -> None:
    request = parse_model("moe_block@hidden_size=64, chosen=1")
    assert request.overrides == {"hidden_size": 64, "chosen": 1}
    assert request.text == "moe_block@hidden_size=64, chosen=1"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("bert_base", "bert_base"),
        ("bert_base@a=1,b=2,resnet18", "bert_base@a=1,b=2 resnet18"),
        ("resnet18,bert_base@a=1", "resnet18 bert_base@a=1"),
        ("a@b=1,c@d=2,e=3", "a@b=1 c@d=2,e=3"),
        (" a , b ", "a b"),
    ],
)
def test_a_list_keeps_settings_with_their_model(text: str, names: str) -> None:
    assert split_models(text) == names.split()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bert_bse", "did you mean bert_base"),
        ("layer_norm@hiden_size=3", "unknown setting of layer_norm 'hiden_size'; did you mean"),
        ("layer_norm@hidden_size", "'hidden_size' is not name=value"),
        ("layer_norm@hidden_size=", "is not name=value"),
        ("layer_norm@", "is not name=value"),
        ("layer_norm@hidden_size=big", "hidden_size is int, like 768, not 'big'"),
        ("layer_norm@hidden_size=-1", "hidden_size is a number from 0 on, like 768, not -1"),
        ("multi_head_attention@num_attention_heads=1.5", "num_attention_heads is int"),
        ("no_such_package.module:factory", "cannot be imported"),
        ("os:no_such_name", "cannot be imported"),
        ("os:sep", "is not a function"),
        ("os:getcwd@a=1", "settings belong into it"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_model(text)


def test_all_is_every_model_there_is() -> None:
    assert split_models("all") == list(known_models())


@pytest.mark.parametrize("text", ["", ",", "a,,b"])
def test_an_empty_name_in_a_list_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="empty name"):
        split_models(text)


def test_unknown_models_are_told_apart_from_unknown_settings() -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse_model("resnet5")
    assert caught.value.kind == "model"
    assert "resnet50" in caught.value.suggestions


def test_a_shape_takes_the_sizes_it_has() -> None:
    assert Shape(sequence=128).replaced(batch=4, sequence=16, image=None) == Shape(4, 16)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"image": 224}, "the model's input has no image; it has batch and sequence"),
        ({"batch": 0}, "batch must be at least 1, not 0"),
        ({"sequence": -5}, "sequence must be at least 1, not -5"),
    ],
)
def test_a_shape_refuses_what_it_cannot_be(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Shape(sequence=128).replaced(**sizes)
