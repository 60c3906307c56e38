"""Text decoders: a forward over the whole sequence without a cache, and, with one, its two phases.

``…_prefill`` takes a prompt and returns the next token and the cache; ``…_decode`` is one step with
a static cache that holds `sequence` tokens already; ``gpt2_generate`` are the paper's 16 new
tokens, step after step from such a cache, without the prefill.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import UsageError
from ftax_micro.models.contract import Family, Inputs, ModelSpec, Overrides, Shape
from ftax_micro.models.transformers_spec import masked_token_inputs, token_inputs, transformers_spec

if TYPE_CHECKING:
    import torch

# The paper's generation, and the room that a static cache leaves for new tokens.
NEW_TOKENS = 16
# Outputs of a step, by the inputs that they are in the next.
_FEEDBACK = ("input_ids", "position", "keys", "values")


def _decoder(name: str, stem: str, config: dict[str, Any], **more: Any) -> ModelSpec:
    # A cache is built anew at each forward: time of its own, and outputs that no exporter takes.
    return transformers_spec(
        name,
        Family.decoder,
        (f"{stem}Model", f"{stem}Config"),
        {**config, "use_cache": False},
        inputs=masked_token_inputs,
        **more,
    )


def _phase(name: str, stem: str, config: dict[str, Any], phase: str, steps: int = 1) -> ModelSpec:
    """A spec of the language model, head included, as one of the modules of `decoding`."""
    whole = transformers_spec(
        name,
        Family.decoder,
        (f"{stem}LMHeadModel" if stem == "GPT2" else f"{stem}ForCausalLM", f"{stem}Config"),
        # The head shares the embeddings, as `decoding.lead_by_far` asks.
        {**config, "tie_word_embeddings": True},
    )
    first = phase == "prefill"
    return ModelSpec(
        name=name,
        family=whole.family,
        source=whole.source,
        shape=whole.shape,
        build=functools.partial(_build, whole, first),
        inputs=masked_token_inputs if first else _cached_inputs,
        parameters=whole.parameters,
        feedback=() if first else _FEEDBACK,
        steps=steps,
    )


def _build(whole: ModelSpec, first: bool, shape: Shape, overrides: Overrides) -> torch.nn.Module:
    model = whole.build(shape, overrides)
    from ftax_micro.models.decoding import DecodeStep, PrefillStep, lead_by_far

    lead_by_far(model)
    return PrefillStep(model) if first else DecodeStep(model)


def _cached_inputs(module: torch.nn.Module, shape: Shape, overrides: Overrides) -> Inputs:
    """One random token and a cache of random keys and values of the `sequence` tokens before it.

    Errors: `UsageError` where the model has fewer positions than the cache.
    """
    import torch

    from ftax_micro.models.decoding import cache_sizes

    held = shape.sequence or 1
    length, most = held + NEW_TOKENS, int(module.config.max_position_embeddings)
    if length > most:
        raise UsageError(f"{held} tokens and {NEW_TOKENS} new ones are more than {most} positions")
    sizes = cache_sizes(module.config, shape.batch, length)
    filled = (torch.arange(length) < held)[:, None]
    token = token_inputs(module, shape.replaced(sequence=1), overrides)
    return {
        **token,
        "position": torch.full((1,), held),
        "keys": torch.randn(sizes) * filled,
        "values": torch.randn(sizes) * filled,
    }


# The published "160M" Llama: what the family's layers cost, in a size that runs anywhere.
LLAMA_160M: dict[str, Any] = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
    "intermediate_size": 3072,
    "vocab_size": 32000,
}
QWEN3_600M: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 3072,
    "vocab_size": 151936,
}

SPECS = (
    _decoder("gpt2", "GPT2", {}),
    _decoder("llama_style", "Llama", LLAMA_160M),
    _decoder("qwen3_style", "Qwen3", QWEN3_600M),
    _phase("gpt2_prefill", "GPT2", {}, "prefill"),
    _phase("llama_style_prefill", "Llama", LLAMA_160M, "prefill"),
    _phase("qwen3_style_prefill", "Qwen3", QWEN3_600M, "prefill"),
    _phase("gpt2_decode", "GPT2", {}, "decode"),
    _phase("llama_style_decode", "Llama", LLAMA_160M, "decode"),
    _phase("qwen3_style_decode", "Qwen3", QWEN3_600M, "decode"),
    _phase("gpt2_generate", "GPT2", {}, "decode", steps=NEW_TOKENS),
)
