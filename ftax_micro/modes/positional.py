"""A module with tensors in and a tuple of tensors out: what tracers and exporters take."""

from __future__ import annotations

import torch

from ftax_micro.modes.outputs import tensors_of


class Positional(torch.nn.Module):
    """`module` called with its inputs in the order of `names`; only tensors come back."""

    def __init__(self, module: torch.nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.module = module
        self.names = names

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(tensors_of(self.module(**dict(zip(self.names, inputs, strict=True)))))
