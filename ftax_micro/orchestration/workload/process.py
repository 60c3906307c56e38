"""A workload measured in processes of its own, from the side of who waits.

One process for each mode by itself, then one for all of them by turns. Whatever becomes of it,
every mode gets a case: the mode at which a process dies, or does not answer, is failed, and the
others go on in another process from the blocks they had.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ftax_micro.orchestration.child_process import Child, running_child, why_it_ended
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.orchestration.workload.checks import nothing_to_compare_with
from ftax_micro.orchestration.workload.job import (
    Absent,
    MessageReader,
    Part,
    Stands,
    WorkloadJob,
    write_job,
)
from ftax_micro.orchestration.workload.journal import Journal
from ftax_micro.orchestration.workload.memory import memory_kills
from ftax_micro.orchestration.workload.request import REFERENCE, WorkloadRequest

# The longest compilation seen took 206 s on two busy cores.
PREPARE_S = 900.0
# How far past a mode's timeout its worker may go on in silence: a block, garbage, a busy machine.
_PATIENCE_S = 60.0
# Forwards between two messages: a warm-up, or a block of slow ones, with room for a cold start.
_FORWARDS_IN_SILENCE = 30
_GRACE_S = 10.0
# For one that hangs to write its stacks.
_LAST_WORDS_S = 0.5
# A process can be gone while a helper of it still holds the pipe open.
_LOOK_S = 1.0
_CHILD = ("-m", "ftax_micro.orchestration.workload.child")
_STEPS = {
    "build": "building the model",
    "prepare": "making it ready",
    "check": "comparing it with eager",
    "time": "timing it",
    "count": "counting its operations",
    "load": "reading the GPU's counters",
    "trace": "tracing it",
    "facts": "counting",
}


@dataclass(frozen=True)
class WorkloadProcess:
    """How workloads are measured elsewhere.

    `prepare_s` is the longest that building a model, or making a mode ready, may take. What the
    processes write to stderr is added to the file `log`, where there is one. `traces`: a GPU's
    operations are traced in a quick run too. `traces_s` is how long tracing all modes of a workload
    may take (None: as long as each of them answers); those whose turn comes later are not traced.
    `command`, which is followed by the child's arguments, stands for the child in tests.
    """

    prepare_s: float = PREPARE_S
    interrupts: Interrupts | None = None
    log: Path | None = None
    traces: bool = False
    traces_s: float | None = None
    command: Sequence[str] = ()
    patience_s: float = _PATIENCE_S
    grace_s: float = _GRACE_S

    def measure(self, journal: Journal) -> None:
        """Measure until no mode of `journal` is undone.

        Errors: `Interrupted`; the process is gone by then, and the journal has what it told.
        """
        if not journal.plan.quick:
            for mode in journal.undone():
                self._alone(journal, mode)
        while journal.undone():
            self._by_turns(journal)
        quick = journal.plan.quick and not self.traces
        if journal.request.device != "cpu" and not quick:
            self._trace(journal)

    def _alone(self, journal: Journal, mode: str) -> None:
        worker = _Worker(self, journal, [mode], "solo")
        reason = worker.run()
        if reason is not None and not journal.was_alone(mode):
            journal.fail(mode, reason)
        journal.not_counted(mode, reason or "its process did not tell")

    def _trace(self, journal: Journal) -> None:
        """A process for each mode, after all that is timed: a tracer stays attached."""
        end_s = math.inf if self.traces_s is None else time.monotonic() + self.traces_s
        for mode in journal.timed():
            if time.monotonic() >= end_s:
                journal.not_traced(mode, f"the {self.traces_s:g} s for tracing were over")
                continue
            reason = _Worker(self, journal, [mode], "device", end_s).run()
            journal.not_traced(mode, reason or "its process did not tell")

    def _by_turns(self, journal: Journal) -> None:
        """One process for all that is undone. Afterwards there is less of it."""
        modes = journal.undone()
        worker = _Worker(self, journal, modes, "timing")
        reason = worker.run() or "its process ended before it had a result"
        undone, stands = journal.undone(), worker.stands
        for mode in modes:
            journal.not_counted(mode, reason)
        if not undone:
            return
        at = stands.mode if stands else None
        if at == REFERENCE and stands and stands.phase != "time":
            journal.fail(REFERENCE, reason)
            for mode in undone:
                skip = str(nothing_to_compare_with(reason))
                journal.hear(Absent(mode=mode, status="skipped", reason=skip))
        elif at in undone:
            journal.fail(at, reason)
        else:  # it would not get any further another time
            for mode in undone:
                journal.fail(mode, reason)


class _Worker:
    """One process of a workload; `stands` is what it said last that it would do.

    It is ended at `end_s` of the monotonic clock, whatever it says.
    """

    def __init__(
        self,
        how: WorkloadProcess,
        journal: Journal,
        modes: Sequence[str],
        part: Part,
        end_s: float = math.inf,
    ) -> None:
        self._how, self._journal, self._end_s = how, journal, end_s
        self._job = _job(journal, list(modes), part)
        self._reader = MessageReader()
        self.stands: Stands | None = None

    def run(self) -> str | None:
        """Run it until it ends or is ended; why it ended early, None where it did not."""
        how = self._how
        if how.interrupts and how.interrupts.pending:
            raise how.interrupts.pending
        command = how.command or (sys.executable or "python3", *_CHILD)
        kills = memory_kills()
        with contextlib.ExitStack() as stack:
            try:
                child = stack.enter_context(
                    running_child(command, lambda at: write_job(at, self._job), how.grace_s)
                )
            except OSError as error:
                return f"its process could not be started: {error}"
            stack.callback(_append, child.messages, how.log)
            ending = self._listen(child)
            if ending is not None:
                return f"{ending} while {self._step()}"
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(how.grace_s)
            if child.process.returncode == 0:
                return None
            why = why_it_ended(child, self.stands.said if self.stands else 0)
        if "SIGKILL" in why and _grew(kills, memory_kills()):
            why += ", and the kernel ended a process for want of memory meanwhile: out of memory"
        return f"{why} while {self._step()}"

    def _step(self) -> str:
        return _STEPS[self.stands.phase] if self.stands else "it started"

    def _listen(self, child: Child) -> str | None:
        """Hear the child until it closes its end of the pipe. Why that is not waited for."""
        heard_s = time.monotonic()
        interrupts = self._how.interrupts
        while True:
            with interrupts.raised() if interrupts else contextlib.nullcontext():
                ready, _, _ = select.select([child.pipe], [], [], self._look_s())
            if ready:
                data = os.read(child.pipe, 1 << 16)
                if not data:
                    return None
                heard_s = time.monotonic()
                try:
                    self._hear(data)
                except msgspec.MsgspecError as error:
                    return f"its process told what is no result ({error})"
            elif child.process.poll() is not None:
                return None
            if time.monotonic() >= self._end_s:
                return "its time was over"
            if not ready and time.monotonic() - heard_s > self._limit_s():
                child.process.send_signal(signal.SIGUSR1)  # the real child writes where it is
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.process.wait(_LAST_WORDS_S)
                return f"its process did not answer for {self._limit_s():g} s"

    def _look_s(self) -> float:
        left_s = max(0.0, self._end_s - time.monotonic())
        return min(_LOOK_S, self._limit_s() / 2, left_s)

    def _hear(self, data: bytes) -> None:
        for message in self._reader.feed(data):
            if isinstance(message, Stands):
                self.stands = message
            self._journal.hear(message)

    def _limit_s(self) -> float:
        """How long the child may be silent at what it does now."""
        how = self._how
        if self.stands is None or self.stands.phase != "time":
            return how.prepare_s
        slow_s = _FORWARDS_IN_SILENCE * self.stands.forward_s
        return self._journal.plan.timeout_s + how.patience_s + slow_s


def _job(journal: Journal, modes: list[str], part: Part) -> WorkloadJob:
    asked: WorkloadRequest = journal.request
    shape = asked.shape
    known = journal.blocks() if part == "timing" else {}
    return WorkloadJob(
        model=asked.model.text,
        batch=shape.batch,
        sequence=shape.sequence,
        image=shape.image,
        audio=shape.audio,
        dtype=asked.dtype,
        device=asked.device,
        threads=asked.threads,
        lengths=asked.lengths,
        twin=asked.twin,
        modes=modes,
        plan=journal.plan,
        part=part,
        known=known,
        count=journal.plan.quick or part == "solo",
        paths=[path for path in sys.path if path],
    )


def _grew(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before


def _append(messages: Path, log: Path | None) -> None:
    """What was said to stderr, for whoever wants all of it."""
    if log is not None:
        with contextlib.suppress(OSError), messages.open("rb") as said, log.open("ab") as kept:
            shutil.copyfileobj(said, kept)
