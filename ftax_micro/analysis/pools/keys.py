"""What machines can be grouped by: facts of a result, by short names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ftax_micro.errors import UnknownNameError
from ftax_micro.facts import GpuFacts, HostFacts
from ftax_micro.results import Result

# Of a result and the name of one of its devices; None: not known.
_Fact = Callable[[Result, str | None], str | None]


def _gpu(result: Result, device: str | None) -> str | None:
    """The device's own model; of the cpu's rows those of the machine's GPUs."""
    own = [each.model for each in result.devices if each.name == device and each.kind == "cuda"]
    measured = [each.model for each in result.devices if each.kind == "cuda"]
    recorded = [gpu.name for gpu in result.environment.gpus or []]
    for models in (own, measured, recorded):
        names = dict.fromkeys(name for name in models if name)
        if names:
            return " + ".join(names)
    return None if result.environment.gpus is None else "none"


def _cpu(result: Result, _: str | None) -> str | None:
    told = [each.model for each in result.devices if each.kind == "cpu" and each.model]
    return told[0] if told else result.environment.host.cpu_model


def _of_gpu(read: Callable[[GpuFacts], str | None]) -> _Fact:
    def fact(result: Result, _: str | None) -> str | None:
        told = map(read, result.environment.gpus or [])
        return next((text for text in told if text), None)

    return fact


def _of_host(read: Callable[[HostFacts], object]) -> _Fact:
    def fact(result: Result, _: str | None) -> str | None:
        return _text(read(result.environment.host))

    return fact


def _of_result(read: Callable[[Result], object]) -> _Fact:
    def fact(result: Result, _: str | None) -> str | None:
        return _text(read(result))

    return fact


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or None
    return None if value is None else f"{value}"


KEYS: Mapping[str, _Fact] = {
    "gpu": _gpu,
    "cpu": _cpu,
    "driver": _of_gpu(lambda gpu: gpu.driver_version),
    "cuda": _of_gpu(lambda gpu: gpu.cuda_driver_version),
    "host": _of_result(lambda result: result.environment.hostname),
    "machine": _of_host(lambda host: host.machine_model),
    "architecture": _of_result(lambda result: result.environment.machine),
    "os": _of_result(lambda result: result.environment.os),
    "kernel": _of_result(lambda result: result.environment.kernel),
    "python": _of_result(lambda result: result.environment.process.python_version),
    "version": _of_result(lambda result: result.tool_version),
    "quick": _of_result(lambda result: result.plan.quick),
    "date": _of_result(lambda result: result.created_at[:10]),
    "cores": _of_host(lambda host: host.physical_cores or host.logical_cpus),
    "governor": _of_host(lambda host: host.governors),
    "turbo": _of_host(lambda host: host.turbo),
    "smt": _of_host(lambda host: host.smt_active),
    "clock": _of_host(lambda host: host.clock_source),
    "hypervisor": _of_host(lambda host: host.hypervisor),
    "container": _of_host(lambda host: host.container),
    "mig": _of_gpu(lambda gpu: _text(gpu.mig)),
    "ecc": _of_gpu(lambda gpu: _text(gpu.ecc)),
    "power": _of_gpu(
        lambda gpu: None if gpu.power_limit_w is None else f"{gpu.power_limit_w:.0f} W"
    ),
}


def group_of(result: Result, device: str | None, keys: Iterable[str]) -> tuple[str | None, ...]:
    """The values of `keys` for rows of `device`: facts of `KEYS`, or versions of packages."""
    packages = result.environment.process.packages
    return tuple(KEYS[key](result, device) if key in KEYS else packages.get(key) for key in keys)


def check_keys(keys: Iterable[str], packages: Iterable[str]) -> None:
    """Errors: `UnknownNameError` for one that is neither of `KEYS` nor one of `packages`, which
    any of the results has.
    """
    known = {*KEYS, *packages}
    for key in keys:
        if key not in known:
            raise UnknownNameError("key", key, known)
