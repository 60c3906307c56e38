"""The file that a run writes as it goes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ftax_micro.atomic_files import held_alone
from ftax_micro.errors import FtaxError, OutputError, UsageError
from ftax_micro.results import Result, save_result

if TYPE_CHECKING:
    from typing_extensions import Self

# A result of hundreds of cases takes seconds to write: a small share of the time between two.
_EVERY_S = 10.0
_SHARE = 20.0


class GrowingFile:
    """`path`, rewritten now and then while a run goes on; one run at a time.

    A file that is there is left as it is until there is something to write; one that is not is
    made at once, so that a second run finds it. Of pipes and devices nothing is made here.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock_path = path.parent / f".{path.name}.lock"
        self._lock: int | None = None
        self._next_s = 0.0

    def __enter__(self) -> Self:
        """Errors: `UsageError` where another run writes to the file."""
        if self._path.is_file() or not self._path.exists():
            self._lock = _locked(self._lock_path, self._path)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._lock_path.unlink()
            os.close(self._lock)

    def claim(self, result: Result, *, replaces: bool = True) -> None:
        """Make the file where it is not there; with `replaces` false, it must not be there.

        Errors: `OutputError`, `UsageError`.
        """
        if not (replaces and self._path.exists()):
            save_result(result, self._path)

    def offer(self, result: Callable[[], Result]) -> None:
        """Write `result()` if it is time to. Where that fails, the run goes on: the end will tell,
        and the result can be kept elsewhere then.
        """
        begin_s = time.monotonic()
        if begin_s < self._next_s or not self._path.is_file():
            return
        with contextlib.suppress(FtaxError):
            save_result(result(), self._path, force=True)
        took_s = time.monotonic() - begin_s
        self._next_s = begin_s + max(_EVERY_S, _SHARE * took_s)


def _locked(lock_path: Path, path: Path) -> int:
    """A lock that ends with this process. Errors: `OutputError`, `UsageError`."""
    try:
        handle = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutputError(f"cannot write beside {path}: {error.strerror}") from error
    if not held_alone(handle):
        os.close(handle)
        raise UsageError(f"another run writes to {path}")
    return handle
