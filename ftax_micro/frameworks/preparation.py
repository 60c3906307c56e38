"""Turning whatever tracers, exporters and compilers raise into one line and a log."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from ftax_micro.errors import FtaxError

_LOG = logging.getLogger("ftax_micro.frameworks")
_LONGEST = 300


class PreparationError(FtaxError):
    """Something could not be made ready to run; one line, the rest is in the log."""


@contextlib.contextmanager
def preparing(step: str) -> Iterator[None]:
    """Any exception inside as a `PreparationError` that names `step`.

    Its first useful line goes into the message, all of it into the log ``ftax_micro.frameworks``.
    """
    try:
        yield
    except FtaxError:
        raise
    except Exception as error:
        _LOG.info("%s failed", step, exc_info=True)
        raise PreparationError(f"{step} failed: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """The first line of `error` that says something, at most 300 characters."""
    lines = (line.strip() for line in str(error).splitlines())
    line = next((each for each in lines if any(map(str.isalnum, each))), "no message")
    text = f"{type(error).__name__}: {line}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
