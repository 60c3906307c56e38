"""Text decoders: one forward over the whole sequence (prefill, without a cache)."""

from __future__ import annotations

from typing import Any

from ftax_micro.models.contract import Family, ModelSpec
from ftax_micro.models.transformers_spec import masked_token_inputs, transformers_spec


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


# The published "160M" Llama: what the family's layers cost, in a size that runs anywhere.
_LLAMA_160M: dict[str, Any] = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
    "intermediate_size": 3072,
    "vocab_size": 32000,
}
_QWEN3_600M: dict[str, Any] = {
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
    _decoder("llama_style", "Llama", _LLAMA_160M),
    _decoder("qwen3_style", "Qwen3", _QWEN3_600M),
)
