"""Multiply-accumulates: hand-computed, as published, and never too few in silence."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tiny_models import SMALLEST, tiny

from ftax_micro.errors import Skip
from ftax_micro.models import known_models
from ftax_micro.models.contract import Shape
from ftax_micro.models.macs import count_macs, module_macs
from ftax_micro.models.request import own_spec, parse_model
from ftax_micro.models.workload import build_workload
from ftax_micro.orchestration.workload import counts
from ftax_micro.orchestration.workload.request import WorkloadRequest

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


def tiny_macs(name: str, **sizes: int) -> int:
    request = parse_model(tiny(name))
    return count_macs(request.spec, request.overrides, request.spec.shape.replaced(**sizes))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("feed_forward", 2 * 5 * 16 * 32),
        ("conv1d", 5 * 8 * 8 * 3),
        # Four gates of 16, from the input and from the state, at each of 5 steps.
        ("lstm", 5 * 4 * 16 * (16 + 16)),
        ("rnn", 5 * 16 * (16 + 16)),
        ("layer_norm", 0),
        # Three projections in and one out, scores, and what they weigh.
        ("multi_head_attention", 4 * 5 * 16 * 16 + 2 * 5 * 5 * 16),
    ],
)
def test_a_layer_multiplies_as_often_as_by_hand(name: str, expected: int) -> None:
    assert tiny_macs(name, sequence=5) == expected
    assert tiny_macs(name, sequence=5, batch=3) == 3 * expected


def test_a_convolution_counts_its_groups() -> None:
    assert tiny_macs("conv2d", image=7) == 7 * 7 * 8 * 8 * 9
    assert tiny_macs("depthwise_conv2d", image=7) == 7 * 7 * 8 * 9


@pytest.mark.parametrize(("name", "published"), [("resnet50", 4.089e9), ("bert_base", 11.174e9)])
def test_full_models_have_the_published_number(name: str, published: float) -> None:
    assert count_macs(known_models()[name]) == pytest.approx(published, rel=1e-3)


@pytest.mark.parametrize("family", SMALLEST)
def test_pytorch_s_own_counter_says_the_same(family: str) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    name, sizes = SMALLEST[family]
    request = parse_model(name)
    workload = build_workload(request.spec, request.overrides, request.spec.shape.replaced(**sizes))
    torch.backends.mha.set_fastpath_enabled(False)
    with (
        torch.no_grad(),
        torch.backends.mkldnn.flags(enabled=False),
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        workload.module(**workload.inputs)
    torch.backends.mha.set_fastpath_enabled(True)
    assert counter.get_total_flops() > 0
    for in_place in (False, True):
        found = module_macs(workload.module, workload.inputs, in_place=in_place)
        assert 2 * found == counter.get_total_flops()


def test_what_is_unknown_where_it_is_is_counted_on_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, in_place: bool = False) -> int:
        raise Skip("no count is known for mkldnn::it")

    monkeypatch.setattr(counts, "counts_soonest_in_place", lambda _seconds: True)
    monkeypatch.setattr(counts, "module_macs", unknown)
    request = parse_model(tiny("feed_forward"))
    asked = WorkloadRequest(request, request.spec.shape)
    workload = build_workload(request.spec, request.overrides, request.spec.shape)
    found = counts.count_facts(asked, workload, has_spec=True, forward_s=0.0)
    assert (found.macs, found.reasons) == (tiny_macs("feed_forward"), {})


def test_a_short_forward_is_counted_where_it_is_and_loads_no_compiler() -> None:
    """In a process of its own: what ran in this one may have loaded it."""
    program = f"""
import sys
from ftax_micro.models.macs import counts_soonest_in_place, module_macs
from ftax_micro.models.request import parse_model
from ftax_micro.models.workload import build_workload

request = parse_model({tiny("feed_forward")!r})
workload = build_workload(request.spec, request.overrides, request.spec.shape)
short, long = counts_soonest_in_place(0.01), counts_soonest_in_place(10.0)
macs = module_macs(workload.module, workload.inputs, in_place=short)
before = "torch._dynamo" in sys.modules
sys.modules["torch._dynamo"] = None
print(short, long, before, macs, counts_soonest_in_place(0.01))
"""
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split() == ["True", "False", "False", str(tiny_macs("feed_forward")), "False"]


class AsksForAValue(torch.nn.Module):  # type: ignore[misc]
    """Cannot run on meta, since its path depends on its input."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.reshape(1, 1, -1, 4)
        mixed = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
        return self.layer(mixed) if bool((x == x).all()) else x


def test_what_cannot_run_on_meta_is_counted_where_it_is_attention_included() -> None:
    module, inputs = AsksForAValue(), torch.ones(3, 4)
    before = module.layer.weight.clone()
    spec = own_spec("mine", lambda: (module, inputs))
    assert count_macs(spec) == 3 * 4 * 2 + 2 * 3 * 3 * 4
    assert torch.equal(module.layer.weight, before)
    assert module.layer.weight.requires_grad


def test_a_decoder_that_looks_at_its_mask_counts_like_one_that_does_not() -> None:
    width, words, layers, inner = 32, 16, 2, 128
    per_layer = words * (4 * width * width + 2 * width * inner) + 2 * words * words * width
    assert tiny_macs("gpt2", sequence=words) == layers * per_layer


@pytest.mark.parametrize("mode", ["inference", "grad"])
def test_counting_works_in_inference_mode_and_out_of_it(mode: str) -> None:
    layer = torch.nn.Linear(4, 2)
    with torch.inference_mode(mode == "inference"):
        assert module_macs(layer, {"input": torch.ones(3, 4)}) == 24


def test_an_operation_of_unknown_cost_makes_the_count_unknown() -> None:
    with pytest.raises(Skip, match=r"no count of multiply-accumulates is known for aten::_fft_c2c"):
        tiny_macs("fnet", sequence=8)

    class Inverts(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.inv(x)

    with pytest.raises(Skip, match="aten::linalg_inv_ex"):
        module_macs(Inverts(), {"x": torch.eye(3)})


def test_counting_leaves_torch_s_generator_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    count_macs(parse_model(tiny("feed_forward")).spec, shape=Shape(sequence=2))
    assert torch.equal(torch.rand(3), expected)
