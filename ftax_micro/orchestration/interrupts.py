"""Ctrl-C and SIGTERM: stop measuring, keep what was measured.

The first signal raises `Interrupted` in the main thread, wherever it is between two samples. While
a result is being written, and after the first one, signals only count; the third leaves at once,
for the user who means it.
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


class Interrupts:
    """Whether the user asked to stop: `pending` is the error to end with, None before that."""

    def __init__(self) -> None:
        self.pending: Interrupted | None = None
        self._seen = 0
        self._deferred = 0

    def handle(self, number: int, _: FrameType | None) -> None:
        """The signal handler."""
        self._seen += 1
        code = 128 + number
        if self._seen >= _IMPATIENT:
            os._exit(code)
        if self.pending is None:
            self.pending = Interrupted(signal.Signals(number).name, code)
            if not self._deferred:
                raise self.pending

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """No `Interrupted` is raised inside; `pending` still tells afterwards."""
        self._deferred += 1
        try:
            yield
        finally:
            self._deferred -= 1


@contextlib.contextmanager
def catch_signals() -> Iterator[Interrupts]:
    """Handle SIGINT and SIGTERM by an `Interrupts` for as long as the context lasts.

    Outside the main thread, where Python allows no handlers, signals keep their meaning.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    former = {number: signal.signal(number, interrupts.handle) for number in _SIGNALS}
    try:
        yield interrupts
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
