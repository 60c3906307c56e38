"""Traces of any profiler that is understood, told apart by their first bytes, not by their name."""

from __future__ import annotations

import zlib
from pathlib import Path

from ftax_micro.analysis.traces.events import Trace
from ftax_micro.analysis.traces.nsight import read_nsight_export
from ftax_micro.analysis.traces.pytorch import read_pytorch_trace
from ftax_micro.analysis.traces.sqlite_file import HEADER
from ftax_micro.errors import UnreadableTraceError

_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 4096
# What only Nsight Systems itself reads, now and before 2021.4.
_REPORTS = (".nsys-rep", ".qdrep", ".qdstrm")
# What `nsys export` writes besides SQLite and text.
_OTHER_EXPORTS = {b"\x89HDF\r\n\x1a\n": "HDF5", b"ARROW1": "Arrow", b"PAR1": "Parquet"}
EXPORT = "nsys export --type sqlite"


def read_trace(path: str | Path) -> Trace:
    """The trace in a file: of the PyTorch profiler, or an SQLite export of Nsight Systems.

    Raises `UnreadableTraceError`, in one line, where it is neither, is damaged or is empty.
    """
    path = Path(path)
    head = _head(path)
    if head.startswith(HEADER):
        return read_nsight_export(path)
    if path.suffix in _REPORTS:
        raise UnreadableTraceError(
            f"{path} is a report that only Nsight Systems reads: run `{EXPORT} {path.name}` "
            "and give what that writes"
        )
    for magic, kind in _OTHER_EXPORTS.items():
        if head.startswith(magic):
            raise UnreadableTraceError(f"{path} is {kind}, not SQLite: export with `{EXPORT}`")
    if head.startswith(_GZIP) and _unpacked(head).startswith(HEADER):
        raise UnreadableTraceError(f"{path} is a compressed SQLite file: unpack it first")
    return read_pytorch_trace(path)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError as error:
        raise UnreadableTraceError(f"cannot read {path}: {error.strerror or error}") from None


def _unpacked(head: bytes) -> bytes:
    """The first bytes of what begins a gzip file, none where that is damaged."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, len(HEADER))
    except zlib.error:
        return b""
