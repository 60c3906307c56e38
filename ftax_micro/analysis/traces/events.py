"""What a profiler recorded, in columns: device operations, host calls and host spans.

One array per field instead of one object per event, so that millions of events fit and every later
figure is a handful of array operations. Names and threads are interned: a column holds the index.

Times are whole **nanoseconds** after the trace's first event, in int64 instead of the seconds used
elsewhere: where operations touch, merging them must be exact. Figures made of them are in seconds.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Indices = NDArray[np.int32]
Kinds = NDArray[np.int8]
NONE = -1  # in a column: this event has no such value

NS = 1e-9  # seconds in a nanosecond


class OperationKind(enum.IntEnum):
    """What the device did; GRAPH: all nodes of one graph launch, recorded as one."""

    KERNEL = 0
    COPY = 1
    SET = 2
    GRAPH = 3


class CallKind(enum.IntEnum):
    """What a runtime or driver call asked for."""

    LAUNCH = 0
    GRAPH_LAUNCH = 1
    COPY = 2
    SET = 3
    SYNCHRONISE = 4
    OTHER = 5


class SpanKind(enum.IntEnum):
    """What a stretch of host time is: a framework's op, a user's annotation, a Python frame."""

    OP = 0
    ANNOTATION = 1
    STEP = 2
    PYTHON = 3


# Calls that ask for device work; each should have at least one operation.
LAUNCHING = (CallKind.LAUNCH, CallKind.GRAPH_LAUNCH, CallKind.COPY, CallKind.SET)
_C = TypeVar("_C", bound="Columns")


@dataclass(frozen=True, eq=False)
class Columns:
    """Arrays of one length, one entry per event, ordered by start."""

    kind: Kinds
    name: Indices
    start_ns: Ints
    duration_ns: Ints

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def end_ns(self) -> Ints:
        """When each event was over."""
        return self.start_ns + self.duration_ns

    def ends_at(self, index: Ints) -> Ints:
        """When some of them were over, at the cost of these alone."""
        return np.asarray(self.start_ns[index] + self.duration_ns[index])

    def take(self: _C, which: NDArray[Any]) -> _C:
        """The events at some indices, or where a mask is true."""
        return type(self)(*(getattr(self, each.name)[which] for each in fields(self)))


@dataclass(frozen=True, eq=False)
class Operations(Columns):
    """Kernels, copies, sets and whole graphs (`OperationKind`), on the device's side.

    `correlation` is the id shared with the host call, `external` that of the framework op; NONE
    where there is none. Operations of one graph launch share their correlation id.
    """

    device: Indices
    stream: Ints
    correlation: Ints
    external: Ints


@dataclass(frozen=True, eq=False)
class Calls(Columns):
    """Runtime and driver calls (`CallKind`); `blocks` where the call waits for the device."""

    thread: Indices
    correlation: Ints
    external: Ints
    blocks: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Spans(Columns):
    """Ops of the framework, annotations, steps and Python frames (`SpanKind`)."""

    thread: Indices
    external: Ints


class Thread(NamedTuple):
    """A host thread, as the trace names it."""

    process: str
    thread: str


@dataclass(frozen=True, eq=False)
class Trace:
    """A trace as it was recorded, with a count of everything in the file that is not in it.

    `tick_ns` is what its times are whole multiples of. `origin_ns` is when the first event began,
    by the file's own clock. `devices` are the names of devices, where the file has them.
    `not_needed` counts events whose meaning is known and that no figure uses, `not_understood`
    those of an unknown category, `findings` those left out for what is wrong with them, or that
    mean less than they seem to.
    """

    source: str
    names: list[str]
    threads: list[Thread]
    operations: Operations
    calls: Calls
    spans: Spans
    tick_ns: int
    origin_ns: int
    end_ns: int
    devices: dict[int, str] = field(default_factory=dict)
    not_needed: dict[str, int] = field(default_factory=dict)
    not_understood: dict[str, int] = field(default_factory=dict)
    findings: dict[str, int] = field(default_factory=dict)

    @property
    def has_device_activity(self) -> bool:
        """Whether a device did anything; a trace of host activity alone is a valid one."""
        return len(self.operations) > 0

    @property
    def device_ids(self) -> list[int]:
        """The devices that did something, in ascending order."""
        return [int(each) for each in np.unique(self.operations.device)]


# cudaLaunchHostFunc runs a function on the host, in stream order.
_LAUNCH = re.compile(r"Launch(?!HostFunc)")
# Older ROCm tracers report every device activity as a kernel; the name tells.
_COPY_NAME = re.compile(r"^(Memcpy |Copy(Host|Device)To(Host|Device)|hipMemcpy)")
_SET_NAME = re.compile(r"^(Memset |FillBuffer)")


def call_kind(name: str) -> CallKind:
    """The kind of a runtime or driver call of CUDA or HIP, whatever its version or suffix."""
    if "Graph" in name:  # cudaGraphAddMemcpyNode and the like copy nothing yet
        return CallKind.GRAPH_LAUNCH if "GraphLaunch" in name else CallKind.OTHER
    if _LAUNCH.search(name):
        return CallKind.LAUNCH
    if "Memcpy" in name:
        return CallKind.COPY
    if "Memset" in name:
        return CallKind.SET
    return CallKind.SYNCHRONISE if "Synchronize" in name else CallKind.OTHER


def call_blocks(name: str) -> bool:
    """Whether the call returns only when device work is done: synchronisations, plain copies.

    A copy between host and device that is asynchronous by name may block as well, if the memory is
    pageable; its name does not tell.
    """
    copies = call_kind(name) is CallKind.COPY
    return "Synchronize" in name or (copies and "Async" not in name)


def kernel_kind(name: str) -> OperationKind:
    """The kind of what a trace calls a kernel."""
    if _COPY_NAME.match(name):
        return OperationKind.COPY
    return OperationKind.SET if _SET_NAME.match(name) else OperationKind.KERNEL


def span_kind(name: str) -> SpanKind:
    """Whether an annotation is a step of the PyTorch profiler or anything else."""
    return SpanKind.STEP if name.startswith("ProfilerStep") else SpanKind.ANNOTATION
