"""Which cores to put two threads on, and what else could be chosen."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ftax_micro.errors import Skip, UnknownNameError

UNPINNED = (-1, -1)
PLACEMENTS = ("other_core", "sibling", "other_node", "unpinned")


def parse_core_list(text: str) -> list[int]:
    """Cores named by the kernel's list format, ``0-3,8``. Errors: `ValueError`."""
    cores: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, dash, last = part.partition("-")
        cores.extend(range(int(first), int(last if dash else first) + 1))
    return cores


@dataclass(frozen=True)
class Topology:
    """The cores this process may use; siblings and NUMA node of each where the system tells."""

    cores: tuple[int, ...]
    siblings: dict[int, frozenset[int]] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)

    @classmethod
    def read(cls, cores: Sequence[int], sys_root: Path = Path("/sys")) -> Topology:
        """Topology of `cores` from sysfs; without sysfs every core counts as its own."""
        siblings: dict[int, frozenset[int]] = {}
        nodes: dict[int, int] = {}
        base = sys_root / "devices/system"
        for core in cores:
            path = base / f"cpu/cpu{core}/topology/thread_siblings_list"
            try:
                siblings[core] = frozenset(parse_core_list(path.read_text()))
            except (OSError, ValueError):
                continue
        for node in sorted(base.glob("node/node[0-9]*")):
            try:
                members = parse_core_list((node / "cpulist").read_text())
            except (OSError, ValueError):
                continue
            nodes.update(dict.fromkeys(members, int(node.name.removeprefix("node"))))
        return cls(tuple(cores), siblings, nodes)

    def pair(self, placement: str = "other_core") -> tuple[int, int]:
        """Cores for host and worker: ``other_core`` (same node where possible), ``sibling``,
        ``other_node`` or ``unpinned`` (−1, −1).

        Errors: `Skip` where this machine has no such pair; `UnknownNameError`.
        """
        if placement not in PLACEMENTS:
            raise UnknownNameError("placement", placement, PLACEMENTS)
        if not self.cores:  # a system without affinity calls
            if placement in {"other_core", "unpinned"}:
                return UNPINNED
            raise Skip("this system cannot pin threads")
        if len(self.cores) < 2:
            raise Skip("one core only: two threads would take turns on it")
        if placement == "unpinned":
            return UNPINNED
        every = itertools.combinations(self.cores, 2)
        pairs = [pair for pair in every if self._fits(*pair, placement)]
        if not pairs and placement == "other_core":
            raise Skip("the allowed cores are siblings of one physical core")
        if not pairs:
            raise Skip(f"no two allowed cores are placed as {placement!r}")
        local = (pair for pair in pairs if self.nodes.get(pair[0]) == self.nodes.get(pair[1]))
        return next(local, pairs[0])

    def one_per_physical_core(self) -> list[int]:
        """The first allowed core of every physical core, ascending."""
        taken: set[int] = set()
        chosen = []
        for core in self.cores:
            if core not in taken:
                chosen.append(core)
                taken |= self.siblings.get(core, frozenset([core]))
        return chosen

    def _fits(self, host: int, core: int, placement: str) -> bool:
        sibling = core in self.siblings.get(host, frozenset())
        if placement == "sibling":
            return sibling
        if placement == "other_node":
            return self.nodes.get(core, 0) != self.nodes.get(host, 0)
        return not sibling
