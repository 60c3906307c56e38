"""Files that appear whole, and that one alone of several writers makes, or holds."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def held_alone(handle: int) -> bool:
    """Whether nobody else holds the open file; this process then does until it is closed.

    True as well where there are no locks, on the system or in the file system.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def new_file_beside(target: Path) -> tuple[int, str]:
    """A handle of an empty file and its name, in the folder of `target`, since only within a file
    system is a file replaced in one step. Errors: `OSError`.
    """
    return tempfile.mkstemp(prefix=".ftax-micro-", dir=target.parent)


def write_atomically(target: Path, data: bytes, *, replace: bool) -> bool:
    """Whether the file `target` is now `data`, which without `replace` it is only where there was
    none. A reader sees the old file or the whole new one.

    Errors: `OSError`; then what was there is as it was, and no part of the new is left.
    """
    handle, name = new_file_beside(target)
    file = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        file.chmod(0o666 & ~umask)  # mkstemp makes private files; a result is like any output
        if not replace:
            return _linked(file, target)
        file.replace(target)
    finally:
        with contextlib.suppress(OSError):
            file.unlink()
    return True


def _linked(file: Path, target: Path) -> bool:
    """Gives `file` the name `target` too, unless another has it, which is asked and done in one.

    A server of network files may do what it is told and, its answer lost, deny it when told again;
    the number of names then knows (open(2), on O_EXCL).
    """
    try:
        os.link(file, target)
    except FileExistsError:
        return file.stat().st_nlink > 1
    except OSError:  # a file system without hard links
        return _claimed(file, target)
    return True


def _claimed(file: Path, target: Path) -> bool:
    """As `_linked`, but for a moment there is an empty file: what is there first is the owner."""
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileExistsError:
        return False
    try:
        file.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            target.unlink()
        raise
    return True
