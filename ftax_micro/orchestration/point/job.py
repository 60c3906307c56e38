"""What a process is told that measures points for another, and where it leaves what it measured.

A folder holds the job and, point by point, the results; a pipe tells the one who waits that there
is something new in it. Times are seconds.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ftax_micro.records import Measurement, Plan, Record, Setting
from ftax_micro.result_rules import check_measurement

# What the pipe carries: what the job needs is imported; the next point begins; its result lies in
# the folder.
LOADED, BEGINS, ENDS = b"l", b"b", b"e"


class PointName(Record, frozen=True, kw_only=True):
    """A point by names. `why` it is measured in a process of its own, where that is not plain."""

    name: str
    setting: Setting
    why: str | None = None


class PointJob(Record, frozen=True, kw_only=True):
    """Points of one device, to be measured one after the other in a fresh process.

    `tracer` is started before anything else; all points are then traced ones. `process` is the
    repetition that the results belong to. One that `waits` imports what it needs, says so, and
    begins when it is told to.
    """

    device: str
    points: list[PointName]
    plan: Plan
    tracer: str | None = None
    process: int = 0
    waits: bool = False


def write_job(folder: Path, job: PointJob) -> None:
    """Put `job` into `folder`."""
    (folder / "job").write_bytes(msgspec.msgpack.encode(job))


def read_job(folder: Path) -> PointJob:
    """The job in `folder`."""
    return msgspec.msgpack.decode((folder / "job").read_bytes(), type=PointJob)


def write_point(folder: Path, index: int, measurement: Measurement) -> None:
    """Leave the result of point `index`: it is there whole or not at all."""
    part = folder / f"{index}.part"
    part.write_bytes(msgspec.msgpack.encode(measurement))
    part.replace(folder / str(index))


def read_point(folder: Path, index: int) -> Measurement | None:
    """The result of point `index`; None where there is none.

    Errors: `msgspec.MsgspecError` for what is none.
    """
    path = folder / str(index)
    if not path.exists():
        return None
    measurement = msgspec.msgpack.decode(path.read_bytes(), type=Measurement)
    check_measurement(measurement)
    return measurement
