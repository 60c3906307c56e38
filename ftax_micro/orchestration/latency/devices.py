"""On which device models run."""

from __future__ import annotations

from ftax_micro.devices import cuda_unavailable_reason, resolve_devices
from ftax_micro.errors import DeviceUnavailableError, FtaxError, UsageError
from ftax_micro.models.workload import import_torch


def resolve_model_device(request: str) -> tuple[str, str | None]:
    """The device that ``cpu``, ``cuda``, ``cuda:N`` or ``auto`` stands for; for ``auto`` also why
    it is the cpu, where it is.

    A GPU is one that the driver shows and torch can use. Errors: `UnknownNameError`, `UsageError`;
    `DeviceUnavailableError` for one asked for by name that is none, with the reason.
    """
    if request == "all":
        raise UsageError("models are measured on one device; cpu, cuda, cuda:N or auto")
    (name,) = resolve_devices(request)
    if name == "cpu":
        return name, cuda_unavailable_reason() if request == "auto" else None
    reason = _torch_reason(name)
    if reason is None:
        return name, None
    if request == "auto":
        return "cpu", reason
    raise DeviceUnavailableError(f"{name} is not available: {reason}")


def _torch_reason(name: str) -> str | None:
    """Why torch cannot use the CUDA device `name`; None where it can."""
    try:
        torch = import_torch()
    except FtaxError as error:
        return str(error)
    if not torch.backends.cuda.is_built():
        return f"torch {torch.__version__} is built without CUDA"
    if not torch.cuda.is_available():
        return (
            f"torch {torch.__version__}, built for CUDA {torch.version.cuda}, finds no usable GPU"
        )
    if int(name.partition(":")[2]) >= torch.cuda.device_count():
        return f"torch sees {torch.cuda.device_count()} GPUs"
    return None
