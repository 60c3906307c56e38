"""Reading facts that may not be there: the value, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


class Unreadable(Exception):
    """Raised by a reading function; its text is the reason a reader of the record will see."""


class FactReader:
    """Calls reading functions for one record and keeps, in `unknown`, why some gave nothing."""

    def __init__(self) -> None:
        self.unknown: dict[str, str] = {}

    def __call__(self, field: str, read: Callable[[], T]) -> T | None:
        """The value of `read()`; None, with the reason kept under `field`, if it raises.

        A None that `read` returns itself means that the fact does not apply, and needs no reason.
        """
        try:
            return read()
        except Exception as error:  # a fact that cannot be read must never cost a measurement
            self.unknown[field] = reason_of(error)
            return None


def reason_of(error: BaseException) -> str:
    """One line that says why, fit for a record."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    if isinstance(error, Unreadable) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def read_text(path: Path) -> str:
    """A small file's text without surrounding space; `Unreadable` if there is nothing in it."""
    text = path.read_text(encoding="utf-8", errors="replace").strip("\x00 \t\r\n")
    if not text:
        raise Unreadable(f"{path}: empty")
    return text


def parse_cpu_list(text: str) -> list[int]:
    """CPU numbers of the kernel's list format (``0-3,8,10-11``), ascending.

    Raises ValueError on anything else. An empty text is an empty list.
    """
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return sorted(cpus)
