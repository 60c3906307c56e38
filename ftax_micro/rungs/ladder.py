"""The rungs as rows of a device: made ready, checked to run what they say, then measured."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from ftax_micro.collector import old_objects_set_aside
from ftax_micro.devices import open_device
from ftax_micro.devices.contract import Device, FloorRow, Outcome
from ftax_micro.devices.cpu.placed import CORES, own_glance
from ftax_micro.errors import FtaxError
from ftax_micro.measurement import measure_slope
from ftax_micro.records import DeviceFacts, DeviceState, FactValue, Plan, Setting
from ftax_micro.rungs import RUNGS
from ftax_micro.rungs.contract import Place, Program, Rung


class RemovedOperationsError(FtaxError):
    """A compiler or optimiser left fewer operations, or others, than the program has."""


class LadderDevice:
    """The device called `name` with rungs in place of the launch anatomy's rows."""

    def __init__(self, name: str) -> None:
        self._device: Device = open_device(name)
        self.name, self.clock = self._device.name, self._device.clock
        self._place = Place(name, self.clock, getattr(self._device, "session", None))

    def describe(self) -> DeviceFacts:
        """Facts of the device."""
        return self._device.describe()

    def rows(self) -> Sequence[FloorRow]:
        """The rungs that exist on such a device, the lowest first."""
        return [self._row(rung) for rung in rungs_of(self._place.kind)]

    def state(self) -> DeviceState | None:
        """The device's state at this moment."""
        return self._device.state()

    def close(self) -> None:
        """Give the device back. Safe to call twice."""
        self._device.close()

    def _row(self, rung: Rung) -> FloorRow:
        measure: Callable[[Setting, Plan], Outcome] = functools.partial(_measure, rung, self._place)
        if self._place.kind == "cuda":
            from ftax_micro.devices.cuda.loops import row_measure

            measure = row_measure(measure)
        return FloorRow(rung.name, rung.summary, measure, rung.settings(self._place.kind))


def rungs_of(kind: str) -> list[Rung]:
    """The rungs that exist on devices of `kind` (``cpu``, ``cuda``), the lowest first."""
    every: list[Rung] = [RUNGS.open(name) for name in RUNGS]
    return [rung for rung in every if kind in rung.below]


def load_rungs(names: Iterable[str], device: str) -> None:
    """Import what the rungs called `names` need on `device`, which is not touched.

    One that cannot be imported is left to the rung, which tells.
    """
    kind = device.partition(":")[0]
    loads = [load for name in names if (load := RUNGS.open(name).load)]
    for load in dict.fromkeys(loads):
        with contextlib.suppress(Exception):
            load(kind)


def _measure(rung: Rung, place: Place, setting: Setting, plan: Plan) -> Outcome:
    program = rung.make(place, int(setting.get("arguments", 0)))
    with contextlib.closing(program):
        facts = {name: _plain(value) for name, value in program.facts.items()}
        facts["below"] = rung.below[place.kind]
        if program.executed is not None:
            _check_executed(program)
            facts["operations_counted"] = True
        with _one_core() as core, old_objects_set_aside():
            glance = own_glance(core) if core is not None and place.kind == "cpu" else None
            data = measure_slope(program.burst, program.counts, plan, place.clock, glance=glance)
        if core is not None and place.kind == "cpu":
            facts[CORES] = str(core)
    return Outcome(data, facts=facts)


def _plain(value: FactValue) -> FactValue:
    """Without what a library's own kind of string adds to one."""
    return str(value) if isinstance(value, str) else value


def _check_executed(program: Program) -> None:
    """Errors: `RemovedOperationsError` where a program does not run the operations it has."""
    if program.executed is None:
        return
    for count in program.counts:
        ran = program.executed(count)
        if ran != count:
            raise RemovedOperationsError(
                f"of {count} operations {ran} ran: the layer's compiler fused, folded or removed "
                "some, so that there is no cost of one to tell"
            )


@contextlib.contextmanager
def _one_core() -> Iterator[int | None]:
    """The calling thread kept on the core it may use first; None where the system cannot do that.

    Only now: threads that a library started while it was made ready stay where they are.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    former = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {min(former)})
    try:
        yield min(former)
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, former)
