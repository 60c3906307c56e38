"""Which recorded cases form a sweep: the same workload and mode at several sizes of one axis.

An axis is a size of the input (batch, sequence, image, audio) or a numeric setting of the model
(depth, width). Settings that only change together, as a width with its feed-forward width, are one
axis. A grid of two axes gives a sweep along each for every value of the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ftax_micro.records import Case

_SIZES = ("batch", "sequence", "image", "audio")
_Key = tuple[object, ...]


@dataclass(frozen=True)
class Sweep:
    """Cases that differ in `axis` alone, in ascending order of it.

    `model` is the model with the settings that do not vary, `sizes` the input's sizes that do not.
    `axis` is the name of a size or of a setting, or of several settings joined by ``+``, whose
    first gives the values.
    """

    axis: str
    model: str
    mode: str
    device: str
    dtype: str
    sizes: tuple[tuple[str, int], ...]
    lengths: str | None
    values: tuple[float, ...]
    cases: tuple[Case, ...]

    @property
    def points(self) -> list[tuple[float, list[float]]]:
        """Size and latency samples of each case."""
        return [
            (value, case.latency.samples)
            for value, case in zip(self.values, self.cases, strict=True)
            if case.latency is not None
        ]

    @property
    def plausible(self) -> bool:
        """Whether all latencies are positive; of others there is no ratio and no law."""
        return all(sample > 0 for _, samples in self.points for sample in samples)


def sweeps(cases: Iterable[Case]) -> list[Sweep]:
    """Every sweep of two values or more among the timed cases that are no twins, in their order."""
    timed = [
        each for each in cases if each.status == "ok" and each.latency is not None and not each.twin
    ]
    found = [sweep for axis in _SIZES for sweep in _along_size(timed, axis)]
    return found + _along_settings(timed)


def model_settings(model: str) -> tuple[str, dict[str, str]]:
    """The name and the settings of a model as asked for, ``name@key=value,key=value``."""
    name, _, text = model.partition("@")
    pairs = (part.partition("=") for part in text.split(",") if part)
    return name, {key.strip(): value.strip() for key, _, value in pairs}


def _along_size(cases: Sequence[Case], axis: str) -> list[Sweep]:
    groups: dict[_Key, list[tuple[float, Case]]] = {}
    for case in cases:
        value = getattr(case, axis)
        if value is not None:
            key = (case.model, *_surroundings(case, without=axis))
            groups.setdefault(key, []).append((float(value), case))
    made = (_sweep(axis, group, group[0][1].model) for group in groups.values())
    return [sweep for sweep in made if sweep is not None]


def _along_settings(cases: Sequence[Case]) -> list[Sweep]:
    """Sweeps over settings, among models of one name that set the same ones."""
    families: dict[_Key, list[tuple[dict[str, str], Case]]] = {}
    for case in cases:
        name, settings = model_settings(case.model)
        if settings:
            key = (name, *sorted(settings), *_surroundings(case))
            families.setdefault(key, []).append((settings, case))
    found = []
    for family in families.values():
        alone = [
            sweep
            for axis in _varying(family)
            for group in _others_fixed(family, axis)
            if (sweep := _setting_sweep(group, [axis])) is not None
        ]
        together = [] if alone else [_setting_sweep(family, _varying(family))]
        found += alone + [sweep for sweep in together if sweep is not None]
    return found


_Family = list[tuple[dict[str, str], Case]]


def _varying(family: _Family) -> list[str]:
    """Settings with more than one value, in the order they are written."""
    return [key for key in family[0][0] if len({settings[key] for settings, _ in family}) > 1]


def _others_fixed(family: _Family, axis: str) -> list[_Family]:
    groups: dict[_Key, _Family] = {}
    for settings, case in family:
        rest = tuple(sorted((key, value) for key, value in settings.items() if key != axis))
        groups.setdefault(rest, []).append((settings, case))
    return list(groups.values())


def _setting_sweep(family: _Family, axes: Sequence[str]) -> Sweep | None:
    """The sweep of `axes`, if all of them are numbers that grow together."""
    rows = [([_number(settings[axis]) for axis in axes], case) for settings, case in family]
    known = [([x for x in values if x is not None], case) for values, case in rows]
    if not axes or any(len(values) < len(axes) for values, _ in known):
        return None
    known.sort(key=lambda row: row[0])
    pairs = itertools.pairwise(known)
    if not all(a <= b for left, right in pairs for a, b in zip(left[0], right[0], strict=True)):
        return None
    fixed = {key: value for key, value in family[0][0].items() if key not in axes}
    name, _ = model_settings(family[0][1].model)
    model = name + ("@" if fixed else "") + ",".join(f"{k}={v}" for k, v in fixed.items())
    return _sweep("+".join(axes), [(values[0], case) for values, case in known], model)


def _sweep(axis: str, group: list[tuple[float, Case]], model: str) -> Sweep | None:
    if len({value for value, _ in group}) < 2:
        return None
    ordered = sorted(group, key=lambda each: each[0])
    first = ordered[0][1]
    return Sweep(
        axis=axis,
        model=model,
        mode=first.mode,
        device=first.device,
        dtype=first.dtype,
        sizes=tuple(_sizes(first, axis).items()),
        lengths=first.lengths,
        values=tuple(value for value, _ in ordered),
        cases=tuple(case for _, case in ordered),
    )


def _surroundings(case: Case, without: str | None = None) -> _Key:
    """All that two cases must have in common besides model and axis."""
    common = (case.mode, case.device, case.dtype, case.lengths, case.steps)
    return (*common, case.facts.get("threads"), *_sizes(case, without).items())


def _sizes(case: Case, without: str | None) -> dict[str, int]:
    named = {name: getattr(case, name) for name in _SIZES if name != without}
    return {name: size for name, size in named.items() if size is not None}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
