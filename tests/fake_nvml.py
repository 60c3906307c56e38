"""A stand-in for the ``pynvml`` module: one or two GPUs, any function missing or failing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

UUID = "GPU-00112233-4455-6677-8899-aabbccddeeff"
SECOND_UUID = "GPU-ffeeddcc-bbaa-9988-7766-554433221100"
MIG_UUID = "MIG-01234567-89ab-cdef-0123-456789abcdef"


class NVMLError(Exception):
    """The binding's error class; its text is NVML's words."""


class FakeNvml:
    """Functions by name in `answers` (what they return, or an exception they raise).

    A name that is not there is a function this version of the binding lacks. `calls` counts.
    """

    def __init__(self, **changes: Any) -> None:
        self.answers: dict[str, Any] = _answers() | changes
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml") or name not in self.answers:
            raise AttributeError(name)

        def call(*args: Any) -> Any:
            self.calls.append(name)
            answer = self.answers[name]
            if callable(answer):
                answer = answer(*args)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    @property
    def sessions(self) -> int:
        """Sessions open now."""
        return self.calls.count("nvmlInit") - self.calls.count("nvmlShutdown")


def _by_uuid(uuid: str) -> Any:
    handles = {UUID: "gpu0", SECOND_UUID: "gpu1", MIG_UUID: "slice"}
    return handles.get(uuid, NVMLError("Not Found"))


def _clock(handle: str, kind: int) -> int:
    return {1: 1980, 2: 2619}[kind] - (10 if handle == "gpu1" else 0)


def process(pid: int, memory: int | None = 1024) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=memory)


def _answers() -> dict[str, Any]:
    return {
        "nvmlInit": None,
        "nvmlShutdown": None,
        "nvmlSystemGetDriverVersion": "580.65.06",
        "nvmlSystemGetCudaDriverVersion_v2": 13000,
        "nvmlSystemGetConfComputeState": SimpleNamespace(ccFeature=0),
        "nvmlDeviceGetCount": 1,
        "nvmlDeviceGetHandleByIndex": lambda index: f"gpu{index}",
        "nvmlDeviceGetHandleByUUID": _by_uuid,
        "nvmlDeviceGetHandleByPciBusId": "gpu0",
        "nvmlDeviceIsMigDeviceHandle": lambda handle: SimpleNamespace(value=handle == "slice"),
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": "gpu0",
        "nvmlDeviceGetUUID": lambda handle: {"gpu0": UUID, "gpu1": SECOND_UUID}[handle],
        "nvmlDeviceGetName": b"NVIDIA H200",
        "nvmlDeviceGetPciInfo": SimpleNamespace(busId=b"00000000:3B:00.0"),
        "nvmlDeviceGetCudaComputeCapability": (9, 0),
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150_000_000_000),
        "nvmlDeviceGetClockInfo": _clock,
        "nvmlDeviceGetMaxClockInfo": _clock,
        "nvmlDeviceGetApplicationsClock": _clock,
        "nvmlDeviceGetPowerState": 0,
        "nvmlDeviceGetCurrentClocksEventReasons": 0x1,
        "nvmlDeviceGetTemperatureV": lambda handle, sensor: 31,
        "nvmlDeviceGetPowerUsage": 75_500,
        "nvmlDeviceGetEnforcedPowerLimit": 700_000,
        "nvmlDeviceGetEccMode": [1, 1],
        "nvmlDeviceGetMigMode": [0, 1],
        "nvmlDeviceGetPersistenceMode": 1,
        "nvmlDeviceGetComputeMode": 3,
        "nvmlDeviceGetVirtualizationMode": 1,
        "nvmlDeviceGetCurrentDriverModel": NVMLError("Not Supported"),
        "nvmlDeviceGetCurrPcieLinkGeneration": 5,
        "nvmlDeviceGetMaxPcieLinkGeneration": 5,
        "nvmlDeviceGetCurrPcieLinkWidth": 16,
        "nvmlDeviceGetMaxPcieLinkWidth": 16,
        "nvmlDeviceGetMemoryAffinity": [0b10, 0],
        "nvmlDeviceGetCpuAffinity": [0b1010, 0b1],
        "nvmlDeviceGetComputeRunningProcesses": [],
        "nvmlDeviceGetGraphicsRunningProcesses": [],
        "nvmlDeviceGetMPSComputeRunningProcesses": [],
    }
