"""Lengths of sequences in real text, padded to one size: what a batch of sentences looks like.

The paper gives two moments of its sentences' lengths and no more. Lengths are counts whose variance
is above their mean, and the negative binomial is the distribution of counts with both free: a
Poisson count whose rate differs from sentence to sentence. It is drawn from, never below one token.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.models.contract import Family, Inputs, ModelSpec

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class LengthDistribution:
    """Tokens per sentence: `mean`, and a standard `deviation` above the mean's square root."""

    mean: float
    deviation: float

    def draw(self, count: int, most: int, seed: int) -> list[int]:
        """`count` lengths from 1 to `most` tokens; longer sentences are cut.

        The same seed gives the same lengths, and fewer of them are the first of more.
        """
        import numpy as np

        # Of a negative binomial, the variance is mean + mean² / r, and p is r / (r + mean).
        r = self.mean**2 / (self.deviation**2 - self.mean)
        drawn = np.random.default_rng(seed).negative_binomial(r, r / (r + self.mean), count)
        return [int(each) for each in drawn.clip(1, most)]


# Section 4 of the paper: the Penn Treebank's sentences, padded to at most 128 tokens.
LENGTHS = {"penn_treebank": LengthDistribution(mean=20.92, deviation=10.18)}


def check_lengths(name: str) -> LengthDistribution:
    """The distribution of that name. Errors: `UnknownNameError`."""
    if name not in LENGTHS:
        raise UnknownNameError("distribution of lengths", name, LENGTHS)
    return LENGTHS[name]


def padded_inputs(
    spec: ModelSpec, module: torch.nn.Module, inputs: Inputs, name: str, seed: int
) -> tuple[Inputs, torch.Tensor]:
    """`inputs` of a text encoder with lengths of the distribution `name`, and where they are valid.

    Each sentence keeps its first tokens, the rest is padding up to the length that the inputs have:
    modes that know no sparsity see the shape that was asked for. The second of the pair is True
    where a token is no padding, batch × sequence.
    Errors: `UnknownNameError`; `UsageError` for a model that reads no text or takes no mask.
    """
    import torch

    distribution = check_lengths(name)
    if spec.family is not Family.encoder:
        raise UsageError(f"lengths of text are for text encoders; {spec.name} is none")
    if "attention_mask" not in inspect.signature(module.forward).parameters:
        raise UsageError(f"{spec.name} takes no attention mask: it cannot tell padding from text")
    tokens = inputs["input_ids"]
    batch, sequence = tokens.shape
    lengths = torch.tensor(distribution.draw(batch, sequence, seed))
    valid = torch.arange(sequence) < lengths[:, None]
    padding = int(getattr(module.config, "pad_token_id", None) or 0)
    padded = {
        **inputs,
        "input_ids": tokens.where(valid, padding),
        "attention_mask": valid.to(tokens.dtype),
    }
    return padded, valid
