"""What a machine is capable of, beside the models that were measured on it.

Its launch floor, quickly, and its peaks. The peaks need torch and large matrices: they are measured
in a process of its own, ``python -m …machine FOLDER PIPE``, so that nothing of them, and no context
on a GPU, is there when models are.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ftax_micro.errors import FtaxError
from ftax_micro.facts import Environment
from ftax_micro.orchestration.child_process import (
    Child,
    end_with_parent,
    running_child,
    why_it_ended,
)
from ftax_micro.orchestration.floor import FloorRun, Progress
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.point.selection import Selection
from ftax_micro.orchestration.workload.memory import be_first_to_go, failure_reason
from ftax_micro.process_end import end_process
from ftax_micro.records import QUICK_PLAN, Measurement, Plan, Record, Roofline
from ftax_micro.roofline import measure_rooflines

_CHILD = ("-m", "ftax_micro.orchestration.machine")
_GRACE_S = 10.0
# Imports, and a plan's timeout for each dtype on a busy machine.
_LIMIT_S = 300.0


class PeaksJob(Record, frozen=True, kw_only=True):
    """The peaks that are wanted."""

    device: str
    dtypes: list[str]
    threads: int
    plan: Plan


@dataclass(frozen=True)
class Machine:
    """A device's launch floor and peaks."""

    measurements: list[Measurement]
    rooflines: list[Roofline]


def measure_machine(
    device: str,
    dtypes: Sequence[str],
    environment: Environment,
    *,
    threads: int = 1,
    interrupts: Interrupts | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> Machine:
    """The floor of `device` and, of each dtype, its peaks with so many threads.

    What cannot be measured is a row with its reason. `command` stands for the child in tests.
    Errors: as `FloorRun.run`; `Interrupted`.
    """
    selection = Selection([device], None, [], by_name=True)
    run = FloorRun(selection, QUICK_PLAN, environment, progress=progress, interrupts=interrupts)
    floor = run.run()
    if interrupts and interrupts.pending:
        raise interrupts.pending
    peaks = measure_peaks(device, dtypes, threads=threads, interrupts=interrupts, command=command)
    return Machine(floor.measurements, peaks)


def measure_peaks(
    device: str,
    dtypes: Sequence[str],
    *,
    threads: int = 1,
    interrupts: Interrupts | None = None,
    command: Sequence[str] = (),
) -> list[Roofline]:
    """The peaks alone, as in `measure_machine`. Errors: `Interrupted`."""
    job = PeaksJob(device=device, dtypes=list(dtypes), threads=threads, plan=QUICK_PLAN)
    command = command or (sys.executable or "python3", *_CHILD)
    try:
        return _peaks(job, command, interrupts)
    except (OSError, msgspec.MsgspecError, FtaxError) as error:
        if interrupts and error is interrupts.pending:
            raise
        return [_absent(job, dtype, failure_reason(error)) for dtype in dtypes]


class PeaksError(FtaxError):
    """Peaks whose process left none."""


def _peaks(job: PeaksJob, command: Sequence[str], interrupts: Interrupts | None) -> list[Roofline]:
    def put(folder: Path) -> None:
        (folder / "job").write_bytes(msgspec.msgpack.encode(job))

    with running_child(command, put, _GRACE_S) as child:
        with interrupts.raised() if interrupts else contextlib.nullcontext():
            told = _told(child)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(_GRACE_S)
        if child.process.returncode != 0:
            raise PeaksError(why_it_ended(child))
    return msgspec.msgpack.decode(told, type=list[Roofline])


def _told(child: Child) -> bytes:
    """All that the child tells, to its end."""
    told = b""
    while True:
        ready, _, _ = select.select([child.pipe], [], [], _LIMIT_S)
        if not ready:
            raise PeaksError(f"its process did not answer for {_LIMIT_S:g} s")
        data = os.read(child.pipe, 1 << 16)
        if not data:
            return told
        told += data


def _absent(job: PeaksJob, dtype: str, reason: str) -> Roofline:
    return Roofline(
        device=job.device, operation="matmul", dtype=dtype, work=0.0, status="failed", reason=reason
    )


def main(arguments: Sequence[str]) -> int:
    """Measure the peaks of the job in the folder and tell them through the pipe."""
    folder, pipe = Path(arguments[0]), int(arguments[1])
    os.set_inheritable(pipe, False)
    be_first_to_go()
    end_with_parent(lambda: os.kill(os.getpid(), signal.SIGKILL))
    job = msgspec.msgpack.decode((folder / "job").read_bytes(), type=PeaksJob)
    peaks = measure_rooflines(job.device, job.dtypes, job.plan, quick=True, threads=job.threads)
    with os.fdopen(pipe, "wb") as stream:
        stream.write(msgspec.msgpack.encode(peaks))
    return 0


if __name__ == "__main__":
    end_process(main(sys.argv[1:]))
