"""The floor of a measured machine for the devices of a trace, and whether it is the same machine.

A trace names its GPUs at best, and numbers them as its process saw them.
"""

from __future__ import annotations

from ftax_micro.analysis.floor.values import FloorValues, floor_values
from ftax_micro.analysis.traces.correlation import Correlation
from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.own_floor import own_floors
from ftax_micro.results import Result

_NO_GPU = "the floor is of a machine without a GPU"
_VENDOR = ("nvidia", "tesla", "amd")


def machine_floors(trace: Trace, floor: Result) -> dict[int, FloorValues]:
    """For each device of the trace that did something, the floor of the measured GPU of the same
    name, else of the same number, else of the first one.
    """
    return {device: _values(trace, device, floor) for device in trace.device_ids}


def charged_floors(
    trace: Trace, correlation: Correlation, floor: Result | None
) -> dict[int | None, tuple[FloorValues | None, str | None]]:
    """For each device of the trace the floor that counts: that of the measured machine, or without
    one the trace's own; or why there is none.
    """
    if floor is not None:
        return {device: (each, None) for device, each in machine_floors(trace, floor).items()}
    own = own_floors(trace, correlation)
    return {device: (each.values, each.reason) for device, each in own.items()}


def serves(trace: Trace, floor: Result) -> bool:
    """Whether the floor of a result counts for a trace that it is given beside: its GPUs have the
    names of the trace's; or the trace names none, and the result has nothing to give but a floor.
    """
    gpus = {each.name for each in floor.devices if each.kind != "cpu"}
    if not trace.device_ids or not any(row.device in gpus for row in floor.measurements):
        return False
    if not all(device in trace.devices for device in trace.device_ids):
        return not floor.cases
    return machine_mismatch(trace, floor) is None


def recorded_on(trace: Trace) -> str:
    """The names of the trace's GPUs, in words."""
    names = [trace.devices.get(device, "a GPU without a name") for device in trace.device_ids]
    return ", ".join(dict.fromkeys(names)) or "no GPU"


def machine_mismatch(trace: Trace, floor: Result) -> str | None:
    """How the trace's GPUs and the floor's differ, with the names of both; None: they do not."""
    host = floor.environment.hostname or "a machine without a name"
    measured = {device: _measured(trace, device, floor) for device in trace.device_ids}
    models = {each: _model(floor, each) for each in measured.values() if each is not None}
    theirs = ", ".join(dict.fromkeys(each or "a GPU without a name" for each in models.values()))
    if not models:
        return None
    unnamed = [device for device in measured if device not in trace.devices]
    if unnamed:
        return (
            f"does not name its GPU, the floor is of {theirs} on {host}: bounds hold where both "
            "are the same machine"
        )
    other = {
        trace.devices[device]: None
        for device, each in measured.items()
        if each is not None and _bare(trace.devices[device]) != _bare(models[each] or "")
    }
    if not other:
        return None
    return (
        f"was recorded on {', '.join(other)}, the floor on {host} ({theirs}): bounds hold where "
        "both are the same machine"
    )


def _values(trace: Trace, device: int, floor: Result) -> FloorValues:
    name = _measured(trace, device, floor)
    if name is None:
        return FloorValues(reasons={"to_start": _NO_GPU})
    return floor_values(floor, name)


def _measured(trace: Trace, device: int, floor: Result) -> str | None:
    """The name of the floor's device that stands for one of the trace."""
    gpus = [each.name for each in floor.devices if each.kind != "cpu"]
    wanted = _bare(trace.devices.get(device, ""))
    same = [each for each in gpus if wanted and _bare(_model(floor, each) or "") == wanted]
    numbered = f"cuda:{device}"
    choice = same or gpus
    return numbered if numbered in choice else next(iter(choice), None)


def _model(floor: Result, name: str) -> str | None:
    return next((each.model for each in floor.devices if each.name == name), None)


def _bare(model: str) -> str:
    """A model without its maker, which drivers of some versions leave out."""
    words = model.casefold().split()
    return " ".join(word for word in words if word not in _VENDOR)
