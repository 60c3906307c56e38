"""What a process is told that measures a workload for another, and what it tells while it does.

The job lies in a folder; messages come through a pipe, each as its length and then msgpack. What is
in the pipe when the process dies is still there to be read. Times are seconds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ftax_micro.interleaving import Block
from ftax_micro.records import (
    Data,
    DevicePass,
    FactValue,
    GpuLoad,
    Plan,
    Record,
    Status,
    StopReason,
)

Phase = Literal["build", "prepare", "check", "time", "count", "load", "trace", "facts"]
# `timing`: all modes by turns; `solo`: one mode, by itself from a cold start; `device`: one mode
# under a tracer.
Part = Literal["timing", "solo", "device"]

_LENGTH = struct.Struct("<I")


class WorkloadJob(Record, frozen=True, kw_only=True):
    """A workload as `WorkloadRequest` has it, by its names and sizes, and what is to be done.

    `known` are blocks that were taken before, by mode. `count` says whether operations are counted
    after timing. `paths` is where to import a user's own model from.
    """

    model: str
    batch: int
    sequence: int | None = None
    image: int | None = None
    audio: int | None = None
    dtype: str = "fp32"
    device: str = "cpu"
    threads: int = 1
    lengths: str | None = None
    twin: bool = False
    modes: list[str]
    plan: Plan
    part: Part = "timing"
    known: dict[str, list[Block]] = msgspec.field(default_factory=dict)
    count: bool = False
    paths: list[str] = msgspec.field(default_factory=list)


class Stands(Record, frozen=True, kw_only=True, tag="stands"):
    """What is done next; `mode` is None for what concerns them all.

    `forward_s` is what the mode's first forward took, where it is to be timed; `said` is how many
    bytes the process had written to stderr.
    """

    phase: Phase
    mode: str | None = None
    forward_s: float = 0.0
    said: int = 0


class Built(Record, frozen=True, kw_only=True, tag="built"):
    """The module is there."""

    parameters: int
    weight_bytes: int
    steps: int = 1
    facts: dict[str, FactValue] = msgspec.field(default_factory=dict)


class Ready(Record, frozen=True, kw_only=True, tag="ready"):
    """A mode computes what eager does."""

    mode: str
    costs_s: dict[str, float]
    facts: dict[str, FactValue]
    relative_norm: float
    largest_difference: float


class Absent(Record, frozen=True, kw_only=True, tag="absent"):
    """A mode has no value, and why."""

    mode: str
    status: Status
    reason: str


class Taken(Record, frozen=True, kw_only=True, tag="taken"):
    """A mode has a further block."""

    mode: str
    block: Block


class Timed(Record, frozen=True, kw_only=True, tag="timed"):
    """A mode has enough blocks."""

    mode: str
    reason: StopReason


class Alone(Record, frozen=True, kw_only=True, tag="alone"):
    """A mode by itself from a cold start: what making it ready took, and its latency."""

    mode: str
    costs_s: dict[str, float]
    latency: Data
    peak_memory_bytes: int | None = None
    gpu_load: GpuLoad | None = None
    facts: dict[str, FactValue] = msgspec.field(default_factory=dict)
    reasons: dict[str, str] = msgspec.field(default_factory=dict)


class Counted(Record, frozen=True, kw_only=True, tag="counted"):
    """The operations of one forward of a mode; empty where there is a reason."""

    mode: str
    executed: dict[str, int] = msgspec.field(default_factory=dict)
    reason: str | None = None


class Traced(Record, frozen=True, kw_only=True, tag="traced"):
    """What the device did in a mode's forwards; None where there is a reason."""

    mode: str
    device_pass: DevicePass | None = None
    reason: str | None = None


class Facts(Record, frozen=True, kw_only=True, tag="facts"):
    """What is true of the workload in every mode; None where there is a reason."""

    macs: int | None = None
    activation_bytes: int | None = None
    reasons: dict[str, str] = msgspec.field(default_factory=dict)


Message: TypeAlias = (
    Stands | Built | Ready | Absent | Taken | Timed | Alone | Counted | Traced | Facts
)


def write_job(folder: Path, job: WorkloadJob) -> None:
    """Put `job` into `folder`."""
    (folder / "job").write_bytes(msgspec.msgpack.encode(job))


def read_job(folder: Path) -> WorkloadJob:
    """The job in `folder`."""
    return msgspec.msgpack.decode((folder / "job").read_bytes(), type=WorkloadJob)


def encode_message(message: Message) -> bytes:
    """`message` as it goes through the pipe."""
    data = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(data)) + data


class MessageReader:
    """Messages out of the bytes of a pipe, in whatever pieces these come."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._decoder = msgspec.msgpack.Decoder(Message)

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole now. Errors: `msgspec.MsgspecError` for what is none."""
        self._bytes += data
        while len(self._bytes) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._bytes)[0]
            if len(self._bytes) < end:
                return
            message = self._decoder.decode(self._bytes[_LENGTH.size : end])
            del self._bytes[:end]
            yield message
