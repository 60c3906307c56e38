"""Blocks that no library offers as one module with one input. Imported when one is built."""

from __future__ import annotations

import torch
from torch import nn


class SelfAttention(nn.Module):
    """`nn.MultiheadAttention` of a sequence with itself; batch × sequence × hidden in and out."""

    def __init__(self, hidden_size: int, num_attention_heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(hidden_size, num_attention_heads, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output, _ = self.attention(x, x, x, need_weights=False)
        return output


class MixtureOfExperts(nn.Module):
    """Each token through its `chosen` best experts, weighted by a softmax over their scores.

    All experts see all tokens and what is not chosen has weight zero: the arithmetic is more than a
    grouped implementation needs, the operations are the same for every input, so that a trace or a
    CUDA graph can hold them. batch × sequence × hidden, and the same.
    """

    def __init__(self, hidden_size: int, intermediate_size: int, experts: int, chosen: int) -> None:
        super().__init__()
        if not 1 <= chosen <= experts:
            raise ValueError(f"{chosen} of {experts} experts cannot be chosen")
        self.chosen = chosen
        self.router = nn.Linear(hidden_size, experts, bias=False)
        scale = hidden_size**-0.5
        self.rise = nn.Parameter(torch.randn(experts, hidden_size, intermediate_size) * scale)
        self.fall = nn.Parameter(torch.randn(experts, intermediate_size, hidden_size) * scale)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.router(x)
        best, places = scores.topk(self.chosen, dim=-1)
        shares = torch.zeros_like(scores).scatter(-1, places, best.softmax(dim=-1))
        tokens = x.unsqueeze(1)  # batch × 1 × sequence × hidden
        outputs = nn.functional.silu(tokens @ self.rise) @ self.fall
        return torch.einsum("bse,besh->bsh", shares, outputs)
