"""Result files: one JSON document per run, written atomically, read strictly."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from ftax_micro.atomic_files import new_file_beside, write_atomically
from ftax_micro.errors import OutputError, UnreadableResultError, UsageError
from ftax_micro.facts import Environment
from ftax_micro.records import (
    POLLING,
    WORKER,
    Case,
    DeviceFacts,
    Measurement,
    Plan,
    Record,
    Roofline,
)
from ftax_micro.result_rules import check_case, check_measurement, check_roofline, invalid

# History of the file format. A file of an older number is upgraded on read by `_UPGRADES`, one of a
# newer number is refused.
#   1  (0.1.0) launch floor: environment, devices, plan, measurements with raw samples
#   2  (0.1.0) model latency: a second kind of result, whose `cases` are workloads in modes
#   3  (0.1.0) facts of a case (MACs, memory, operations, its own version and date), rooflines
#   4  (0.1.0) dispatch ladder: a third kind of result, whose rows are `rungs`
#   5  (0.1.0) streams of device operations, states of device and host around each block of a case
#   6  (0.1.0) the rank of the process, where a launcher started it
#   7  (0.1.0) how fast the cores were between the samples of a row
#   8  (0.1.0) how far apart they were; what a worker did while it was handed a task
SCHEMA_VERSION = 8

# What the main job's JSON has beside the result: made from it, and so not read again.
ANSWERS = "answers"

# Results of one name that are kept beside it: as many as ranks of a job that share a folder.
_MOST_RESCUED = 1000


def _polled(raw: dict[str, Any]) -> dict[str, Any]:
    """`raw`, whose hand-overs to a spinning worker were timed while it polled the queue."""
    rows = raw.get("measurements")
    if not isinstance(rows, list):
        return raw
    return {**raw, "measurements": [_polling(each) for each in rows]}


def _polling(row: Any) -> Any:
    match row:
        case {
            "device": "cpu",
            "name": "submit",
            "setting": {"wait": "spin"},
            "status": "ok",
            "facts": dict(facts),
        }:
            return {**row, "facts": {WORKER: POLLING, **facts}}
        case _:
            return row


_UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: lambda raw: {**raw, "schema_version": 2},  # cases are new; all else is as it was
    2: lambda raw: {**raw, "schema_version": 3},  # new fields have defaults
    3: lambda raw: {**raw, "schema_version": 4},  # rungs are new
    4: lambda raw: {**raw, "schema_version": 5},  # new fields have defaults
    5: lambda raw: {**raw, "schema_version": 6},  # a new field has a default
    6: lambda raw: {**raw, "schema_version": 7},  # a new field has a default
    7: lambda raw: {**_polled(raw), "schema_version": 8},
}


class Result(Record, frozen=True, kw_only=True):
    """Everything one run measured, and what is needed to judge it.

    `complete` is False where the run was stopped early; `incomplete_reason` then says why. `plan`
    holds the sampling settings, `processes` how many fresh processes repeated them. `measurements`
    are rows of the launch floor, `rungs` those of the dispatch ladder.
    """

    schema_version: int = SCHEMA_VERSION
    kind: Literal["launch_floor", "model_latency", "dispatch_ladder"] = "launch_floor"
    tool_version: str
    created_at: str
    plan: Plan
    environment: Environment
    devices: list[DeviceFacts]
    measurements: list[Measurement]
    rungs: list[Measurement] = msgspec.field(default_factory=list)
    cases: list[Case] = msgspec.field(default_factory=list)
    rooflines: list[Roofline] = msgspec.field(default_factory=list)
    processes: int = 1
    complete: bool = True
    incomplete_reason: str | None = None


def encode_result(result: Result) -> bytes:
    """`result` as indented UTF-8 JSON. Errors: `OutputError` for one that could not be read again:
    NaN would become null in silence.
    """
    try:
        _check_meaning(result)
        return msgspec.json.format(_encoded(result), indent=1) + b"\n"
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError) as error:
        raise OutputError(f"the result cannot be written as JSON: {error}") from error


def _encoded(result: Result) -> bytes:
    try:
        return msgspec.json.encode(result)
    except UnicodeEncodeError:  # a file name or variable that is not UTF-8; JSON is nothing else
        return msgspec.json.encode(_escaped(msgspec.to_builtins(result)))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_escaped(key): _escaped(each) for key, each in value.items()}
    return [_escaped(each) for each in value] if isinstance(value, list) else value


def decode_result(data: bytes, source: str = "result") -> Result:
    """The result in `data`, upgraded to today's schema.

    Errors: `UnreadableResultError` naming `source` and the field, for what is not JSON, truncated,
    of a newer schema, of wrong types, with unknown or missing fields, or without the values that
    its rows need.
    """
    try:
        result = _of_today(data)
        if result is None:
            raw = msgspec.json.decode(data)
            result = msgspec.convert(_upgraded(raw), Result, strict=True)
        _check_meaning(result)
        return result
    except msgspec.ValidationError as error:
        raise UnreadableResultError(f"{source}: not a valid result: {error}") from error
    except UnicodeDecodeError as error:
        raise UnreadableResultError(f"{source}: is not UTF-8 text: {error.reason}") from error
    except msgspec.DecodeError as error:
        what = "is empty" if not data.strip() else f"is not complete JSON: {error}"
        raise UnreadableResultError(f"{source}: {what}") from error
    except RecursionError as error:
        raise UnreadableResultError(f"{source}: nested too deeply to be a result") from error


@functools.cache
def _decoder() -> msgspec.json.Decoder[Result]:
    return msgspec.json.Decoder(Result, strict=True)


def _of_today(data: bytes) -> Result | None:
    """The result in one step, in half the time, where it is of today's version and in order; None
    for what has to be looked at more closely.
    """
    try:
        result = _decoder().decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return result if result.schema_version == SCHEMA_VERSION else None


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
    return {name: value for name, value in raw.items() if name != ANSWERS}


def _check_meaning(result: Result) -> None:
    """What types alone do not say, and every reader of a result relies on."""
    if not 0.5 <= result.plan.confidence < 1:
        raise invalid("Expected a number from 0.5 to below 1", "plan.confidence")
    devices = {device.name for device in result.devices}
    for name in ("measurements", "rungs"):
        for index, row in enumerate(getattr(result, name)):
            path = f"{name}[{index}]"
            if row.device not in devices:
                raise invalid(f"{row.device!r} is none of the `devices`", f"{path}.device")
            check_measurement(row, path)
    for index, case in enumerate(result.cases):
        path = f"cases[{index}]"
        if case.device not in devices:
            raise invalid(f"{case.device!r} is none of the `devices`", f"{path}.device")
        check_case(case, path)
    for index, peak in enumerate(result.rooflines):
        path = f"rooflines[{index}]"
        if peak.device not in devices:
            raise invalid(f"{peak.device!r} is none of the `devices`", f"{path}.device")
        check_roofline(peak, path)


def load_result(path: str | os.PathLike[str]) -> Result:
    """The result saved at `path`.

    Errors: `UnreadableResultError` naming the file, and the field where one is wrong.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise UnreadableResultError(f"{path}: {_words(error)}") from error
    return decode_result(data, source=str(path))


def check_output(path: Path, *, force: bool) -> None:
    """Make sure, before anything is measured, that `path` can be written at the end.

    Errors: `UsageError` for an existing file without `force` or a folder; `OutputError` for a
    missing or read-only folder.
    """
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises in a folder that is not ours
        raise UsageError(f"{path} is a folder; name a file")
    _refuse_existing(path, force)
    with _os_errors_as_output_errors(path):
        target = _target(path)
        if _is_special(target):
            return  # a device or pipe: only writing tells
        handle, name = new_file_beside(target)
        os.close(handle)
        Path(name).unlink()
        with contextlib.suppress(FileNotFoundError):
            target.stat()  # of a name that is too long Path.exists says nothing from Python 3.14 on
            if not os.access(target, os.W_OK):
                raise OutputError(f"cannot write {path}: it is read-only")


def save_result(result: Result, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write `result` to `path` in one step: a reader sees the old file or the whole new one, and
    of several writers without `force`, at the same moment even, one alone succeeds.

    Errors: `UsageError` where `path` exists and `force` is not given; `OutputError` where it cannot
    be written (the folder, a full disk); then no partial file is left.
    """
    save_bytes(encode_result(result), Path(path), force=force)


def save_bytes(data: bytes, path: Path, *, force: bool = False) -> None:
    """Write `data` to `path` in one step; errors as of `save_result`."""
    _refuse_existing(path, force)
    with _os_errors_as_output_errors(path):
        target = _target(path)
        if _is_special(target):
            with target.open("wb") as stream:
                stream.write(data)
            return
        if not write_atomically(target, data, replace=force):
            raise _exists(path)


def rescue_result(result: Result, beside: Path | None = None) -> Path:
    """Write `result` where it was not asked for, since that is better than to lose it: into the
    folder of `beside`, the file it could not become, or else into that for temporary files, which
    on a cluster is often gone with the job. Returns the file. Errors: `OutputError`.
    """
    if beside is not None and not _is_special(beside):
        for number in range(1, _MOST_RESCUED + 1):
            count = "" if number == 1 else f"-{number}"
            path = beside.with_name(f"{beside.stem}.rescued{count}{beside.suffix}")
            try:
                save_result(result, path)
            except UsageError:  # a neighbour's, which was rescued too
                continue
            except OutputError:
                break
            return path
    folder = Path(tempfile.gettempdir())
    with _os_errors_as_output_errors(folder):
        path = Path(tempfile.mkdtemp(prefix="ftax-micro-", dir=folder)) / "rescued.json"
        save_result(result, path)
    return path


def _refuse_existing(path: Path, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise _exists(path)


def _exists(path: Path) -> UsageError:
    return UsageError(f"{path} exists already; --force replaces it")


def _target(path: Path) -> Path:
    """The file that a link stands for: replacing the link itself would leave the file as it was."""
    return Path(os.path.realpath(path))


def _is_special(target: Path) -> bool:
    return target.exists() and not target.is_file()


@contextlib.contextmanager
def _os_errors_as_output_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {path}: {_words(error)}") from error


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
