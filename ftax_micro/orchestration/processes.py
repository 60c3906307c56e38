"""Repeating a run in fresh processes: one process hides layout and placement (design §9)."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ftax_micro.errors import FtaxError, Interrupted
from ftax_micro.orchestration.interrupts import Interrupts
from ftax_micro.results import Result, load_result

# How long a child may take to save what it has after it was told to stop.
_GRACE_S = 30.0


class ChildError(FtaxError):
    """A child process that left no result."""


def run_in_processes(
    arguments: Sequence[str],
    processes: int,
    interrupts: Interrupts | None = None,
    on_process: Callable[[int, int], None] | None = None,
) -> Result:
    """The results of `processes` runs of ``launch_floor`` with `arguments`, one after the other,
    joined.

    `on_process(index, total)` is called before each. Errors: `ChildError` where the first child
    leaves no result; a later one that does ends the series and marks the result incomplete.
    """
    joined: Result | None = None
    with tempfile.TemporaryDirectory(prefix="ftax-micro-") as folder:
        for index in range(processes):
            if on_process:
                on_process(index, processes)
            target = Path(folder) / f"{index}.json"
            try:
                code, message = _run_child([*arguments, "-o", str(target)])
            except Interrupted:
                code, message = 130, ""
            part, reason = _load(target, code, message)
            joined = _joined(joined, part, index, reason)
            if interrupts and interrupts.pending:
                joined = _incomplete(joined, str(interrupts.pending))
                break
            if part is None:
                break
    if joined is None:
        raise ChildError("no process left a result")
    return joined


def _run_child(arguments: Sequence[str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "ftax_micro.launch_floor", *arguments]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, message = child.communicate()
    except Interrupted:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE_S)
        raise
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    return child.returncode, message.strip()


def _load(target: Path, code: int, message: str) -> tuple[Result | None, str | None]:
    if not target.exists():
        last = message.splitlines()[-1] if message else "no message"
        return None, f"a process ended with exit code {code} and left no result: {last}"
    return load_result(target), None


def _joined(joined: Result | None, part: Result | None, index: int, reason: str | None) -> Result:
    if part is None:
        if joined is None:
            raise ChildError(reason or "a process left no result")
        return _incomplete(joined, reason or "a process left no result")
    renumbered = [msgspec.structs.replace(m, process=index) for m in part.measurements]
    if joined is None:
        return msgspec.structs.replace(part, measurements=renumbered, processes=1)
    together = msgspec.structs.replace(
        joined, measurements=[*joined.measurements, *renumbered], processes=index + 1
    )
    return together if part.complete else _incomplete(together, str(part.incomplete_reason))


def _incomplete(result: Result, reason: str) -> Result:
    return msgspec.structs.replace(result, complete=False, incomplete_reason=reason)
