"""The cpu device: the host's own launch anatomy, always available (docs/launch_anatomy.md).

A worker thread behind a bounded ring stands for the stream; calls, hand-offs and fork-joins are
real ones between real cores.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Sequence
from pathlib import Path

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow
from ftax_micro.devices.cpu.calls import call_rows
from ftax_micro.devices.cpu.cores import Topology
from ftax_micro.devices.cpu.handoff import RING_CAPACITY, handoff_rows
from ftax_micro.devices.cpu.parallel import parallel_rows
from ftax_micro.devices.cpu.placed import own_glance, placed
from ftax_micro.errors import Skip
from ftax_micro.records import ClockFacts, DeviceFacts, DeviceState, Setting

_CLOCK_ROUNDS = 200


class CpuDevice:
    """This machine's processor as a device called ``cpu``."""

    name = "cpu"

    def __init__(self) -> None:
        self.clock = measured_clock()
        self.topology = Topology.read(core().host.allowed_cores())
        self._used = self.topology.cores[:1] or (-1,)
        with contextlib.suppress(Skip):  # one core only
            self._used = self.topology.pair()

    def describe(self) -> DeviceFacts:
        """Model, cores, and what stands for the queue."""
        return DeviceFacts(
            name=self.name,
            kind="cpu",
            model=_cpu_model(Path("/proc/cpuinfo")) or platform.processor() or None,
            facts={
                "architecture": platform.machine(),
                "allowed_cores": ",".join(map(str, self.topology.cores)),
                "ring_capacity": RING_CAPACITY,
            },
        )

    def rows(self) -> Sequence[FloorRow]:
        """Calls, hand-offs, fork-joins."""
        glance = own_glance(self.topology.cores[0]) if self.topology.cores else None
        calls = [placed(row, self._first, pinned=True) for row in call_rows(self.clock, glance)]
        handoffs = [placed(row, self._pair) for row in handoff_rows(self.clock, self.topology)]
        return [*calls, *handoffs, *parallel_rows(self.clock, self.topology)]

    def _first(self, _: Setting) -> tuple[int, ...]:
        return self.topology.cores[:1]

    def _pair(self, setting: Setting) -> tuple[int, ...]:
        return self.topology.pair(str(setting.get("placement", "other_core")))

    def state(self) -> DeviceState | None:
        """How fast the cores that are measured on are at this moment."""
        works_s = core().host.fixed_work(list(self._used))
        return DeviceState(fixed_work_s=dict(zip(map(str, self._used), works_s, strict=True)))

    def close(self) -> None:
        """Nothing is held between rows."""


def measured_clock() -> ClockFacts:
    """The one clock that all loops stamp, with its measured tick and read cost (seconds)."""
    measured = core().host.measure_clock(_CLOCK_ROUNDS)
    return ClockFacts(name="steady_clock", tick_s=measured.tick_s, read_cost_s=measured.read_cost_s)


def _cpu_model(cpuinfo: Path) -> str | None:
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"model name", "Model", "cpu model"}:
            return value.strip()
    return None
