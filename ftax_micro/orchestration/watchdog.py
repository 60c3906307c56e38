"""A watchdog for devices that never answer.

A kernel that does not end blocks the driver call that waits for it, and no signal gets through. The
watchdog is a thread of its own (timed loops release the GIL), so it can still save what was
measured and end the process without waiting for the context.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


class Watchdog:
    """Calls `on_hang(what)` once where a guarded step takes longer than its limit."""

    def __init__(self, on_hang: Callable[[str], None]) -> None:
        self._on_hang = on_hang

    @contextlib.contextmanager
    def guard(self, what: str, limit_s: float) -> Iterator[None]:
        """Watch over the body, called `what` in the message, for `limit_s` seconds."""
        timer = threading.Timer(limit_s, self._on_hang, args=(what,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
