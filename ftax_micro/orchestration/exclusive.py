"""One measurement at a time: two threads that measure at once would time each other."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from ftax_micro.errors import BusyError

_MEASURING = threading.Lock()


def _measure_anew_after_fork() -> None:
    """The thread that held the lock does not exist in a forked child, nor will it let go."""
    global _MEASURING
    _MEASURING = threading.Lock()


os.register_at_fork(after_in_child=_measure_anew_after_fork)


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Held while this process measures. Errors: `BusyError` where another thread holds it."""
    lock = _MEASURING  # a child forked inside has another, and this one is still ours to release
    if not lock.acquire(blocking=False):
        raise BusyError(
            "another thread of this process is measuring; two at once would time each other"
        )
    try:
        yield
    finally:
        lock.release()
