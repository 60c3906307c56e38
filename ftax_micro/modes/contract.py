"""What an execution mode is: it prepares a workload once, and then runs forwards of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ftax_micro.records import FactValue

if TYPE_CHECKING:
    import torch

    from ftax_micro.models.workload import Workload


@dataclass(frozen=True)
class Prepared:
    """A workload ready to run in one mode.

    `forward()` runs once on the inputs that were there when it was prepared and returns whatever
    the mode returns, possibly before a device is done. `outputs(value)` turns that into tensors on
    the cpu, in the order of eager's. `costs_s` holds what preparing took, step by step, in seconds
    (``trace``, ``export``, ``compile``, ``capture``); `facts` what else is worth knowing.
    """

    forward: Callable[[], Any]
    outputs: Callable[[Any], list[torch.Tensor]]
    costs_s: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, FactValue] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None


class Mode(Protocol):
    """One way to execute a model."""

    def prepare(self, workload: Workload) -> Prepared:
        """`workload` made ready: traced, exported, compiled or captured; nothing is timed yet.

        Errors: `Skip` where this mode cannot run here, with the reason; `PreparationError` where
        making it ready went wrong.
        """
