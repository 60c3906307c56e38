"""Repeating a run in fresh processes: one process hides layout and placement."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ftax_micro.environment.ranks import without_ranks
from ftax_micro.errors import ERROR_PREFIX, FtaxError, Interrupted
from ftax_micro.file_names import literal
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.results import Result, load_result

# How long a child may take to save what it has after it was told to stop.
_GRACE_S = 30.0
_WITH_PARENT = "ftax_micro.orchestration.with_parent"


class ChildError(FtaxError):
    """A child process that left no result; ends with the child's own exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run_in_processes(
    arguments: Sequence[str],
    processes: int,
    interrupts: Interrupts | None = None,
    on_process: Callable[[int, int], None] | None = None,
) -> Result:
    """The results of `processes` runs of ``launch_floor`` with `arguments`, one after the other,
    joined.

    `on_process(index, total)` is called before each. Errors: `ChildError` where the first child
    leaves no result, `Interrupted` where it is stopped before it has one; a later child that leaves
    none, or not all, ends the series, and the result says why it is incomplete.
    """
    joined: Result | None = None
    with tempfile.TemporaryDirectory(prefix="ftax-micro-") as folder:
        for index in range(processes):
            if on_process:
                on_process(index, processes)
            target = Path(folder) / f"{index}.json"
            try:
                part = _child_result([*arguments, "-o", literal(target)], target, interrupts)
            except (ChildError, Interrupted) as error:
                if joined is None:
                    raise
                return _incomplete(joined, str(error))
            joined = _joined(joined, part, index)
            if not part.complete:
                # The child says SIGTERM, which is how it was told; the user may have said SIGINT.
                told = interrupts.pending if interrupts else None
                return _incomplete(joined, str(told or part.incomplete_reason))
    if joined is None:
        raise ValueError("at least one process")
    return joined


def _child_result(arguments: Sequence[str], target: Path, interrupts: Interrupts | None) -> Result:
    if interrupts and interrupts.pending:
        raise interrupts.pending
    code, messages = _run_child(arguments, interrupts)
    if target.exists():
        return load_result(target)
    if interrupts and interrupts.pending:
        raise interrupts.pending
    if code < 0:
        raise ChildError(f"a process was killed by signal {-code} and left no result", 1)
    last = messages.splitlines()[-1] if messages else f"a process ended with {code}, no result"
    raise ChildError(last.removeprefix(ERROR_PREFIX), code or 1)


def _run_child(arguments: Sequence[str], interrupts: Interrupts | None) -> tuple[int, str]:
    """Exit code and stderr of one child, told to save what it has where a signal comes.

    It has a session of its own: the terminal's Ctrl-C reaches this process alone, which passes it
    on once, so that an impatient user's second one does not end the child while it saves.
    """
    command = [sys.executable, "-m", _WITH_PARENT, "launch_floor", *arguments]
    reading, writing = os.pipe()  # ends with this process, and the child with it
    try:
        child = subprocess.Popen(
            command,
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            env=without_ranks(os.environ),  # whichever rank this is, its children measure
        )
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    messages = ""
    try:
        with interrupts.raised() if interrupts else contextlib.nullcontext():
            _, messages = child.communicate()
    except Interrupted:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            _, messages = child.communicate(timeout=_GRACE_S)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        os.close(writing)
    return child.returncode, messages.strip()


def _joined(joined: Result | None, part: Result, index: int) -> Result:
    renumbered = [msgspec.structs.replace(m, process=index) for m in part.measurements]
    if joined is None:
        return msgspec.structs.replace(part, measurements=renumbered, processes=1)
    return msgspec.structs.replace(
        joined, measurements=[*joined.measurements, *renumbered], processes=index + 1
    )


def _incomplete(result: Result, reason: str) -> Result:
    return msgspec.structs.replace(result, complete=False, incomplete_reason=reason)
