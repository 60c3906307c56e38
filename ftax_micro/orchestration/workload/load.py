"""What a mode's forwards are to the GPU: its energy and the share of its SMs."""

from __future__ import annotations

from collections.abc import Callable

from ftax_micro.errors import Interrupted
from ftax_micro.gpu.load import measure_gpu_load
from ftax_micro.models.workload import import_torch
from ftax_micro.modes.contract import Prepared
from ftax_micro.orchestration.workload.memory import failure_reason
from ftax_micro.orchestration.workload.request import WorkloadRequest
from ftax_micro.records import GpuLoad


def gpu_load_of(device: str, prepared: Prepared) -> tuple[GpuLoad | None, dict[str, str]]:
    """The load of `prepared` and, where there is none, why; neither on the cpu."""
    if device == "cpu":
        return None, {}
    if prepared.unpipelined:
        return None, {"gpu_load": prepared.unpipelined}
    try:
        cuda = import_torch().cuda
        uuid = str(cuda.get_device_properties(device).uuid)
        wait = prepared.synchronise or (lambda: cuda.synchronize(device))
        return measure_gpu_load(prepared.forward, wait, uuid=uuid), {}
    except Interrupted:
        raise
    except Exception as error:
        return None, {"gpu_load": failure_reason(error)}


def waiting(request: WorkloadRequest, prepared: Prepared) -> Callable[[], None]:
    """What returns once the device is done with what `prepared` asked of it."""
    cuda = import_torch().cuda
    return prepared.synchronise or (lambda: cuda.synchronize(request.device))
