"""Exporters kept silent: warnings, logging and prints alike, but only those of this thread."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Nothing that this thread warns of, logs or prints inside reaches anybody.

    Exporters tell of each shape that they hold constant and print the graphs they could not take.
    Their loggers have handlers of their own, so that only logging as a whole can be silenced.
    """
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(_Muted(sys.stdout)),
            contextlib.redirect_stderr(_Muted(sys.stderr)),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


class _Muted:
    """A stream that drops what one thread writes: a progress display in another one goes on."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._thread = stream, threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._thread:
            return len(text)
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
