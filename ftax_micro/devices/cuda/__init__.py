"""The cuda device: launch anatomy of an NVIDIA GPU through its driver (docs/launch_anatomy.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow
from ftax_micro.devices.cpu import measured_clock
from ftax_micro.devices.cpu.cores import Topology
from ftax_micro.devices.cuda.broken import BrokenContext
from ftax_micro.devices.cuda.call_rows import call_rows
from ftax_micro.devices.cuda.graph_rows import graph_rows
from ftax_micro.devices.cuda.load_rows import load_rows
from ftax_micro.devices.cuda.loops import Loops, cleanup_complaint
from ftax_micro.devices.cuda.placement import HostPlacement, placed_row
from ftax_micro.devices.cuda.stream_rows import stream_rows
from ftax_micro.devices.cuda.traced_loops import TracedLoops
from ftax_micro.devices.cuda.traced_rows import with_traced_rows
from ftax_micro.devices.cuda.wait_rows import wait_rows
from ftax_micro.devices.tracing import Tracer
from ftax_micro.errors import DeviceUnavailableError, FtaxError, Hung
from ftax_micro.gpu.monitor import GpuMonitor
from ftax_micro.records import DeviceFacts, DeviceState


def unavailable_reason() -> str | None:
    """Why no CUDA device can be used here, in one sentence; None where one can."""
    if not core().has_cuda:
        return (
            "this build of ftax_micro has no CUDA device "
            "(no cuda.h was found when it was installed)"
        )
    try:
        core().cuda.device_count("")
    except (core().cuda.CudaUnavailable, core().cuda.CudaError) as error:
        return str(error)
    return None


def device_count() -> int:
    """How many CUDA devices can be used; call `unavailable_reason` first."""
    return int(core().cuda.device_count(""))


class CudaDevice:
    """A CUDA device by ordinal, its primary context held until `close`.

    `tracer` is the one that watches this process: its records are read by the rows that need them.
    `sys_root` stands for ``/sys`` in tests.
    """

    def __init__(
        self, ordinal: int, tracer: Tracer | None = None, sys_root: Path = Path("/sys")
    ) -> None:
        self.name = f"cuda:{ordinal}"
        self.clock = measured_clock()
        self._loops = TracedLoops(ordinal, tracer) if tracer else Loops(ordinal)
        self._broken = BrokenContext()
        cuda = core().cuda
        try:
            self._facts: Any = cuda.device_facts(ordinal, "")
            self._wait_style = self._loops.session().wait_style.name.rstrip("_")
        except (cuda.CudaUnavailable, cuda.CudaError, cuda.CudaTimeout) as error:
            raise DeviceUnavailableError(f"{self.name} is not available: {error}") from error
        self._topology = Topology.read(core().host.allowed_cores(), sys_root)
        self._placement = HostPlacement.read(self._topology, self._facts.pci_bus_id, sys_root)
        self._monitor = GpuMonitor(
            uuid=f"GPU-{self._facts.uuid}", pci_bus_id=self._facts.pci_bus_id
        )

    def describe(self) -> DeviceFacts:
        """Name, compute capability, driver, and what identifies the GPU."""
        facts = self._facts
        return DeviceFacts(
            name=self.name,
            kind="cuda",
            model=facts.name,
            facts={
                "uuid": f"GPU-{facts.uuid}",
                "pci_bus_id": facts.pci_bus_id,
                "compute_capability": (
                    f"{facts.compute_capability_major}.{facts.compute_capability_minor}"
                ),
                "memory_bytes": facts.memory_bytes,
                "compute_mode": facts.compute_mode,
                "driver_version": facts.driver_version,
                "driver_path": facts.driver_path,
                "multiprocessors": facts.attributes.get("multiprocessor_count"),
                "queue_knee": self._knee(),
                "wait_style": self._wait_style,
                **self._placement.facts(),
                "monitor": self._monitor.reason,
            },
        )

    def _knee(self) -> int | None:
        """None where looking for it fails: the rows that need it say why, the others can run."""
        cuda = core().cuda
        try:
            return self._loops.knee()
        except (cuda.CudaError, cuda.CudaTimeout, Hung):
            return None

    def rows(self) -> Sequence[FloorRow]:
        """All rows of the launch anatomy, those under a tracer too."""
        rows = [
            *stream_rows(self._loops, self.clock),
            *wait_rows(self._loops, self.clock, self._topology),
            *graph_rows(self._loops, self.clock),
            *load_rows(self._loops, self.clock),
            *call_rows(self._loops, self.clock),
        ]
        rows = [placed_row(row, self._placement) for row in rows]
        rows = with_traced_rows(rows, self._loops, self.clock)
        return [self._broken.watched(row) for row in rows]

    def session(self) -> Any:
        """The extension's session, in the device's primary context, which libraries share."""
        return self._loops.session()

    def state(self) -> DeviceState | None:
        """SM clock, throttle reasons and temperature now, as far as NVML tells."""
        return self._monitor.state()

    def close(self) -> None:
        """Release the context. Safe to call twice.

        Errors: `FtaxError` where something could not be given back; all has been tried by then. Not
        where rows failed with the very error that now keeps anything from being given back.
        """
        cuda = core().cuda
        before = cuda.cleanup_errors().count
        try:
            self._loops.close()
        except cuda.CudaError as error:
            if not self._broken.tells(str(error)):
                raise
        finally:
            self._monitor.close()
        complaint = cleanup_complaint(before)
        if complaint is not None and not self._broken.tells(complaint):
            raise FtaxError(complaint)
