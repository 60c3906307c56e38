"""What a rung of the dispatch ladder is: one software layer, and programs of one operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ftax_micro.measurement import BurstProbe
from ftax_micro.records import ClockFacts, FactValue

# What one operation is: a call of an empty C function, a launch of an empty kernel, or the addition
# of a one-element fp32 tensor to a one-element fp32 tensor.
Operation = Literal["call", "kernel", "add"]
# Of a layer that takes arguments: none, about as many as a kernel of a framework has, and many.
ARGUMENTS = (0, 5, 19)


@dataclass(frozen=True)
class Place:
    """Where a rung is measured: the device by name, and the clock that all programs read.

    `session()` is the extension's open session on a CUDA device, in the context that every library
    shares; on the cpu there is none.
    """

    device: str
    clock: ClockFacts
    session: Callable[[], Any] | None = None

    @property
    def kind(self) -> str:
        """``cpu`` or ``cuda``."""
        return self.device.partition(":")[0]

    @property
    def index(self) -> int:
        """The CUDA device's ordinal; 0 on the cpu."""
        return int(self.device.partition(":")[2] or 0)


@dataclass(frozen=True)
class Program:
    """A rung made ready at one place: programs of `counts` operations, each on the one before.

    `burst(count)` runs the program of `count` operations once and returns the seconds until the
    host is done with them: with the device idle before, and without waiting for it after, unless
    the layer itself waits. `executed(count)` runs it once more, untimed, and counts the operations
    that really ran; None where nothing between the program and the device could remove one.
    `close()` gives back what was taken.
    """

    burst: BurstProbe
    counts: Sequence[int]
    executed: Callable[[int], int] | None = None
    facts: Mapping[str, FactValue] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None


# Fresh processes for a rung of plain calls, and for one of a package, which takes longer to import.
# Part of such a call is settled as a process is loaded: of numpy.add 25 processes took 188 to 225
# ns each on quiet cores, and medians over three of them 193 to 219, over nine 184 to 200, over 25
# 189 to 200; over seven those of PyTorch are within 2 to 4 %.
CALL_PROCESSES = 25
PACKAGE_PROCESSES = 7
# On a GPU each process opens a context, which takes longer than it measures.
MOST_CUDA_PROCESSES = 7


@dataclass(frozen=True)
class Rung:
    """One layer. `make(place, arguments)` makes its programs ready; errors: `Skip` with the reason
    where the layer is not here, `FtaxError` where it is broken.

    `operation` may differ by kind of device. `arguments` are the numbers of arguments it is
    measured with, empty where it takes none. `below` names, by kind of device, the layer it stands
    on, and with its keys the devices on which the rung exists. Rungs of one `package` share a
    process, which no other library enters. `summary` is two sentences, `source` says where the
    path is documented. Not `quick` is one that takes longer to make ready than all others together.
    `load(kind)` imports what takes long, for devices of that kind and without touching one: it is
    called once, while other processes import theirs. What goes wrong there is for `make` to tell.
    `processes`: how many fresh ones share its time (`FloorRow.processes`), on a GPU no more than
    `MOST_CUDA_PROCESSES`; those of one package that differ in it have processes of their own.
    """

    name: str
    summary: str
    source: str
    operation: Mapping[str, Operation]
    below: Mapping[str, str | None]
    make: Callable[[Place, int], Program]
    package: str | None = None
    arguments: tuple[int, ...] = ()
    quick: bool = True
    load: Callable[[str], object] | None = None
    processes: int = 1

    def processes_on(self, kind: str) -> int:
        """How many processes share its time on a device of `kind`."""
        return min(self.processes, MOST_CUDA_PROCESSES) if kind == "cuda" else self.processes

    def settings(self, kind: str) -> list[dict[str, str | int | float]]:
        """The points it is measured at on a device of `kind`."""
        operation = self.operation[kind]
        if not self.arguments:
            return [{"op": operation}]
        return [{"op": operation, "arguments": number} for number in self.arguments]
