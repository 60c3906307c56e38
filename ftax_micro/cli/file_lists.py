"""More files than a command line holds: folders, patterns and lists, as names of files."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ftax_micro.errors import UsageError

# A name that begins so is that of a list, one file a line; alone with a dash, stdin is the list.
LIST = "@"


def listed_files(names: Sequence[Path]) -> list[Path]:
    """The files that `names` stand for, in their order: of a folder every ``*.json`` in it and in
    its folders, but for hidden ones; of a pattern what matches; of ``@FILE`` what FILE lists. What
    is there under its own name is that.

    Errors: `UsageError` for one that stands for nothing, or a list that cannot be read.
    """
    return [path for name in names for path in _listed(name)]


def _listed(name: Path) -> list[Path]:
    text = str(name)
    if name.is_dir():
        found = sorted(_in_folder(name))
        if not found:
            raise UsageError(f"{name} has no *.json in it")
        return found
    if os.path.lexists(name):
        return [name]
    if text.startswith(LIST):
        return [path for each in _lines(text[len(LIST) :]) for path in _listed(Path(each))]
    if glob.has_magic(text):
        found = [Path(each) for each in sorted(glob.glob(text, recursive=True))]  # noqa: PTH207
        if not found:
            raise UsageError(f"no file matches {text}")
        return found
    return [name]


def _in_folder(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for name in files:
            path = Path(place, name)
            # A pipe would be waited for; a link to nowhere is an error to tell.
            if name.endswith(".json") and name[0] != "." and (path.is_file() or not path.exists()):
                yield path


def _lines(name: str) -> list[str]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"{LIST}{name}: the list cannot be read: {reason}") from error
    found = [line.strip() for line in text.splitlines() if line.strip()]
    nested = next((line for line in found if line.startswith(LIST)), None)
    if nested is not None:
        raise UsageError(f"{LIST}{name}: a list names files, not other lists: {nested}")
    if not found:
        raise UsageError(f"{LIST}{name}: the list is empty")
    return found
