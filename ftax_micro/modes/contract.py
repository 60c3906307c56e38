"""What an execution mode is: it prepares a workload once, and then runs forwards of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

    `synchronise()` returns when what `forward` started is done; None where `forward` returns with
    it done. `host` is False where `forward` waits inside, so that its return tells nothing of the
    host's own work; `unpipelined` is the reason why forwards cannot follow each other without a
    wait, where they cannot.

    `run(inputs)` is a forward on other inputs of the same shapes and dtypes, in the order of
    `Workload.inputs`; it returns tensors on the workload's device, in the order of eager's, valid
    until the next call. None where inputs cannot be exchanged.

    `executed()` counts the operations of one forward by name, in a pass that is not timed; `Skip`
    where the mode cannot tell, with the reason.

    `compilations()` tells how much this process has compiled so far, where a forward could compile.
    """

    forward: Callable[[], Any]
    outputs: Callable[[Any], list[torch.Tensor]]
    costs_s: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, FactValue] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None
    synchronise: Callable[[], None] | None = None
    host: bool = True
    unpipelined: str | None = None
    run: Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor]] | None = None
    executed: Callable[[], Mapping[str, int]] | None = None
    compilations: Callable[[], int] = lambda: 0


class Mode(Protocol):
    """One way to execute a model."""

    def prepare(self, workload: Workload) -> Prepared:
        """`workload` made ready: traced, exported, compiled or captured; nothing is timed yet.

        Errors: `Skip` where this mode cannot run here, with the reason; `PreparationError` where
        making it ready went wrong.
        """
