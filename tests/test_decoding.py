"""Prefill, decode step and generation compute what the models' own library computes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from tiny_models import PHASES, tiny

from ftax_micro.errors import Skip, UsageError
from ftax_micro.models import known_models
from ftax_micro.models.contract import Shape
from ftax_micro.models.request import parse_model
from ftax_micro.models.twin import twin_of
from ftax_micro.models.workload import Workload, build_workload
from ftax_micro.modes import MODES
from ftax_micro.modes.contract import Prepared
from ftax_micro.modes.equality import check_equal
from ftax_micro.modes.executed import dispatched
from ftax_micro.modes.outputs import on_cpu, tensors_of
from ftax_micro.modes.repeated import repeated

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="the models extra is not installed")

PROMPT, NEW = 5, 6


@pytest.fixture(autouse=True)
def others_warn() -> Iterator[None]:
    """Libraries' own deprecations, met on import and construction, are not ours to fail on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def small(name: str, dtype: str = "fp32", **sizes: int) -> Workload:
    request = parse_model(tiny(name))
    shape = request.spec.shape.replaced(**{"batch": 2, "sequence": 8, **sizes})
    return build_workload(request.spec, request.overrides, shape, dtype)


def step_of(workload: Workload, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    with torch.no_grad():
        names = tuple(workload.inputs)
        return tensors_of(workload.module(**dict(zip(names, inputs, strict=True))))


def prepared_step(workload: Workload, **more: Any) -> Prepared:
    inputs = tuple(workload.inputs.values())
    return Prepared(
        lambda: step_of(workload, inputs),
        on_cpu,
        run=lambda given: step_of(workload, given),
        **more,
    )


@pytest.mark.parametrize("stem", ["gpt2", "llama_style", "qwen3_style"])
def test_greedy_tokens_are_those_of_the_library_s_own_generation(stem: str) -> None:
    from ftax_micro.models.decoding import DecodeStep, PrefillStep

    model = small(f"{stem}_prefill").module.model
    torch.manual_seed(0)
    # A head of its own: one that shares the embeddings repeats the token that it is given.
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
    prompt = torch.randint(10, 500, (2, PROMPT))
    mask = torch.ones_like(prompt)
    with torch.inference_mode():
        expected = model.generate(
            prompt,
            attention_mask=mask,
            max_new_tokens=NEW,
            min_new_tokens=NEW,
            do_sample=False,
            pad_token_id=0,
        )[:, PROMPT:]
        token, keys, values = PrefillStep(model)(prompt, mask)
        room = (0, 0, 0, NEW)  # places after those of the prompt
        state = [torch.nn.functional.pad(each, room) for each in (keys, values)]
        state = [token, torch.tensor([PROMPT]), *state]
        tokens = [token]
        for _ in range(NEW - 1):
            state = list(DecodeStep(model)(*state))
            tokens.append(state[0])
    assert torch.equal(torch.cat(tokens, dim=1), expected)
    assert len(set(expected.flatten().tolist())) > 2
    assert state[1].item() == PROMPT + NEW - 1


@pytest.mark.parametrize("name", PHASES)
def test_torchscript_decodes_as_eager_does(name: str) -> None:
    workload = small(name)
    outputs = []
    for mode in ("eager", "torchscript"):
        with torch.inference_mode():
            prepared = MODES.open(mode)().prepare(workload)
            outputs.append(prepared.outputs(prepared.forward()))
    eager, script = outputs
    assert check_equal(eager, script, "fp32").relative_norm < 1e-4


@pytest.mark.parametrize("name", ["llama_style_prefill", "gpt2_decode"])
def test_exporters_take_a_step(name: str) -> None:
    from ftax_micro.modes.positional import Positional

    workload = small(name)
    inputs = tuple(workload.inputs.values())
    with torch.no_grad():
        module = Positional(workload.module, tuple(workload.inputs)).eval()
        exported = torch.export.export(module, inputs).module()
        check_equal(module(*inputs), exported(*inputs), "fp32")


def test_places_after_the_position_are_hidden() -> None:
    workload = small("gpt2_decode")
    inputs = dict(workload.inputs)
    noisy = [each.clone() for each in (inputs["keys"], inputs["values"])]
    for each in noisy:
        each[:, :, :, 9:] = 1e3
    before = step_of(workload, tuple(inputs.values()))
    after = step_of(workload, (inputs["input_ids"], inputs["position"], *noisy))
    assert torch.equal(before[0], after[0])
    assert torch.equal(before[2][:, :, :, :9], after[2][:, :, :, :9])


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_rounding_does_not_choose_the_token(dtype: str) -> None:
    outputs = {}
    for kind in ("fp32", dtype):
        workload = small("gpt2_decode", kind, batch=16)
        outputs[kind] = step_of(workload, tuple(workload.inputs.values()))[0]
    assert torch.equal(outputs["fp32"], outputs[dtype])


def test_a_forward_of_several_steps_feeds_each_with_the_one_before() -> None:
    workload = small("gpt2_generate")
    assert workload.steps == 16
    state = list(workload.inputs.values())
    for _ in range(workload.steps):
        state = step_of(workload, state)
    whole = repeated(prepared_step(workload), workload)
    for _ in range(2):  # the second begins anew
        for mine, expected in zip(whole.outputs(whole.forward()), state, strict=True):
            assert torch.equal(mine, expected)
    assert state[1].item() == 8 + 16


def test_all_steps_are_counted() -> None:
    workload = small("gpt2_generate")
    counted = repeated(prepared_step(workload, executed=lambda: {"aten::mm": 3}), workload)
    assert counted.executed is not None
    assert counted.executed() == {"aten::mm": 48}
    assert repeated(prepared_step(workload), workload).executed is None


def test_a_single_step_is_its_own_forward() -> None:
    workload = small("gpt2_decode")
    prepared = prepared_step(workload)
    assert repeated(prepared, workload) is prepared


def test_a_mode_with_fixed_inputs_cannot_generate() -> None:
    with pytest.raises(Skip, match="inputs cannot be exchanged in this mode"):
        repeated(Prepared(lambda: None, on_cpu), small("gpt2_generate"))


def test_more_tokens_than_positions_are_refused() -> None:
    spec = known_models()["gpt2_decode"]
    settings = parse_model(tiny("gpt2_decode")).overrides
    with pytest.raises(UsageError, match="1009 tokens and 16 new ones are more than 1024"):
        build_workload(spec, settings, Shape(sequence=1009))


@pytest.mark.parametrize("name", ["gpt2_decode", "qwen3_style_decode", "llama_style_prefill"])
def test_a_twin_of_a_phase_executes_the_same_operations(name: str) -> None:
    request = parse_model(tiny(name))
    full = build_workload(request.spec, request.overrides, Shape(sequence=12))
    twin = build_workload(request.spec, *twin_of(request, Shape(sequence=12)))
    inputs = [tuple(each.inputs.values()) for each in (full, twin)]
    counted = dispatched(lambda: step_of(full, inputs[0]))
    assert counted == dispatched(lambda: step_of(twin, inputs[1]))
