"""Modes compute what eager computes, and whatever goes wrong in preparing one is one line."""

from __future__ import annotations

import dataclasses
import logging
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING

import pytest
from tiny_models import SIZES, tiny

from ftax_micro.errors import Skip
from ftax_micro.frameworks.preparation import PreparationError, first_line, preparing
from ftax_micro.models.request import own_spec, parse_model
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes import MODES
from ftax_micro.modes.contract import Mode
from ftax_micro.modes.equality import MismatchError, check_equal, check_finite
from ftax_micro.modes.outputs import on_cpu, tensors_of

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

FAMILIES = ["bert_tiny", "gpt2", "wavlm", "vit_b_16", "resnet50", "lstm", "moe_block"]


def small(name: str, dtype: str = "fp32") -> Workload:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what libraries say when they are imported
        request = parse_model(tiny(name))
        own = {key: size for key, size in SIZES.items() if getattr(request.spec.shape, key)}
        shape = request.spec.shape.replaced(**own)
        return build_workload(request.spec, request.overrides, shape, dtype)


def outputs_in(mode: str, workload: Workload) -> list[torch.Tensor]:
    opened: Mode = MODES.open(mode)()
    with torch.inference_mode():
        prepared = opened.prepare(workload)
        try:
            return prepared.outputs(prepared.forward())
        finally:
            prepared.close()


@pytest.mark.parametrize("mode", ["torchscript"])  # the others have tests of their own
@pytest.mark.parametrize("name", FAMILIES)
def test_a_mode_computes_what_eager_computes_without_a_warning(name: str, mode: str) -> None:
    workload = small(name)
    expected = outputs_in("eager", workload)
    try:
        outputs = outputs_in(mode, workload)
    except Skip as reason:
        pytest.skip(str(reason))
    agreement = check_equal(expected, outputs, "fp32")
    assert agreement.relative_norm < 1e-4


def test_preparing_tells_what_each_step_took() -> None:
    with torch.inference_mode():
        prepared = MODES.open("torchscript")().prepare(small("bert_tiny"))
    assert set(prepared.costs_s) == {"trace", "freeze", "first_runs"}
    assert all(cost > 0 for cost in prepared.costs_s.values())


def test_without_torchscript_the_mode_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.jit, "freeze")
    with pytest.raises(Skip, match=r"torch \S+ has no TorchScript"):
        MODES.open("torchscript")().prepare(small("feed_forward"))


def test_a_trace_that_fails_is_one_line_with_the_rest_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Refuses(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if torch.jit.is_tracing():
                raise RuntimeError("\n  ---\n  no tracing here\nat a place\n")
            return x

    workload = build_workload(own_spec("mine", lambda: (Refuses(), torch.ones(2))))
    with (
        caplog.at_level(logging.INFO, "ftax_micro.frameworks"),
        pytest.raises(PreparationError) as caught,
    ):
        MODES.open("torchscript")().prepare(workload)
    assert str(caught.value) == "torch.jit.trace failed: RuntimeError: no tracing here"
    assert "at a place" in caplog.text


def test_the_first_useful_line_is_cut_where_it_is_long() -> None:
    assert first_line(ValueError("")) == "ValueError: no message"
    assert len(first_line(ValueError("x" * 1000))) == 300


def test_our_own_errors_pass_through_preparing() -> None:
    with pytest.raises(Skip, match=r"^not here$"), preparing("a step"):
        raise Skip("not here")


def test_outputs_are_found_in_whatever_holds_them() -> None:
    one, two = torch.ones(1), torch.zeros(2)

    @dataclasses.dataclass
    class Held:
        first: torch.Tensor
        nothing: None
        more: list[torch.Tensor]

    assert tensors_of(one) == [one]
    assert [len(t) for t in tensors_of((one, None, [two, 3]))] == [1, 2]
    assert [len(t) for t in tensors_of(OrderedDict(a=two, b={"c": one}))] == [2, 1]
    assert [len(t) for t in tensors_of(Held(one, None, [two]))] == [1, 2]
    assert tensors_of("text") == []
    copied = on_cpu(one)[0]
    copied += 1
    assert one.item() == 1


def test_agreement_is_the_worst_output_s() -> None:
    reference = [torch.full((4,), 2.0), torch.full((9,), 10.0)]
    outputs = [torch.tensor([2.0, 2.0, 2.0, 2.001]), torch.full((9,), 10.0)]
    agreement = check_equal(reference, outputs, "fp32")
    assert agreement.largest == pytest.approx(0.001, rel=1e-3)
    assert agreement.relative_norm == pytest.approx(0.001 / 4, rel=1e-3)


def test_short_dtypes_may_differ_by_more() -> None:
    reference, outputs = [torch.ones(10)], [torch.full((10,), 1.01)]
    assert check_equal(reference, outputs, "fp16").relative_norm == pytest.approx(0.01, rel=1e-3)
    with pytest.raises(MismatchError, match=r"differ from eager's by 0\.01 .* largest .* 0\.01"):
        check_equal(reference, outputs, "fp32")


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("reference", "outputs", "message"),
    [
        ([[1.0]], [], "0 outputs, where eager has 1"),
        ([], [], "no output to compare"),
        ([[1.0]], [[1.0, 1.0]], r"output 0 has the shape \(2,\) instead of eager's \(1,\)"),
        ([[0.0, 0.0]], [[0.0, 0.0]], "zero throughout"),
        ([[1.0, 2.0]], [[1.0, NAN]], "output 0: 1 of 2 are not finite"),
        ([[1.0], [INF]], [[1.0], [INF]], "1 of 1 are not finite"),
        ([[1.0], [5.0]], [[5.0], [1.0]], "differ from eager's by 4 "),
    ],
)
def test_what_is_not_eager_s_is_a_mismatch(
    reference: list[list[float]], outputs: list[list[float]], message: str
) -> None:
    expected, found = ([torch.tensor(each) for each in values] for values in (reference, outputs))
    with pytest.raises(MismatchError, match=message):
        check_equal(expected, found, "fp32")


def test_whole_numbers_must_be_equal() -> None:
    tokens, other = torch.tensor([[40_000], [0]]), torch.tensor([[40_001], [0]])
    assert check_equal([tokens], [tokens.clone()], "fp16").relative_norm == 0.0
    with pytest.raises(MismatchError, match=r"output 0: 1 of 2 are not eager's"):
        check_equal([tokens], [other], "fp16")


def test_finite_outputs_pass() -> None:
    check_finite([torch.ones(3)])
