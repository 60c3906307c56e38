"""Which rows of several results are about the same thing, and which cannot be compared.

Devices are matched by kind and order (the first GPU of one file with the first of another,
whatever their numbers), rows by name and setting. The number of loops a sample was calibrated to
and the counts of a slope follow the machine's speed and do not stand in the way; a single shot
against a loop does, because a shot holds the cost of its own clock reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ftax_micro.analysis.summary import setting_text
from ftax_micro.records import Data, Measurement, Setting
from ftax_micro.results import Result

DeviceKey = tuple[str, int]
RowKey = tuple[DeviceKey, str, frozenset[tuple[str, str | int | float]]]


@dataclass(frozen=True)
class Match:
    """One row of the comparison: its measurements in every result, empty where there are none."""

    device: str
    name: str
    setting: Setting
    groups: tuple[tuple[Measurement, ...], ...]

    @property
    def title(self) -> str:
        """Device, row and setting on one line."""
        return f"{self.device} {self.name} {setting_text(self.setting)}".strip()


def match_rows(results: Sequence[Result]) -> list[Match]:
    """Every row of every result once, by device, in the order of first appearance."""
    groups: dict[RowKey, list[list[Measurement]]] = {}
    for index, result in enumerate(results):
        devices = _device_keys(result)
        for each in result.measurements:
            key = (devices[each.device], each.name, frozenset(each.setting.items()))
            groups.setdefault(key, [[] for _ in results])[index].append(each)
    labels = _device_labels(results)
    kinds = list(labels)
    found = sorted(groups.items(), key=lambda item: kinds.index(item[0][0]))  # a stable sort
    return [_match(labels[key[0]], parts) for key, parts in found]


def _match(device: str, parts: Sequence[Sequence[Measurement]]) -> Match:
    first = next(each for group in parts for each in group)
    return Match(device, first.name, first.setting, tuple(tuple(group) for group in parts))


def _device_keys(result: Result) -> dict[str, DeviceKey]:
    """Kind and order of every device of `result`, by its name there."""
    names = [device.name for device in result.devices]
    names += [each.device for each in result.measurements]  # of a run stopped early
    keys: dict[str, DeviceKey] = {}
    for name in names:
        kind = name.partition(":")[0]
        keys.setdefault(name, (kind, sum(known[0] == kind for known in keys.values())))
    return keys


def _device_labels(results: Sequence[Result]) -> dict[DeviceKey, str]:
    """What to call a matched device: its name where all agree, else its kind and place."""
    names: dict[DeviceKey, set[str]] = {}
    for result in results:
        for name, key in _device_keys(result).items():
            names.setdefault(key, set()).add(name)
    several = {kind for kind, order in names if order > 0}
    return {key: _label(key, names[key], several) for key in sorted(names)}


def _label(key: DeviceKey, names: set[str], several: set[str]) -> str:
    kind, order = key
    if len(names) == 1:
        return next(iter(names))
    return f"{kind} #{order + 1}" if kind in several else kind


def absence_reason(group: Sequence[Measurement]) -> str | None:
    """Why one result has no number for a row; None where it has."""
    if not group:
        return "not measured"
    for each in group:  # as in a summary: one process that failed fails the row
        if each.status != "ok" or each.data is None:
            return f"{each.status}: {each.reason}" if each.reason else each.status
    return None


def difference_reason(base: Sequence[Measurement], other: Sequence[Measurement]) -> str | None:
    """Why two measured rows are not about the same quantity; None where they are."""
    pairs = _aspects(base), _aspects(other)
    for aspect, one in pairs[0].items():
        two = pairs[1][aspect]
        if one != two:
            return f"different {aspect}: {one} against {two}"
    return None


def _aspects(group: Sequence[Measurement]) -> Mapping[str, str]:
    """What must agree, in words."""
    data = [each.data for each in group if each.data is not None]
    corrections = sorted({c.name for each in group for c in each.corrections})
    return {
        "unit": _words(d.unit for d in data),
        "estimate": _words(d.estimate for d in data),
        "sampling": _words(_sampling(d) for d in data),
        "corrections": ", ".join(corrections) or "none",
    }


def _sampling(data: Data) -> str:
    if data.levels:
        return "bursts"
    return "single shots" if data.loops == 1 else "loops"


def _words(values: Iterator[str]) -> str:
    return " and ".join(sorted(set(values)))
