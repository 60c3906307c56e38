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
    """Calls `on_hang(what)`, in a thread of its own, where a guarded step takes over `limit_s`."""

    def __init__(self, on_hang: Callable[[str], None], limit_s: float) -> None:
        self._on_hang = on_hang
        self.limit_s = limit_s

    @contextlib.contextmanager
    def guard(self, what: str) -> Iterator[None]:
        """Watch over the body, called `what` when it hangs."""
        timer = threading.Timer(self.limit_s, self._on_hang, args=(what,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
