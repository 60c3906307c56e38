"""What all commands share: argument types, messages, exit codes, closed pipes.

Imported by ``--help``, so it imports nothing that costs time.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from ftax_micro.errors import FtaxError
from ftax_micro.units import parse_seconds


def message(text: str) -> None:
    """A line for the user on stderr; stdout belongs to the result."""
    sys.stderr.write(f"{text}\n")


def write_output(text: str) -> None:
    """The command's result on stdout."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def run(command: Callable[[Sequence[str] | None], int], argv: Sequence[str] | None = None) -> int:
    """Run `command`, turning every expected error into one line and its exit code."""
    try:
        code = command(argv)
        sys.stdout.flush()
        return code
    except FtaxError as error:
        message(f"ftax-micro: error: {error}")
        return error.exit_code
    except BrokenPipeError:  # the reader (head, less) has gone; that is not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        message("ftax-micro: interrupted")
        return 130


def positive_int(text: str) -> int:
    """An argparse type: a whole number above 0."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def duration(text: str) -> float:
    """An argparse type: seconds, as ``0.5``, ``200ms`` or ``1s``."""
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 0.5, 200ms or 1s") from error


def confidence(text: str) -> float:
    """An argparse type: a probability as 0.95 or 95 (per cent), from 0.5 up to below 1."""
    try:
        value = float(text.rstrip("%"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no confidence; write 0.95 or 95%") from error
    value = value / 100 if value > 1 else value
    if not 0.5 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0.5 and 1")
    return value


def names(text: str) -> list[str]:
    """An argparse type: a list separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name")
    return parts
