"""The sides of a comparison: whole results, or what of each has one value of a key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ftax_micro.analysis.quantities import KINDS
from ftax_micro.analysis.quantities.contract import PARAMETERS, Kind, Quantity
from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.results import Result

DEVICE = "device"
Names = Mapping[str, Sequence[Quantity]]


@dataclass(frozen=True)
class Part:
    """One side: the quantities, by kind, of the result numbered `index`.

    `devices` are the names of its devices, in their order.
    """

    index: int
    label: str
    quantities: Names
    devices: tuple[str, ...]


def open_kinds(names: Sequence[str] | None) -> list[Kind]:
    """The kinds of these names, in the order results are told in; None: all.

    Errors: `UnknownNameError`.
    """
    for name in names or ():
        KINDS.open(name)
    return [KINDS.open(name) for name in KINDS if names is None or name in names]


def whole_parts(
    results: Sequence[Result],
    labels: Sequence[str] | None,
    kinds: Sequence[Kind],
    confidence: float,
) -> list[Part]:
    """One side for each result. Errors: `UsageError` where there are not as many labels."""
    if labels is not None and len(labels) != len(results):
        raise UsageError(f"{len(labels)} labels for {len(results)} results")
    names = labels or [result.environment.hostname or "unnamed host" for result in results]
    parts = []
    for index, (result, label) in enumerate(zip(results, names, strict=True)):
        found = {kind.name: kind.quantities(result, confidence) for kind in kinds}
        every = [each.device for quantities in found.values() for each in quantities]
        devices = [*(device.name for device in result.devices), *every]  # of a run stopped early
        parts.append(Part(index, label, found, tuple(dict.fromkeys(devices))))
    return parts


def chosen(parts: Sequence[Part], names: Sequence[str] | None) -> list[Part]:
    """What of the parts has one of `names`: as a row, rung or model, as a mode, as a quantity.

    Of several names of one sort any will do, of names of several sorts one of each is asked for.
    Errors: `UnknownNameError` for a name that nothing has.
    """
    if names is None:
        return list(parts)
    every = [q for part in parts for found in part.quantities.values() for q in found]
    known = {name for each in every for name in _names(each) if name}
    for name in names:
        if name not in known:
            raise UnknownNameError("probe", name, known)
    sorts = [{n for n in sort if n} & set(names) for sort in zip(*map(_names, every), strict=True)]
    asked = [(place, sort) for place, sort in enumerate(sorts) if sort]

    def wanted(quantity: Quantity) -> bool:
        own = _names(quantity)
        return all(own[place] in sort for place, sort in asked)

    return [_filtered(part, wanted) for part in parts]


def _names(quantity: Quantity) -> tuple[str | None, str | None, str | None]:
    mode = quantity.setting.get("mode")
    return quantity.name, None if mode is None else str(mode), quantity.quantity


def _filtered(part: Part, wanted: Callable[[Quantity], bool]) -> Part:
    return replace(
        part,
        quantities={
            kind: [each for each in found if wanted(each)]
            for kind, found in part.quantities.items()
        },
    )


def split(parts: Sequence[Part], key: str, kinds: Sequence[Kind]) -> tuple[list[Part], list[str]]:
    """A side for each value of `key` in each part: what differs in nothing else is compared. And
    sentences on what has no such key, and is on no side.

    `key` is ``device``, ``row``, ``rung``, ``model`` or one of the settings (``mode``, ``dtype``,
    ``batch``, ``wait`` …). Errors: `UnknownNameError`.
    """
    known: set[str] = {DEVICE}
    without: Counter[str] = Counter()
    sides: list[Part] = []
    for part in parts:
        values: dict[str, dict[str, list[Quantity]]] = {}
        for kind in kinds:
            for each in part.quantities[kind.name]:
                known |= {kind.name_key, *each.setting}
                value, rest = _taken(each, key, kind)
                if value is None:
                    without[kind.title.lower()] += 1
                else:
                    values.setdefault(value, {}).setdefault(kind.name, []).append(rest)
        for value, found in values.items():
            label = value if len(parts) == 1 else f"{part.label} {value}"
            every = {kind.name: found.get(kind.name, []) for kind in kinds}
            devices = (DEVICE,) if key == DEVICE else part.devices
            sides.append(Part(part.index, label, every, devices))
    if key not in known:
        raise UnknownNameError("key", key, known)
    return sides, [f"{title}: without {key}, and left out: {n}" for title, n in without.items()]


def _taken(quantity: Quantity, key: str, kind: Kind) -> tuple[str | None, Quantity]:
    """The quantity's value of `key`, None where it has none, and the quantity without it."""
    if key == DEVICE:
        return quantity.device, replace(quantity, device=DEVICE)
    if key == kind.name_key:
        alike = {aspect: v for aspect, v in quantity.alike.items() if aspect != PARAMETERS}
        return quantity.name, replace(quantity, name=f"any {key}", alike=alike)
    if key not in quantity.setting:
        return None, quantity
    rest = {name: value for name, value in quantity.setting.items() if name != key}
    return str(quantity.setting[key]), replace(quantity, setting=rest)
