"""A forward of a module on other inputs than those it was prepared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ftax_micro.modes.outputs import tensors_of

if TYPE_CHECKING:
    import torch

Run = Callable[[Sequence["torch.Tensor"]], Sequence["torch.Tensor"]]


def runner(module: Callable[..., Any], names: Sequence[str] | None = None) -> Run:
    """`module` as a function of a sequence of inputs, called by `names` or, without, by place."""
    if names is None:
        return lambda inputs: tensors_of(module(*inputs))
    keys = tuple(names)
    return lambda inputs: tensors_of(module(**dict(zip(keys, inputs, strict=True))))
