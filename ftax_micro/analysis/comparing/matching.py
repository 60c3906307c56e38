"""Which quantities of several results are about the same thing, and which cannot be compared.

Devices are matched by kind and order (the first GPU of one file with the first of another,
whatever their numbers), quantities by name and setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ftax_micro.analysis.quantities.contract import Quantity
from ftax_micro.records import Setting

DeviceKey = tuple[str, int]
# Settings whose values say by themselves what they are.
PLAIN_SETTINGS = frozenset({"mode", "dtype", "workload"})
NOT_MEASURED = "not measured"
NOT_POSITIVE = "its value is not positive, which has no ratio"
_BELOW_ZERO = "it is below zero: what it was computed from does not fit together"


@dataclass(frozen=True)
class Match:
    """One row of the comparison: a quantity in every result, None where there is none."""

    device: str
    name: str
    quantity: str | None
    setting: Setting
    found: tuple[Quantity | None, ...]

    @property
    def subject(self) -> object:
        """What it is about, whichever of its numbers."""
        return self.device, self.name, frozenset(self.setting.items())

    @property
    def subject_title(self) -> str:
        """Device, name and setting on one line."""
        return row_title(self.device, self.name, self.setting, None)

    @property
    def title(self) -> str:
        """Device, name, setting and quantity on one line."""
        return row_title(self.device, self.name, self.setting, self.quantity)


def row_title(device: str, name: str, setting: Setting, quantity: str | None) -> str:
    """What a row is about, on one line."""
    told = [f"{v}" if key in PLAIN_SETTINGS else f"{key}={v}" for key, v in setting.items()]
    return " ".join(part for part in (device, name, *told, quantity) if part)


def match_quantities(
    sides: Sequence[Sequence[Quantity]], devices: Sequence[Sequence[str]]
) -> list[Match]:
    """Every quantity of every side once, by device, in the order of first appearance.

    `devices` are the names of each side's devices, in its order.
    """
    keys = [_device_keys(names) for names in devices]
    groups: dict[object, list[Quantity | None]] = {}
    order: dict[object, DeviceKey] = {}
    for index, quantities in enumerate(sides):
        for each in quantities:
            device = keys[index][each.device]
            key = (device, each.name, each.quantity, frozenset(each.setting.items()))
            groups.setdefault(key, [None] * len(sides))[index] = each
            order[key] = device
    labels = _device_labels(keys)
    kinds = list(labels)
    found = sorted(groups, key=lambda key: kinds.index(order[key]))  # a stable sort
    return [_match(labels[order[key]], groups[key]) for key in found]


def _match(device: str, found: Sequence[Quantity | None]) -> Match:
    first = next(each for each in found if each is not None)
    return Match(device, first.name, first.quantity, first.setting, tuple(found))


def _device_keys(names: Iterable[str]) -> dict[str, DeviceKey]:
    """Kind and order of every device of one result, by its name there."""
    keys: dict[str, DeviceKey] = {}
    for name in names:
        kind = name.partition(":")[0]
        keys.setdefault(name, (kind, sum(known[0] == kind for known in keys.values())))
    return keys


def _device_labels(sides: Sequence[dict[str, DeviceKey]]) -> dict[DeviceKey, str]:
    """What to call a matched device: its name where all agree, else its kind and place."""
    names: dict[DeviceKey, set[str]] = {}
    for keys in sides:
        for name, key in keys.items():
            names.setdefault(key, set()).add(name)
    several = {kind for kind, order in names if order > 0}
    return {key: _label(key, names[key], several) for key in sorted(names)}


def _label(key: DeviceKey, names: set[str], several: set[str]) -> str:
    kind, order = key
    if len(names) == 1:
        return next(iter(names))
    return f"{kind} #{order + 1}" if kind in several else kind


def absences(matches: Sequence[Match]) -> dict[tuple[object, int], str]:
    """Why results have no number of anything of a match's `subject`, by subject and side."""
    found: dict[tuple[object, int], str] = {}
    for match in matches:
        for side, each in enumerate(match.found):
            if each is not None and each.value.absence is not None:
                found.setdefault((match.subject, side), each.value.absence)
    return found


def absence_reason(found: Quantity, *, is_baseline: bool = False) -> str | None:
    """Why a quantity has no number that can be compared; None where it has.

    A signed one may be zero or less, unless others are to be set against it.
    """
    reason = found.value.absence
    if reason is not None:
        return reason
    value, high = found.value.value or 0.0, found.value.high
    if found.signed and high is not None and high < 0:
        return _BELOW_ZERO
    return NOT_POSITIVE if value <= 0 and (is_baseline or not found.signed) else None


def difference_reason(base: Quantity, other: Quantity) -> str | None:
    """Why two numbers are not about the same quantity; None where they are."""
    for aspect, one in base.alike.items():
        two = other.alike.get(aspect, one)
        if one != two:
            return f"different {aspect}: {one} against {two}"
    return None
