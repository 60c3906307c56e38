"""Compilers talk while they work: warnings and torch's own log, kept from the user."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator

_LOG = logging.getLogger("ftax_micro.frameworks")


class _Aside(logging.Filter):
    """Takes what a handler would write and keeps it, in our log and in `messages`."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__()
        self.messages = messages
        self._last: logging.LogRecord | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        if not _torch(record.name):  # a handler may be others' too, ours among them
            return True
        if record is not self._last:  # every handler on its way up asks
            self._last = record
            self.messages.append(record.getMessage())
            _LOG.info("%s: %s", record.name, self.messages[-1])
        return False


@contextlib.contextmanager
def quiet() -> Iterator[list[str]]:
    """No warning is shown inside, and torch's log goes into ours; the list holds its messages."""
    messages: list[str] = []
    aside = _Aside(messages)
    handlers = {
        handler for name in _torch_loggers() for handler in logging.getLogger(name).handlers
    }
    for handler in handlers:
        handler.addFilter(aside)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield messages
    finally:
        for handler in handlers:
            handler.removeFilter(aside)


def _torch_loggers() -> list[str]:
    known = list(logging.root.manager.loggerDict)
    return [name for name in known if _torch(name)]


def _torch(name: str) -> bool:
    return name == "torch" or name.startswith("torch.")
