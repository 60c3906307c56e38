"""Results taken in one by one, of each only its numbers kept."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ftax_micro.analysis.pools.keys import group_of
from ftax_micro.analysis.pools.machines import Machines
from ftax_micro.analysis.pools.values import POOLED, RowName, RowValue
from ftax_micro.results import Result
from ftax_micro.trust import trust_warnings

GroupKey = tuple[str | None, ...]


@dataclass
class Series:
    """All numbers of a row: the file, the group and the value of each."""

    unit: str = "s"
    files: array[int] = field(default_factory=lambda: array("L"))
    groups: array[int] = field(default_factory=lambda: array("L"))
    values: array[float] = field(default_factory=lambda: array("d"))

    def add(self, file: int, group: int, value: float) -> None:
        """One more."""
        self.files.append(file)
        self.groups.append(group)
        self.values.append(value)


class Collector:
    """What is kept of thousands of results: a few numbers for each row and file."""

    def __init__(self, keys: Sequence[str], kinds: Sequence[str]) -> None:
        self._keys, self._kinds = tuple(keys), tuple(kinds)
        self.names: list[str] = []
        self.hosts: list[str] = []
        self.machines = Machines()
        self.rows: dict[RowName, Series] = {}
        self.groups: dict[GroupKey, int] = {}
        self.members: set[tuple[int, int]] = set()  # of group and file
        self.absent: dict[tuple[str, str, str], Counter[str]] = {}
        self.packages: set[str] = set()
        self.warnings: Counter[str] = Counter()
        self.versions: Counter[str] = Counter()
        self.quick = self.incomplete = self.empty = self.copies = 0
        self._taken: set[int] = set()

    def add(self, name: str, result: Result) -> None:
        """Take in the result of the file `name`, unless it is one that was taken in already."""
        values = [(kind, each) for kind in self._kinds for each in POOLED[kind](result)]
        numbers = tuple((each.row.name, each.value) for _, each in values)
        same = hash((result.created_at, result.environment.hostname, numbers))
        if numbers and same in self._taken:
            self.copies += 1
            return
        self._taken.add(same)
        self._add(name, result, values)

    def _add(self, name: str, result: Result, values: Sequence[tuple[str, RowValue]]) -> None:
        file = self.machines.add(result)
        self.names.append(name)
        self.hosts.append(result.environment.hostname or "unnamed host")
        groups: dict[str | None, int] = {}
        for kind, each in values:
            if each.device not in groups:
                groups[each.device] = self._group(result, each.device, file)
            if each.value is None:
                key = (kind, each.row.device, each.row.name)
                self.absent.setdefault(key, Counter())[each.reason or "no value"] += 1
                continue
            series = self.rows.setdefault(each.row, Series(each.unit))
            series.add(file, groups[each.device], each.value)
        self.empty += not values
        self._count(result)

    def _group(self, result: Result, device: str, file: int) -> int:
        group = self.groups.setdefault(group_of(result, device, self._keys), len(self.groups))
        self.members.add((group, file))
        return group

    def _count(self, result: Result) -> None:
        """What readers have to know of the files as a whole."""
        cuda = any(each.kind == "cuda" for each in result.devices)
        told = trust_warnings(result.environment, gpu_uuids=None if cuda else ())
        self.warnings.update({each.code for each in told if each.severity != "info"})
        self.versions[result.tool_version] += 1
        self.packages |= result.environment.process.packages.keys()
        self.quick += result.plan.quick
        self.incomplete += not result.complete
