"""What a tracer tells of a device: calls of the host, operations of the device, on one clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from ftax_micro.records import FactValue, KernelShape


@dataclass(frozen=True)
class TracedCall:
    """One call of the driver or the runtime, as the tracer saw it; nanoseconds of its clock.

    `correlation` is what a call shares with the operations it caused on the device.
    """

    correlation: int
    start_ns: int
    end_ns: int
    name: str = ""


@dataclass(frozen=True)
class TracedOperation:
    """One kernel, copy or set on the device; nanoseconds on the same clock as the calls'.

    `graph_node` is other than 0 where a graph's replay ran it; one replay is one call. `stream` is
    the tracer's number of the stream it ran in, None where it does not say.
    """

    correlation: int
    name: str
    start_ns: int
    end_ns: int
    kind: Literal["kernel", "copy", "set"] = "kernel"
    graph_node: int = 0
    shape: KernelShape | None = None
    stream: int | None = None


@dataclass(frozen=True)
class Trace:
    """What a tracer recorded; `dropped` counts the records that it had no room or no time for."""

    calls: list[TracedCall]
    operations: list[TracedOperation]
    dropped: int = 0


class Tracer(Protocol):
    """A tracer that records everything this process asks of its device."""

    name: str

    @property
    def facts(self) -> Mapping[str, FactValue]:
        """What tells this tracer from another: its version, what it records."""

    def now_ns(self) -> int:
        """The time on the clock of its records. Errors: `errors.FtaxError`."""

    def take(self) -> Trace:
        """Everything recorded since the last call; the device must be idle.

        Errors: `errors.FtaxError` where the tracer fails.
        """

    def stop(self) -> None:
        """Record no more. The process stays one that was traced."""
