"""The process that measures points for another: ``python -m …point_child FOLDER PIPE``.

It ends when the one who waits for it does, whatever ends that: its stdin is a pipe that nobody
writes to, and that closes when the other end goes.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ftax_micro.devices import load_device, open_device
from ftax_micro.devices.contract import TRACER, Device
from ftax_micro.devices.tracing import Tracer
from ftax_micro.errors import FtaxError, Interrupted, Skip
from ftax_micro.orchestration.child_process import end_with_parent
from ftax_micro.orchestration.interrupts import Interrupts, catch_signals
from ftax_micro.orchestration.point.job import (
    BEGINS,
    ENDS,
    LOADED,
    PointJob,
    PointName,
    read_job,
    write_point,
)
from ftax_micro.orchestration.point.measure import measure_point, reason_of
from ftax_micro.profilers import TRACERS
from ftax_micro.records import Measurement, Status

# Why a point has no value: a row that could not run, or that went wrong, and the reason.
_Absence = tuple[Status, str]


# What opens the device that a job names; what imports what a job needs, without touching a device.
Opener = Callable[[str, Tracer | None], Device]
Loader = Callable[[PointJob], None]


class _Child:
    def __init__(
        self, job: PointJob, folder: Path, pipe: int, interrupts: Interrupts, opener: Opener
    ) -> None:
        self._job, self._folder, self._pipe = job, folder, pipe
        self._interrupts, self._opener = interrupts, opener

    def run(self) -> None:
        """Measure every point; whatever cannot be is a record with its reason."""
        job = self._job
        untraced = job.tracer and [p.name for p in job.points if p.setting.get(TRACER) is None]
        if untraced:
            raise ValueError(f"{untraced[0]} must not be measured in a process that is traced")
        tracer: Tracer | None = None
        try:
            if job.tracer is not None:
                tracer = TRACERS.open(job.tracer).start()  # before anything calls the driver
            device = self._opener(job.device, tracer)
        except Exception as error:
            status: Status = "skipped" if isinstance(error, Skip) else "failed"
            self._all_absent((status, reason_of(error)))
            return
        try:
            for index, point in enumerate(job.points):
                self._measure(index, point, device)
        finally:
            self._close(device, tracer)

    def _measure(self, index: int, point: PointName, device: Device) -> None:
        os.write(self._pipe, BEGINS)
        job = self._job
        row = next((row for row in device.rows() if row.name == point.name), None)
        if row is None:
            self._leave(index, self._absent(point, ("failed", f"{job.device} has no such row")))
            return
        where = (device, row, point.setting)
        measurement = measure_point(where, job.plan, job.process, self._interrupts)
        facts = {**measurement.facts, "own_process": point.why or True}
        self._leave(index, msgspec.structs.replace(measurement, facts=facts))

    def _all_absent(self, absence: _Absence) -> None:
        for index, point in enumerate(self._job.points):
            os.write(self._pipe, BEGINS)
            self._leave(index, self._absent(point, absence))

    def _absent(self, point: PointName, absence: _Absence) -> Measurement:
        status, reason = absence
        return Measurement(
            device=self._job.device,
            name=point.name,
            setting=point.setting,
            process=self._job.process,
            status=status,
            reason=reason,
        )

    def _leave(self, index: int, measurement: Measurement) -> None:
        write_point(self._folder, index, measurement)
        os.write(self._pipe, ENDS)

    def _close(self, device: Device, tracer: Tracer | None) -> None:
        """What was measured is delivered by now; that something cannot be given back ends with the
        process.
        """
        for close in (device.close, *([tracer.stop] if tracer else [])):
            with contextlib.suppress(FtaxError):
                close()


def main(
    arguments: Sequence[str],
    opener: Opener | None = None,
    loader: Loader | None = None,
) -> int:
    """Measure the job in the folder; the exit code says whether all points were reached.

    `opener` opens the job's device, by default `open_device`. `loader` is called first where the
    job waits; by default it imports what that device needs.
    """
    folder, pipe = Path(arguments[0]), int(arguments[1])
    os.set_inheritable(pipe, False)  # or a helper of the driver would hold it open
    told = end_with_parent(lambda: os._exit(1))
    with catch_signals() as interrupts:
        try:
            job = read_job(folder)
            if job.waits:
                _wait(job, pipe, loader or _load, interrupts, told)
            _Child(job, folder, pipe, interrupts, opener or open_device).run()
        except Interrupted as error:
            return error.exit_code
        if interrupts.pending:
            return interrupts.pending.exit_code
    return 0


def _load(job: PointJob) -> None:
    load_device(job.device)


def _wait(
    job: PointJob,
    pipe: int,
    loader: Loader,
    interrupts: Interrupts,
    told: threading.Event,
) -> None:
    """Import what `job` needs, and wait for the word. Errors: `Interrupted`."""
    with contextlib.suppress(Exception):  # the point that needs it tells
        loader(job)
    os.write(pipe, LOADED)
    with interrupts.raised():
        told.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
