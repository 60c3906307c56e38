"""A module that somebody has already, as a workload."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ftax_micro.errors import UsageError
from ftax_micro.models.contract import Shape
from ftax_micro.models.request import named_inputs
from ftax_micro.models.workload import DTYPES, Workload

if TYPE_CHECKING:
    import torch


class OwnModule:
    """`module` and its `inputs` under a `name`; `device` and `dtype` are those of its weights.

    A module without weights is of the cpu and fp32. Errors: `UsageError` for inputs that are none,
    and for weights of a dtype that is none of ours.
    """

    def __init__(self, name: str, module: torch.nn.Module, inputs: Any) -> None:
        self._name, self._module = name, module
        self._inputs = named_inputs(name, module, inputs)
        self.device, self.dtype = "cpu", "fp32"
        weights = [each for each in module.parameters() if each.is_floating_point()]
        if not weights:
            return
        names = {f"torch.{theirs}": ours for ours, theirs in DTYPES.items()}
        if str(weights[0].dtype) not in names:
            raise UsageError(f"weights are {weights[0].dtype}; known: {', '.join(DTYPES)}")
        self.dtype = names[str(weights[0].dtype)]
        place = weights[0].device
        if place.type != "cpu":
            self.device = f"{place.type}:{place.index or 0}"

    def workload(self) -> Workload:
        """The module as it is, its inputs moved to where it is and what it computes with."""
        import torch

        kind = getattr(torch, DTYPES[self.dtype])
        inputs = {
            name: value.to(device=self.device, dtype=kind if value.is_floating_point() else None)
            for name, value in self._inputs.items()
        }
        return Workload(self._name, Shape(), self.dtype, self._module, inputs, self.device)

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """The module in evaluation mode, and afterwards as it was."""
        were = [(each, each.training) for each in self._module.modules()]
        self._module.eval()
        try:
            yield
        finally:
            for each, training in were:
                each.training = training
