"""A process that measures for this one: started, ended, and asked why it ended.

It gets a folder, which holds its job, and a pipe to tell by. Its stdin carries nothing, but for the
word to begin (`Child.go`), and closes when this process goes, whatever ends that: it goes too
(`end_with_parent`). It has a session of its own: Ctrl-C
is for this process, which decides what becomes of the other, and all that it started goes with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_LONGEST = 300


@dataclass(frozen=True)
class Child:
    """A running child; `pipe` is this process's end of what it tells by."""

    process: subprocess.Popen[bytes]
    pipe: int
    folder: Path

    @property
    def messages(self) -> Path:
        """What it writes to stderr."""
        return self.folder / "stderr"

    def go(self) -> None:
        """Tell it to begin. One that is gone hears nothing: its pipe says so."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                os.write(self.process.stdin.fileno(), b"g")

    def end(self, grace_s: float) -> None:
        """Make sure that it and what it started are gone, or at least told to go: in a driver call
        it may stay long.
        """
        if self.process.poll() is None:  # else its number may be another's by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(grace_s)
        if self.process.stdin is not None:
            self.process.stdin.close()


@contextlib.contextmanager
def running_child(
    command: Sequence[str], put_job: Callable[[Path], None], grace_s: float
) -> Iterator[Child]:
    """`command`, followed by the folder that `put_job` filled and the number of the pipe.

    In the end it is gone, and nothing is left open or lying about. Errors: `OSError` where it
    cannot be started.
    """
    place = tempfile.TemporaryDirectory(prefix="ftax-micro-", ignore_cleanup_errors=True)
    with place as name, contextlib.ExitStack() as closing:
        folder = Path(name)
        put_job(folder)
        reading, writing = os.pipe()
        closing.callback(os.close, reading)
        try:
            with (folder / "stderr").open("wb") as messages:
                process = subprocess.Popen(
                    [*command, name, str(writing)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=messages,
                    pass_fds=(writing,),
                    start_new_session=True,
                )
        finally:
            os.close(writing)
        child = Child(process, reading, folder)
        closing.callback(child.end, grace_s)
        yield child


def why_it_ended(child: Child, since: int = 0) -> str:
    """In words: its signal, or its exit code with the last line that it wrote to stderr from byte
    `since` on.
    """
    code = child.process.poll()
    if code is None:
        return "its process did not end"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"its process was killed by signal {-code} ({signal.Signals(-code).name})"
        return f"its process was killed by signal {-code}"
    last = last_line(child.messages, since) or "it said nothing"
    return f"its process ended with {code} before it had a result: {last}"


def last_line(messages: Path, since: int = 0) -> str | None:
    """The last line of the file that says something, from byte `since` on."""
    with messages.open("rb") as stream:
        stream.seek(since)
        lines = stream.read().decode(errors="replace").split("\n")
    found = next((line.strip() for line in reversed(lines) if any(map(str.isalnum, line))), None)
    return found if found is None or len(found) <= _LONGEST else f"{found[: _LONGEST - 1]}…"


def end_with_parent(leave: Callable[[], None]) -> threading.Event:
    """Call `leave`, in a thread of its own, when stdin ends, as it does with the parent.

    The event is set once the parent has said `Child.go`.
    """
    told = threading.Event()

    def watch() -> None:
        while os.read(0, 1):
            told.set()
        leave()

    threading.Thread(target=watch, daemon=True).start()
    return told
