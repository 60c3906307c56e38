"""Zero-work twins execute what their models execute; narrowed networks compute; lists in words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tiny_models import SIZES, tiny

from ftax_micro.errors import Skip, UsageError
from ftax_micro.models import known_models
from ftax_micro.models.contract import Shape
from ftax_micro.models.macs import count_macs
from ftax_micro.models.request import ModelRequest, own_spec, parse_model
from ftax_micro.models.twin import twin_of
from ftax_micro.models.workload import Workload, build_workload, count_parameters
from ftax_micro.modes.executed import dispatched

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")


@pytest.fixture(autouse=True)
def others_warn() -> Iterator[None]:
    """Libraries' own deprecations, met on import and construction, are not ours to fail on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def executed(workload: Workload) -> dict[str, int]:
    return dispatched(lambda: workload.module(**workload.inputs))


@pytest.mark.parametrize("name", ["bert_base", "llama_style", "wavlm", "resnet50", "lstm"])
def test_a_twin_executes_the_same_operations(name: str) -> None:
    request = parse_model(tiny(name))
    sizes = {key: size for key, size in SIZES.items() if getattr(request.spec.shape, key)}
    shape = request.spec.shape.replaced(**sizes)
    settings, small = twin_of(request, shape)
    twin = build_workload(request.spec, settings, small)
    assert executed(twin) == executed(build_workload(request.spec, request.overrides, shape))


@pytest.mark.parametrize("sequence", [64, 100, 192])
def test_a_twin_has_as_many_chunks(sequence: int) -> None:
    """Whole ones, one that is padded, and a single one, which is attended to without chunks."""
    request, shape = parse_model("reformer@vocab_size=500"), Shape(sequence=sequence)
    settings, small = twin_of(request, shape)
    twin = build_workload(request.spec, settings, small)
    assert executed(twin) == executed(build_workload(request.spec, request.overrides, shape))
    assert small.sequence == {64: 4, 100: 6, 192: 12}[sequence]


def test_a_twin_has_as_many_shifted_windows() -> None:
    request = parse_model("swin_t@embed_dim=24,depths=2-2-2-2,num_classes=10")
    settings, small = twin_of(request, request.spec.shape)
    twin = build_workload(request.spec, settings, small)
    full = build_workload(request.spec, request.overrides, request.spec.shape)
    assert executed(twin) == executed(full)


def test_depth_stays_and_width_goes() -> None:
    request = parse_model("bert_base@num_hidden_layers=3,hidden_size=1024,hidden_act=relu")
    settings, shape = twin_of(request, Shape(batch=64, sequence=512))
    assert settings["num_hidden_layers"] == 3
    assert settings["hidden_act"] == "relu"
    assert settings["hidden_size"] == 16
    assert shape == Shape(batch=1, sequence=2)


def test_a_width_under_its_common_name_goes_too() -> None:
    settings, _ = twin_of(parse_model("gpt2@hidden_size=1024,n_layer=2"), Shape(sequence=8))
    assert "hidden_size" not in settings
    assert settings["n_embd"] == 16
    assert settings["n_layer"] == 2


@pytest.mark.parametrize(
    ("text", "heads", "shared"),
    [
        ("llama_style", 2, 2),
        ("llama_style@num_attention_heads=32,num_key_value_heads=32", 2, 2),
        ("llama_style@num_key_value_heads=4", 4, 2),
        ("llama_style_decode@num_key_value_heads=1", 2, 1),
        ("qwen3_style", 4, 2),
        ("qwen3_style@num_key_value_heads=16", 2, 2),
        ("qwen3_style_decode@num_key_value_heads=1", 2, 1),
    ],
)
def test_keys_that_heads_share_stay_shared(text: str, heads: int, shared: int) -> None:
    settings, _ = twin_of(parse_model(text), Shape(sequence=8))
    assert (settings["num_attention_heads"], settings["num_key_value_heads"]) == (heads, shared)


def test_steps_of_a_recurrence_are_its_depth() -> None:
    _, shape = twin_of(parse_model("lstm"), Shape(batch=4, sequence=128))
    assert shape == Shape(batch=1, sequence=128)


SHRUNK = ["bert_base", "deberta", "gpt2", "hubert", "resnet18", "shufflenet_v2", "vgg16", "conv2d"]


@pytest.mark.parametrize("name", SHRUNK)
def test_a_twin_has_next_to_no_work(name: str) -> None:
    spec = known_models()[name]
    settings, shape = twin_of(parse_model(name), spec.shape)
    assert count_parameters(spec, settings) < 100_000
    assert count_macs(spec, settings, shape) < 2_000_000


def test_chunks_of_two_lengths_are_a_reason() -> None:
    request = parse_model("reformer@lsh_attn_chunk_length=32")
    with pytest.raises(Skip, match="only where all its chunks are of one length"):
        twin_of(request, Shape(sequence=128))


def test_every_model_has_a_twin() -> None:
    for name, spec in known_models().items():
        assert twin_of(parse_model(name), spec.shape)[1].batch == 1


def test_a_model_of_one_s_own_has_none() -> None:
    spec = own_spec("mine", lambda: (torch.nn.ReLU(), torch.ones(1)))
    with pytest.raises(Skip, match="mine has no zero-work twin"):
        twin_of(ModelRequest("mine", spec), Shape())


def test_a_narrow_network_keeps_its_layers() -> None:
    request = parse_model("resnet50@layers=1-1-1-1,narrow=16")
    module = build_workload(request.spec, request.overrides, Shape(image=32)).module
    assert module.conv1.in_channels == 3
    assert module.conv1.out_channels == 4
    assert module.layer4[0].conv2.in_channels == 32
    assert module.fc.in_features == 128


@pytest.mark.parametrize("text", ["resnet18@narrow=0", "resnet18@narrow=-1"])
def test_nothing_is_narrowed_by_less_than_one(text: str) -> None:
    with pytest.raises(UsageError, match=r"narrow is (at least 1|a number from 0 on)"):
        count_parameters((request := parse_model(text)).spec, request.overrides)


def test_lists_of_numbers_are_given_in_words() -> None:
    deep, plain = parse_model("funnel@block_sizes=1-1"), known_models()["funnel"]
    assert plain.parameters()["block_sizes"] == "4-4-4"
    assert count_parameters(deep.spec, deep.overrides) < count_parameters(plain) / 2
