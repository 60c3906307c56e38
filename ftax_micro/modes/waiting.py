"""The one way in which modes that run PyTorch on a device wait for it.

The stream is looked up once: between two stamps lies nothing but the driver's call. Waiting for the
stream instead of the device leaves out what other streams do, and a look-up of the device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ftax_micro.errors import Skip

if TYPE_CHECKING:
    from ftax_micro.models.workload import Workload


def waiting_for(workload: Workload) -> Callable[[], None] | None:
    """What returns when all that the current stream of the workload's device was given is done.

    None on the cpu, where operations run before they return. Errors: `Skip` for a device that is
    neither cpu nor CUDA.
    """
    import torch

    kind = torch.device(workload.device).type
    if kind == "cpu":
        return None
    if kind != "cuda":
        raise Skip(f"a wait for the device {workload.device} is not known here")
    synchronise: Callable[[], None] = torch.cuda.current_stream(workload.device).synchronize
    return synchronise
