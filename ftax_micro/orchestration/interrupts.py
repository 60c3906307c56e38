"""Ctrl-C and SIGTERM: stop measuring, keep what was measured.

A signal raises `Interrupted` only inside `Interrupts.raised`, which is where a row is sampled:
anywhere else (opening a device, between two rows, while a result is written) it would take with it
what had been measured. There signals count, and whoever is in charge asks for `pending`. The first
one ends the run, the second changes nothing, the third leaves at once, for the user who means it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from ftax_micro.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_IMPATIENT = 3
_SHOW_CURSOR = b"\x1b[?25h"


class Interrupts:
    """Whether the user asked to stop: `pending` is the error to end with, None before that."""

    def __init__(self) -> None:
        self.pending: Interrupted | None = None
        self._seen = 0
        self._raising = False

    def handle(self, number: int, _: FrameType | None) -> None:
        """The signal handler."""
        self._seen += 1
        code = 128 + number
        if self._seen >= _IMPATIENT:
            _leave(code)
        if self.pending is None:
            self.pending = Interrupted(signal.Signals(number).name, code)
            if self._raising:
                raise self.pending

    @contextlib.contextmanager
    def raised(self) -> Iterator[None]:
        """Inside, the first signal raises `Interrupted`; so does one that came before."""
        self._raising = True
        try:
            if self.pending is not None:
                raise self.pending
            yield
        finally:
            self._raising = False


def _leave(code: int) -> None:
    with contextlib.suppress(OSError):
        if os.isatty(2):  # a progress line has hidden the cursor, and will not show it again
            os.write(2, _SHOW_CURSOR)
    os._exit(code)


@contextlib.contextmanager
def catch_signals() -> Iterator[Interrupts]:
    """Handle SIGINT and SIGTERM by an `Interrupts` for as long as the context lasts.

    Outside the main thread, where Python allows no handlers, signals keep their meaning; so does
    one that was ignored when the process started (by nohup, by a shell for its background jobs),
    and one whose handler is not Python's to put back.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    caught = [n for n in _SIGNALS if signal.getsignal(n) not in (signal.SIG_IGN, None)]
    former = {number: signal.signal(number, interrupts.handle) for number in caught}
    try:
        yield interrupts
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
