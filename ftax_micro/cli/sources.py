"""Files given to a command: results of ours, and traces of profilers."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro.errors import UnreadableResultError, UsageError

if TYPE_CHECKING:
    from ftax_micro.analysis.views.contract import Question, Source
    from ftax_micro.results import Result

# Enough for the first keys of a result.
_HEAD_BYTES = 4096


def load_question(
    paths: Sequence[Path],
    floor: Path | None = None,
    annotation: str | None = None,
    *,
    whole: bool = False,
    other_floor: Path | None = None,
) -> Question:
    """What the files hold, and how to read it.

    Errors: `UsageError` for no file, for a floor that has none, and for what contradicts itself;
    `UnreadableResultError`, `UnreadableTraceError`.
    """
    from ftax_micro.analysis.views.contract import Question

    if not paths:
        raise UsageError("the following arguments are required: FILE")
    if annotation is not None and whole:
        raise UsageError("--annotation cuts traces, --whole does not: choose one")
    own = _floor(floor) if floor else None
    other = _floor(other_floor) if other_floor else None
    return Question(_sources(paths), own, annotation, whole, other)


def load_shown(path: Path, kind: str) -> Result:
    """The result that a command shows again with ``--show``.

    Errors: `UsageError` for one of another `kind`; `UnreadableResultError`.
    """
    from ftax_micro.results import load_result

    result = load_result(path)
    if result.kind != kind:
        raise UsageError(f"{path} is a result of {result.kind}, which has its own --show")
    return result


def machine_warnings(question: Question) -> list[str]:
    """Of results and traces whose bounds rest on the floor of another machine."""
    from ftax_micro.analysis.machine import machine_name, same_machine
    from ftax_micro.analysis.traces.machine_floor import machine_mismatch

    floor = question.floor
    found = [
        f"{name} was measured on {machine_name(result)}, the floor on {machine_name(floor)}: "
        "bounds hold where both are the same machine"
        for name, result in question.results
        if floor is not None and result.cases and not same_machine(result, floor)
    ]
    floors = [(name, trace, question.trace_floor(trace)) for name, trace in question.traces]
    different = [(name, machine_mismatch(trace, own)) for name, trace, own in floors if own]
    return found + [f"{name} {words}" for name, words in different if words is not None]


def _sources(paths: Sequence[Path]) -> tuple[Source, ...]:
    """What is in the files, by name; with the folders where names alone are not enough."""
    names = [path.name for path in paths]
    return tuple(
        _source(path, path.name if names.count(path.name) == 1 else str(path)) for path in paths
    )


def _source(path: Path, name: str) -> Source:
    from ftax_micro.analysis.views.contract import Source

    if not _is_result(path):
        from ftax_micro.analysis.traces.formats import read_trace

        return Source(name, trace=read_trace(path))
    from ftax_micro.results import load_result

    return Source(name, result=load_result(path))


def _is_result(path: Path) -> bool:
    """Whether the file is one of ours: its first keys tell. What is damaged is not."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, ValueError) as error:
        words = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UnreadableResultError(f"{path}: {words}") from error
    if head[:2] == b"\x1f\x8b":
        with contextlib.suppress(zlib.error):
            head = zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
    return b'"schema_version"' in head


def _floor(path: Path) -> Result:
    from ftax_micro.results import load_result

    result = load_result(path)
    if not result.measurements:
        raise UsageError(f"{path} is a result of {result.kind}: it has no launch floor")
    return result
