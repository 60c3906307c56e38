"""Decoders with a cache as functions: what a step leaves behind are outputs, not side effects.

transformers' own static cache writes into itself, which exporters do not take. Here a forward gets
the cache as inputs and returns it with the new token's keys and values in place, so that outputs of
one step are inputs of the next in every mode. The price is a copy of the cache a step. Imported
when a model is built.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers.cache_utils import Cache

# Random weights leave all tokens about equally likely, and rounding would choose between them. With
# embeddings this much larger than what the layers add to them, the token that leads leads by far.
_EMBEDDING_DEVIATION = 1.0


class PrefillStep(nn.Module):  # type: ignore[misc]  # torch's types are not followed
    """A whole prompt at once: tokens and their mask, batch × sequence, to the token that follows,
    batch × 1, and keys and values, layers × batch × heads × sequence × width of a head each.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.config = model.config

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        cache = _Collected()
        token = _next_token(
            self.model, input_ids, attention_mask=attention_mask, past_key_values=cache
        )
        return token, torch.stack(cache.keys), torch.stack(cache.values)


class DecodeStep(nn.Module):  # type: ignore[misc]  # torch's types are not followed
    """One token, batch × 1, at `position` (one number), with the cache of all before it; returns
    the token that follows, the position after, and the cache, as it takes them.

    `keys` and `values` are layers × batch × heads × length × width of a head; places from
    `position` on are free, and hidden from attention.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.config = model.config

    def forward(
        self,
        input_ids: torch.Tensor,
        position: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> Any:
        cache = _Written(position, keys, values)
        places = torch.arange(keys.shape[3], device=keys.device)
        seen = (places <= position)[None, None, None, :]
        token = _next_token(
            self.model,
            input_ids,
            position_ids=position[None],
            attention_mask=seen.expand(input_ids.shape[0], 1, 1, -1),
            past_key_values=cache,
        )
        return token, position + 1, torch.stack(cache.keys), torch.stack(cache.values)


def lead_by_far(model: nn.Module) -> None:
    """Scale `model`'s embeddings, in place, so that rounding does not choose its next token.

    The head must share them. It changes no cost.
    """
    weight = model.get_input_embeddings().weight
    with torch.no_grad():
        weight.normal_(std=_EMBEDDING_DEVIATION)


def cache_sizes(config: Any, batch: int, length: int) -> tuple[int, int, int, int, int]:
    """Layers × batch × heads × `length` × width of a head, of keys and of values."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return config.num_hidden_layers, batch, heads, length, width


def _next_token(model: Any, input_ids: torch.Tensor, **more: Any) -> torch.Tensor:
    """The likeliest token after the last of `input_ids`, batch × 1."""
    decoder = getattr(model, model.base_model_prefix)
    hidden = decoder(input_ids=input_ids, use_cache=True, **more)[0]
    return model.lm_head(hidden[:, -1:]).argmax(dim=-1)


class _Collected(Cache):  # type: ignore[misc]  # nor are those of transformers
    """Keys and values of a first forward, layer by layer."""

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: Any, **_more: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.keys.append(key_states)
        self.values.append(value_states)
        return key_states, value_states

    def get_seq_length(self, *_args: Any, **_more: Any) -> int:
        return 0

    def get_query_offset(self, *_args: Any, **_more: Any) -> int:
        return 0

    def get_mask_sizes(self, query_length: int, *_args: Any, **_more: Any) -> tuple[int, int]:
        return query_length, 0


class _Written(_Collected):
    """Keys and values of all tokens before, with those of one more at `position`."""

    def __init__(self, position: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.position = position
        self.before = list(zip(keys.unbind(), values.unbind(), strict=True))

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: Any, **_more: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = self.before[len(self.keys)]  # layers ask in their order
        return super().update(
            keys.index_copy(2, self.position, key_states),
            values.index_copy(2, self.position, value_states),
        )
