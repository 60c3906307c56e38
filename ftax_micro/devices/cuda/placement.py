"""Where the submitting thread runs: on the GPU's NUMA node, on another, or where it likes.

A launch writes to the device and to memory near one of the sockets, so a thread on the other socket
pays for the way between them. A default run leaves its thread unpinned, as most programs do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cpu.cores import Topology
from ftax_micro.errors import Skip, UnknownNameError
from ftax_micro.records import FactValue, Plan, Setting

PLACEMENTS = ("gpu_node", "other_node", "unpinned")
DEFAULT_PLACEMENT = "unpinned"
# Rows whose value is one thread's own time, or begins with a call of it. The others take cores of
# their own (sync, and submit from several threads), or time the device (spacing, round_trip).
_PLACED = frozenset(
    (
        *("submit", "to_start", "launch_sync", "launch_rate", "graph_launch"),
        *("memcpy_h2d", "memcpy_d2h", "memset", "event_record"),
        *("stream_sync_idle", "stream_query_idle"),
    )
)


@dataclass(frozen=True)
class HostPlacement:
    """The cores this process may use, and the NUMA node of the GPU or why it is not known."""

    topology: Topology
    gpu_node: int | None
    reason: str | None = None

    @classmethod
    def read(
        cls, topology: Topology, pci_bus_id: str, sys_root: Path = Path("/sys")
    ) -> HostPlacement:
        """As sysfs tells: drivers write PCI addresses in capitals, the kernel does not."""
        try:
            text = (sys_root / "bus/pci/devices" / pci_bus_id.lower() / "numa_node").read_text()
            node = int(text)
        except (OSError, ValueError):
            return cls(topology, None, "the system does not tell the GPU's NUMA node")
        if node < 0:
            return cls(topology, None, "the platform assigns the GPU to no NUMA node")
        return cls(topology, node)

    def facts(self) -> dict[str, FactValue]:
        """What a default run's own placement was, for the device's facts."""
        nodes = sorted({self.topology.nodes[c] for c in self._cores_with_node()})
        return {
            "placement": DEFAULT_PLACEMENT,
            "numa_node": self.gpu_node,
            "allowed_numa_nodes": ",".join(map(str, nodes)) or None,
        }

    def core(self, placement: str) -> int | None:
        """The core for the submitting thread; None where it stays unpinned.

        Errors: `Skip` where this machine has no such core to tell from others; `UnknownNameError`.
        """
        if placement not in PLACEMENTS:
            raise UnknownNameError("placement", placement, PLACEMENTS)
        if placement == "unpinned":
            return None
        if not hasattr(os, "sched_setaffinity"):
            raise Skip("this system cannot pin threads")
        if not self.topology.nodes:
            raise Skip("the system does not tell which NUMA node a core belongs to")
        if len(set(self.topology.nodes.values())) < 2:
            raise Skip("this machine has one NUMA node: every core is as near to the GPU")
        if self.gpu_node is None:
            raise Skip(str(self.reason))
        near = placement == "gpu_node"
        for core in self._cores_with_node():
            if (self.topology.nodes[core] == self.gpu_node) == near:
                return core
        where = "on the GPU's NUMA node" if near else "outside the GPU's NUMA node"
        raise Skip(f"this process may use no core {where} ({self.gpu_node})")

    def _cores_with_node(self) -> list[int]:
        return [core for core in self.topology.cores if core in self.topology.nodes]

    @contextmanager
    def placed(self, placement: str) -> Iterator[dict[str, FactValue]]:
        """Runs this thread as `placement` says, yields where that is, and gives its cores back.

        Errors: as `core`; `Skip` where the system refuses.
        """
        core = self.core(placement)
        if core is None:
            yield {"core": None}
            return
        former = os.sched_getaffinity(0)  # of this thread
        try:
            os.sched_setaffinity(0, {core})
        except OSError as error:
            raise Skip(f"the system refuses core {core}: {error.strerror}") from error
        try:
            yield {"core": core, "core_numa_node": self.topology.nodes[core]}
        finally:
            os.sched_setaffinity(0, former)


def placed_row(row: FloorRow, host: HostPlacement) -> FloorRow:
    """`row` with the axis ``placement``, where its value is one thread's time."""
    if row.name not in _PLACED:
        return row
    points = [{**row.settings[0], "placement": name} for name in PLACEMENTS]
    return replace(row, measure=_placed(row.measure, host), axes={**row.axes, "placement": points})


def _placed(
    measure: Callable[[Setting, Plan], Outcome], host: HostPlacement
) -> Callable[[Setting, Plan], Outcome]:
    def measure_placed(setting: Setting, plan: Plan) -> Outcome:
        if "placement" not in setting:
            return measure(setting, plan)
        with host.placed(str(setting["placement"])) as facts:
            outcome = measure(setting, plan)
        return replace(outcome, facts={**outcome.facts, **facts})

    return measure_placed
