"""Outputs of a forward as a flat list of tensors, whatever the model wraps them in."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def tensors_of(output: Any) -> list[torch.Tensor]:
    """All tensors inside `output`, in order: itself, or those of tuples, mappings, dataclasses.

    What is not a tensor (None, numbers, caches) is left out.
    """
    import torch

    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, Mapping):  # transformers' outputs are
        return [each for value in output.values() for each in tensors_of(value)]
    if isinstance(output, (tuple, list)):
        return [each for value in output for each in tensors_of(value)]
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        own = [getattr(output, each.name) for each in dataclasses.fields(output)]
        return tensors_of(own)
    return []


def on_cpu(output: Any) -> list[torch.Tensor]:
    """`tensors_of` copied to the cpu, which waits until a device has computed them."""
    return [each.detach().to("cpu", copy=True) for each in tensors_of(output)]
