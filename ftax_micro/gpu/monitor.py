"""A GPU's state before and after each measurement: a falling clock falsifies what lies between."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ftax_micro.fact_reader import FactReader, Unreadable
from ftax_micro.gpu.nvml import Nvml, sm_clock_hz, temperature_c, throttle_reasons
from ftax_micro.records import DeviceState


class GpuMonitor:
    """Keeps one GPU's handle open and reads its state, cheaply enough for every measurement.

    Identify the GPU by CUDA's `uuid` or `pci_bus_id`; by `index` (NVML's order) only if there is
    nothing better. Where NVML or the GPU cannot be had the monitor still works: every state is
    empty and `reason` says why. `unknown` holds, per field of the last state, why it was not
    readable. Never raises.
    """

    def __init__(
        self,
        *,
        uuid: str | bytes | None = None,
        pci_bus_id: str | None = None,
        index: int | None = None,
        module: Any = None,
    ) -> None:
        self.reason: str | None = None
        self.unknown: dict[str, str] = {}
        self._nvml: Nvml | None = None
        self._handle: Any = None
        try:
            self._nvml = Nvml(module)
            self._handle = self._nvml.handle(uuid=uuid, pci_bus_id=pci_bus_id, index=index)
        except Unreadable as error:
            self.close()
            self.reason = str(error)

    def __enter__(self) -> GpuMonitor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the NVML session; states read later are empty. Safe to call twice."""
        if self._nvml is not None:
            self._nvml.close()
        self._nvml, self.reason = None, self.reason or "the monitor is closed"

    def state(self) -> DeviceState:
        """SM clock (hertz), throttle reasons, temperature (°C) now; None where not readable."""
        read = FactReader()
        state = DeviceState(
            sm_clock_hz=read("sm_clock_hz", lambda: sm_clock_hz(self._open(), self._handle)),
            throttle_reasons=read(
                "throttle_reasons", lambda: throttle_reasons(self._open(), self._handle)
            ),
            temperature_c=read("temperature_c", lambda: temperature_c(self._open(), self._handle)),
        )
        self.unknown = read.unknown
        return state

    def _open(self) -> Nvml:
        if self._nvml is None:
            raise Unreadable(self.reason or "the monitor is closed")
        return self._nvml


def gpu_state(
    *,
    uuid: str | bytes | None = None,
    pci_bus_id: str | None = None,
    index: int | None = None,
    module: Any = None,
) -> DeviceState:
    """One state of one GPU, with NVML opened and closed around it; arguments as of `GpuMonitor`."""
    with GpuMonitor(uuid=uuid, pci_bus_id=pci_bus_id, index=index, module=module) as monitor:
        return monitor.state()
