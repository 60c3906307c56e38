"""Exported models on disk, by the hash of what they depend on.

They are in ``onnx`` in the folder that the variable ``FTAX_MICRO_CACHE`` names, by default in
``$XDG_CACHE_HOME/ftax_micro`` or ``~/.cache/ftax_micro``: a folder each. Any or all of them can be
removed at any time. Beyond `LIMIT_BYTES` those that were not used for longest are dropped.

A folder appears under its name only when it is whole, by a rename, so that processes side by side
see all of an export or nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ftax_micro.modes.onnx_export import MODEL_FILE, Exported
from ftax_micro.records import Record

_LOG = logging.getLogger("ftax_micro.modes")

LOCATION_VARIABLE = "FTAX_MICRO_CACHE"
# Some twenty models of the paper's size in each dtype; a disk's corner today.
LIMIT_BYTES = 20 * 10**9
_RECORD_FILE = "export.json"
_UNFINISHED = ".unfinished-"
# No export takes so long: whoever began it is gone.
_ABANDONED_AFTER_S = 24 * 3600.0


class _Kept(Record, frozen=True, kw_only=True):
    """What stands beside an exported model: how it was made, and a hash of each of its files."""

    exported: Exported
    files: dict[str, str]


@dataclass(frozen=True)
class Obtained:
    """An exported model in `folder`; `cached` where it had been exported before.

    `not_kept` is why it could not be kept for the next time; then `close` removes it.
    """

    folder: Path
    exported: Exported
    cached: bool = False
    not_kept: str | None = None

    @property
    def model(self) -> Path:
        """The model's own file; its weights are beside it."""
        return self.folder / MODEL_FILE

    def close(self) -> None:
        """Drop what was not kept."""
        if self.not_kept is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def cache_folder() -> Path:
    """Where exported models are kept."""
    named = os.environ.get(LOCATION_VARIABLE)
    if named:
        return Path(named).expanduser() / "onnx"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ftax_micro" / "onnx"


def find(key: str) -> Obtained | None:
    """The export kept under `key`, if all of it is there as it was written."""
    try:
        folder = cache_folder() / key
        kept = msgspec.json.decode((folder / _RECORD_FILE).read_bytes(), type=_Kept)
        if any(_digest(folder / name) != digest for name, digest in kept.files.items()):
            raise ValueError("a file is not what was written")
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, ValueError, msgspec.MsgspecError) as error:
        _LOG.info("the export %s cannot be used and is made anew: %s", key, error)
        return None
    with contextlib.suppress(OSError):
        os.utime(folder / _RECORD_FILE)
    return Obtained(folder, kept.exported, cached=True)


def make(key: str | None, export: Callable[[Path], Exported], why_not: str = "") -> Obtained:
    """Export into a new folder and keep it under `key`, or nowhere: without one (`why_not` says
    why), and where the cache cannot be written.

    Errors: whatever `export` raises; nothing is left behind then.
    """
    work, not_kept = _work_folder(key, why_not)
    try:
        exported = export(work)
        if key is not None and not_kept is None:
            try:
                return Obtained(_keep(work, key, exported), exported)
            except OSError as error:
                not_kept = _reason(error)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    _LOG.info("the exported model is not kept: %s", not_kept)
    return Obtained(work, exported, not_kept=not_kept)


def _work_folder(key: str | None, why_not: str) -> tuple[Path, str | None]:
    """A folder to export into, beside where the export is to be kept if it can be."""
    if key is not None:
        try:
            root = cache_folder()
            root.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root)), None
        except (OSError, RuntimeError) as error:  # RuntimeError: no home folder
            why_not = _reason(error)
    return Path(tempfile.mkdtemp(prefix="ftax-micro-onnx-")), why_not


def _keep(work: Path, key: str, exported: Exported) -> Path:
    """`work` under its name in the cache, or the same export if another process was first."""
    files = {path.name: _digest(path) for path in sorted(work.iterdir())}
    record = msgspec.json.encode(_Kept(exported=exported, files=files))
    (work / _RECORD_FILE).write_bytes(record)
    final = cache_folder() / key
    try:
        work.rename(final)
    except OSError:
        if find(key) is None:  # what is in the way is damaged
            _remove(final)
            work.rename(final)
        else:
            shutil.rmtree(work, ignore_errors=True)
    _drop_oldest(key)
    return final


def _drop_oldest(key: str) -> None:
    """Keep the cache within its limit; what was just used stays."""
    aged: list[tuple[float, int, Path]] = []
    now = time.time()
    for folder in cache_folder().iterdir():
        with contextlib.suppress(OSError):
            if folder.name.startswith(_UNFINISHED):
                if now - folder.stat().st_mtime > _ABANDONED_AFTER_S:
                    _remove(folder)
                continue
            size = sum(path.stat().st_size for path in folder.iterdir())
            aged.append(((folder / _RECORD_FILE).stat().st_mtime, size, folder))
    total = sum(size for _, size, _ in aged)
    for _, size, folder in sorted(aged):
        if total <= LIMIT_BYTES:
            return
        if folder.name != key:
            _remove(folder)
            total -= size


def _remove(folder: Path) -> None:
    """Out of sight in one step, then gone: nobody meets half of it."""
    with contextlib.suppress(OSError):
        aside = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder.parent))
        folder.rename(aside)
        folder = aside
    shutil.rmtree(folder, ignore_errors=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        found = hashlib.blake2b(digest_size=16)
        while block := file.read(1 << 20):
            found.update(block)
        return found.hexdigest()


def _reason(error: Exception) -> str:
    return f"the cache cannot be written: {error}"
