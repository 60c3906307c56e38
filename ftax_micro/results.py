"""Result files: one JSON document per run, written atomically, read strictly (design §8)."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from ftax_micro.errors import OutputError, UnreadableResultError, UsageError
from ftax_micro.facts import Environment
from ftax_micro.records import DeviceFacts, Measurement, Plan, Record

# History of the file format. A file of an older number is upgraded on read by `_UPGRADES`, one of a
# newer number is refused.
#   1  (0.1.0) launch floor: environment, devices, plan, measurements with raw samples
SCHEMA_VERSION = 1

_UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


class Result(Record, frozen=True, kw_only=True):
    """Everything one run measured, and what is needed to judge it.

    `complete` is False where the run was stopped early; `incomplete_reason` then says why. `plan`
    holds the sampling settings, `processes` how many fresh processes repeated them.
    """

    schema_version: int = SCHEMA_VERSION
    kind: Literal["launch_floor"] = "launch_floor"
    tool_version: str
    created_at: str
    plan: Plan
    environment: Environment
    devices: list[DeviceFacts]
    measurements: list[Measurement]
    processes: int = 1
    complete: bool = True
    incomplete_reason: str | None = None


def encode_result(result: Result) -> bytes:
    """`result` as indented UTF-8 JSON. Errors: `OutputError` for a value JSON cannot hold."""
    try:
        return msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n"
    except (ValueError, TypeError) as error:  # NaN would otherwise become null in silence
        raise OutputError(f"the result cannot be written as JSON: {error}") from error


def decode_result(data: bytes, source: str = "result") -> Result:
    """The result in `data`, upgraded to today's schema.

    Errors: `UnreadableResultError` naming `source` and the field, for what is not JSON, truncated,
    of a newer schema, of wrong types, with unknown or missing fields.
    """
    try:
        raw = msgspec.json.decode(data)
        return msgspec.convert(_upgraded(raw), Result, strict=True)
    except msgspec.ValidationError as error:
        raise UnreadableResultError(f"{source}: not a valid result: {error}") from error
    except msgspec.DecodeError as error:
        what = "is empty" if not data.strip() else f"is not complete JSON: {error}"
        raise UnreadableResultError(f"{source}: {what}") from error
    except RecursionError as error:
        raise UnreadableResultError(f"{source}: nested too deeply to be a result") from error


def _upgraded(raw: Any) -> Any:
    if not isinstance(raw, dict) or "schema_version" not in raw:
        raise msgspec.ValidationError("no field `schema_version`: not a result of ftax_micro")
    version = raw["schema_version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise msgspec.ValidationError(f"{version!r} is no schema version - at `$.schema_version`")
    if version > SCHEMA_VERSION:
        raise msgspec.ValidationError(
            f"schema version {version} is newer than this program's {SCHEMA_VERSION}: "
            "upgrade ftax-micro - at `$.schema_version`"
        )
    while version < SCHEMA_VERSION:
        raw = _UPGRADES[version](raw)
        version = raw["schema_version"]
    return raw


def load_result(path: str | os.PathLike[str]) -> Result:
    """The result saved at `path`.

    Errors: `UnreadableResultError` naming the file, and the field where one is wrong.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableResultError(f"{path}: {error.strerror or error}") from error
    return decode_result(data, source=str(path))


def check_output(path: Path, *, force: bool) -> None:
    """Make sure, before anything is measured, that `path` can be written at the end.

    Errors: `UsageError` for an existing file without `force` or a folder; `OutputError` for a
    missing or read-only folder.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    if path.exists() and not force:
        raise UsageError(f"{path} exists already; --force replaces it")
    if path.exists() and not path.is_file():
        return  # a device or pipe: only writing tells
    with _os_errors_as_output_errors(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        Path(name).unlink()
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"cannot write {path}: it is read-only")


def save_result(result: Result, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write `result` to `path` in one step: a reader sees the old file or the whole new one.

    Errors: `UsageError` where `path` exists and `force` is not given; `OutputError` where it cannot
    be written (the folder, a full disk); then no partial file is left.
    """
    target = Path(path)
    data = encode_result(result)
    if target.exists() and not force:
        raise UsageError(f"{target} exists already; --force replaces it")
    with _os_errors_as_output_errors(target):
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                stream.write(data)
            return
        _write_atomically(target, data)


def _write_atomically(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # mkstemp makes private files; a result is like any output
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


@contextlib.contextmanager
def _os_errors_as_output_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
