"""Making random weights compute something that can be compared.

A freshly initialised network may answer with 1e-14 or 1e5 everywhere, or, where its head starts at
zero, with zeros: every mode agrees with every other on such outputs, whatever it computes. Batch
norms get the statistics of one seeded forward, heads of zeros get small random weights. The cost of
a forward depends on neither.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from ftax_micro.models.contract import Inputs

# A batch norm that sees a single value per channel has no variance.
_BATCH = 4
_HEAD_DEVIATION = 0.02


def settle(module: torch.nn.Module, inputs: Inputs) -> None:
    """Calibrate `module`'s batch norms on inputs like `inputs` and fill heads of zeros, in place.

    Draws from torch's default generator; leaves the module in evaluation mode.
    """
    import torch
    from torch import nn

    with torch.no_grad():
        for each in module.modules():
            if isinstance(each, nn.Linear) and not each.weight.any():
                nn.init.normal_(each.weight, std=_HEAD_DEVIATION)
        norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
        if norms:
            with _calibrating(norms):
                module(**{name: _random_like(value) for name, value in inputs.items()})
    module.eval()


def _random_like(value: torch.Tensor) -> torch.Tensor:
    import torch

    if not value.is_floating_point():
        return value.repeat_interleave(_BATCH, dim=0)
    return torch.randn(_BATCH, *value.shape[1:])


@contextlib.contextmanager
def _calibrating(norms: list[torch.nn.modules.batchnorm._BatchNorm]) -> Iterator[None]:
    """Only the norms learn, and take the statistics of this one forward for their own."""
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.train()
        norm.momentum = 1.0
    try:
        yield
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
