"""The folder of a fleet's run: which file belongs to which node and device, and what is there.

`fleet.jsonl` has the settings in its first line, then a line for each node and each measurement
when it begins, with the name of its file. A measurement is done where that file is there and whole:
files are written in one step, so that whatever ends the run, what arrived is found again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

import msgspec

from ftax_micro.atomic_files import held_alone
from ftax_micro.clusters.contract import Node
from ftax_micro.errors import OutputError, UnreadableResultError, UsageError
from ftax_micro.file_names import safe_text
from ftax_micro.records import Record
from ftax_micro.results import Result, decode_result, load_result, save_bytes

if TYPE_CHECKING:
    from typing_extensions import Self

LEDGER = "fleet.jsonl"
# The number of the ledger's format.
#   1  (0.1.0) settings; nodes and files
_VERSION = 1


class Settings(Record, frozen=True, kw_only=True):
    """What makes two runs one: only such results belong into one folder."""

    ledger_version: int = _VERSION
    command: str
    arguments: list[str]
    device: str
    together: bool
    files: dict[str, str]
    ftax_micro: str


class Entry(Record, frozen=True, kw_only=True):
    """A node, which may stand for one of the same host that was `before` it; or, with `device` and
    `file`, one of its measurements.
    """

    node: str
    host: str
    before: str | None = None
    device: str | None = None
    file: str | None = None


class Book:
    """A folder that this process alone writes to, as long as it is open."""

    def __init__(self, folder: Path, settings: Settings, *, resume: bool) -> None:
        self.folder, self._settings, self._resume = folder, settings, resume
        self.entries: list[Entry] = []
        self._stream: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Errors: `UsageError` for a folder in use, one with other files or settings;
        `OutputError`; `UnreadableResultError` for a ledger that is none.
        """
        path = self.folder / LEDGER
        try:
            check_folder(self.folder, resume=self._resume)
            self.folder.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("a+b")
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}") from error
        try:
            if not held_alone(self._stream.fileno()):
                raise UsageError(f"another run writes to {self.folder}")
            self._read(self._stream)
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            self._stream.close()

    def add_nodes(self, nodes: Sequence[Node]) -> None:
        """Know `nodes`; one that was not there before takes the place of one of the same host that
        is there no more.
        """
        alive = {node.id for node in nodes}
        known = {entry.node: entry.host for entry in self.entries}
        replaced = {entry.before for entry in self.entries}
        gone = {each: host for each, host in known.items() if each not in alive | replaced}
        for node in nodes:
            if node.id in known:
                continue
            former = next((each for each, host in gone.items() if host == node.host), None)
            self._note(Entry(node=node.id, host=node.host, before=former))
            if former is not None:
                del gone[former]
                for entry in self._of(former):
                    self._note(msgspec.structs.replace(entry, node=node.id))

    def gone(self, nodes: Sequence[Node]) -> list[Entry]:
        """What the ledger has of nodes that are there no more and that nobody stands for: their
        measurements, or the node alone where it never came to one.
        """
        present = {node.id for node in nodes} | {entry.before for entry in self.entries}
        lost = list(dict.fromkeys(e.node for e in self.entries if e.node not in present))
        named = {entry.node: entry for entry in self.entries}
        return [entry for each in lost for entry in self._of(each) or [named[each]]]

    def done(self, node: str) -> dict[str, Result]:
        """What was measured on a node before, by device: the whole results that are there."""
        found = ((each.device, self.result(each)) for each in self._of(node))
        return {device: result for device, result in found if device and result}

    def result(self, entry: Entry) -> Result | None:
        """The whole result that is there; None where there is none."""
        if entry.file is None:
            return None
        try:
            result = load_result(self.folder / entry.file)
        except UnreadableResultError:
            return None
        return result if result.complete else None

    def begin(self, node: Node, device: str) -> str:
        """The name of the file for a measurement, noted before it is made."""
        known = next((each.file for each in self._of(node.id) if each.device == device), None)
        if known is not None:
            return known
        taken = {entry.file for entry in self.entries}
        base, number = f"{safe_text(node.host) or 'unnamed'}-{safe_text(device)}", 1
        name = f"{base}.json"
        while name in taken or os.path.lexists(self.folder / name):
            number += 1
            name = f"{base}-{number}.json"
        self._note(Entry(node=node.id, host=node.host, device=device, file=name))
        return name

    def save(self, name: str, content: bytes) -> Result:
        """Write a result as it came. Errors: `UnreadableResultError` for what is none,
        `OutputError`.
        """
        result = decode_result(content, source=name)
        save_bytes(content, self.folder / name, force=True)
        return result

    def files(self) -> list[str]:
        """The names of all files there may be, in the order they were begun."""
        return list(dict.fromkeys(entry.file for entry in self.entries if entry.file))

    def _of(self, node: str) -> list[Entry]:
        """The measurements of a node, the last entry of each."""
        found = {entry.device: entry for entry in self.entries if entry.node == node}
        return [entry for device, entry in found.items() if device is not None]

    def _note(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._write(entry)

    def _write(self, line: Record) -> None:
        assert self._stream is not None
        try:
            self._stream.write(msgspec.json.encode(line) + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise OutputError(f"cannot write {self.folder / LEDGER}: {error.strerror}") from error

    def _read(self, stream: IO[bytes]) -> None:
        """What is there, without a last line that was being written when a run ended."""
        stream.seek(0)
        lines = stream.read().split(b"\n")
        stream.truncate(stream.tell() - len(lines[-1]))
        if len(lines) > 1:
            self._take_up(lines)
        else:
            self._write(self._settings)

    def _take_up(self, lines: Sequence[bytes]) -> None:
        try:
            before = msgspec.json.decode(lines[0], type=Settings)
            self.entries = [msgspec.json.decode(line, type=Entry) for line in lines[1:-1]]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            name = self.folder / LEDGER
            raise UnreadableResultError(f"{name}: is no ledger of a fleet: {error}") from error
        differing = [
            f"{name} {getattr(before, name)} there, {getattr(self._settings, name)} now"
            for name in before.__struct_fields__
            if getattr(before, name) != getattr(self._settings, name)
        ]
        if differing:
            raise UsageError(
                f"{self.folder} was measured with other settings: {'; '.join(differing)}; choose "
                "the same, or another folder"
            )


def check_folder(folder: Path, *, resume: bool) -> None:
    """Errors: `UsageError` for a folder that has something in it, or is none."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    if not resume and folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{folder} is not empty: --resume goes on with it, -o names another folder"
        )
