"""Points measured in a process of their own (see `point_child`), from the side of who waits.

Whatever becomes of that process, every point gets a record: one that dies, or does not answer,
costs the point at which it did, and the points after it are measured in another.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ftax_micro.errors import Interrupted
from ftax_micro.orchestration.child_process import Child, running_child, why_it_ended
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.point.job import (
    BEGINS,
    LOADED,
    PointJob,
    PointName,
    read_point,
    write_job,
)
from ftax_micro.records import Measurement

# Starting Python, a tracer's package and the driver, on a machine that is busy.
_START_S = 60.0
# How long a process may take to end after its last point, or to save one when it was told to stop.
_GRACE_S = 10.0
_CHILD = ("-m", "ftax_micro.orchestration.point.child")

# Told of every point, by its index in the job: it begins; it has a record.
Begins = Callable[[int], None]
Ends = Callable[[int, Measurement], None]
# A job, and who is told of its points.
Task = tuple[PointJob, Begins, Ends]


@dataclass(frozen=True)
class PointProcess:
    """How points are measured elsewhere.

    `limit_s` is the longest that one point may take before the device is taken for hung. `command`,
    which is followed by the child's arguments, stands for the child in tests.
    """

    limit_s: float
    interrupts: Interrupts | None = None
    command: Sequence[str] = ()
    start_s: float = _START_S
    grace_s: float = _GRACE_S

    def measure(self, job: PointJob, begins: Begins, ends: Ends) -> None:
        """Measure the points of `job`, and tell of each.

        Errors: `Interrupted`, once those points are told of that have a value; the process is gone
        by then.
        """
        self._measure((job, begins, ends), None)

    def measure_all(self, tasks: Sequence[Task]) -> None:
        """Measure one job after the other, each in a process of its own, as `measure` does.

        Those processes import what they will need beside each other, before the first of them
        measures: an import takes seconds on one core, and must not run while another is timed.
        """
        with contextlib.ExitStack() as stack:
            loading = [stack.enter_context(self._loading(job)) for job, _, _ in tasks]
            self._wait_for([each.child for each in loading if each.child])
            for task, each in zip(tasks, loading, strict=True):
                self._measure(task, each)

    @contextlib.contextmanager
    def _loading(self, job: PointJob) -> Iterator[_Loading]:
        """A child for `job` that waits to be told to begin; none where it cannot be started."""
        with contextlib.ExitStack() as closing:
            child: Child | None = None
            waits = msgspec.structs.replace(job, waits=True)
            with contextlib.suppress(OSError):  # it is tried again, and told, when it is its turn
                child = closing.enter_context(self._child(waits))
            yield _Loading(child, closing)

    def _wait_for(self, children: Sequence[Child]) -> None:
        """Until all have loaded, have gone, or have had the time to. Errors: `Interrupted`."""
        pipes = [child.pipe for child in children]
        end_s = time.monotonic() + self.start_s
        while pipes and (left_s := end_s - time.monotonic()) > 0:
            with self.interrupts.raised() if self.interrupts else contextlib.nullcontext():
                ready, _, _ = select.select(pipes, [], [], left_s)
            pipes = [pipe for pipe in pipes if pipe not in ready]

    def _child(self, job: PointJob) -> contextlib.AbstractContextManager[Child]:
        if self.interrupts and self.interrupts.pending:
            raise self.interrupts.pending
        command = self.command or (sys.executable or "python3", *_CHILD)
        return running_child(command, lambda folder: write_job(folder, job), self.grace_s)

    def _measure(self, task: Task, loading: _Loading | None) -> None:
        job, begins, ends = task
        first = 0
        while first < len(job.points):
            rest = msgspec.structs.replace(job, points=job.points[first:])
            run = _Run(rest, first, begins, ends)
            reason = self._run(run, None if first else loading)
            if not run.begun:  # it would not begin another time either
                run.fail_rest(reason)
            elif run.done < run.begun:
                run.fail(reason)
            if run.hung:
                run.fail_rest("the device did not answer in a row before this one")
            first += run.done

    def _run(self, run: _Run, loading: _Loading | None) -> str:
        """Run a child until it ends or is ended; why there are points without a record."""
        if self.interrupts and self.interrupts.pending:
            raise self.interrupts.pending
        if loading and loading.child:
            with loading.closing:
                loading.child.go()
                return self._attend(run, loading.child)
        with contextlib.ExitStack() as stack:
            try:
                child = stack.enter_context(self._child(run.job))
            except OSError as error:
                return f"its process could not be started: {error}"
            return self._attend(run, child)

    def _attend(self, run: _Run, child: Child) -> str:
        try:
            if not self._listen(run, child, self.interrupts):
                run.hung = True
                return f"its process did not answer for {self.limit_s:g} s: the device hangs"
        except Interrupted:
            child.process.terminate()
            self._listen(run, child, None, most_s=self.grace_s)
            raise
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(self.grace_s)
        return why_it_ended(child)

    def _listen(
        self,
        run: _Run,
        child: Child,
        interrupts: Interrupts | None,
        most_s: float | None = None,
    ) -> bool:
        """Follow the child until it closes its end of the pipe. False where it kept silent for
        longer than a point may take, or went on for longer than `most_s`.
        """
        silent_s = self.start_s + self.limit_s
        end_s = None if most_s is None else time.monotonic() + most_s
        while True:
            wait_s = silent_s if end_s is None else max(0.0, end_s - time.monotonic())
            # Only while nothing is in hand: an interruption must not cost a point that is done.
            with interrupts.raised() if interrupts else contextlib.nullcontext():
                ready, _, _ = select.select([child.pipe], [], [], wait_s)
            if not ready:
                return False
            word = os.read(child.pipe, 1)
            if not word:
                return True
            if word == BEGINS:
                run.begin()
            elif word != LOADED:
                run.end(child.folder)
            silent_s = self.limit_s


@dataclass(frozen=True)
class _Loading:
    """A child that imports what it needs, and what ends it."""

    child: Child | None
    closing: contextlib.ExitStack


@dataclass
class _Run:
    """One child's share of the points: from the `first` on; how many have begun and are done."""

    job: PointJob
    first: int
    begins: Begins
    ends: Ends
    begun: int = 0
    done: int = 0
    hung: bool = False

    def begin(self) -> None:
        self.begins(self.first + self.begun)
        self.begun += 1

    def end(self, folder: Path) -> None:
        try:
            measurement = read_point(folder, self.done)
        except (msgspec.MsgspecError, OSError) as error:
            self.fail(f"its process left what is no result: {error}")
            return
        if measurement is None:
            self.fail("its process left no result")
            return
        self._done(measurement)

    def fail(self, reason: str) -> None:
        self._done(_failed(self.job, self.job.points[self.done], reason))

    def fail_rest(self, reason: str) -> None:
        while self.done < len(self.job.points):
            if self.begun == self.done:
                self.begin()
            self.fail(reason)

    def _done(self, measurement: Measurement) -> None:
        self.ends(self.first + self.done, measurement)
        self.done += 1


def _failed(job: PointJob, point: PointName, reason: str) -> Measurement:
    return Measurement(
        device=job.device,
        name=point.name,
        setting=point.setting,
        process=job.process,
        status="failed",
        reason=reason,
    )
