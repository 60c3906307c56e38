"""The text of a trace file in chunks, decompressed on the way; never the whole of it in memory.

A trace of ten million events is several gigabytes of text, and a small gzip file can unfold into
far more than any memory holds; read piece by piece, both need one chunk.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ftax_micro.errors import UnreadableTraceError

CHUNK = 1 << 20
# More text than this is no trace: at 200 bytes an event, 300 million events.
LARGEST_TEXT = 64 << 30
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


def read_text(source: str | Path | bytes, name: str) -> Iterator[bytes]:
    """The text of a `.json` or `.json.gz` file, or of such bytes, in chunks of up to `CHUNK`.

    Whether it is compressed is told by its first bytes; a name ending in `.gz` on anything else is
    an error, as is whatever cannot be read: `UnreadableTraceError`, with `name` in it.
    """
    try:
        with _open(source) as file:
            head = file.read(2)
            file.seek(0)
            if head == _GZIP:
                chunks = _decompressed(file, name)
            elif name.endswith(".gz"):
                raise UnreadableTraceError(f"{name} is named .gz but is not gzip-compressed")
            else:
                chunks = iter(lambda: file.read(CHUNK), b"")
            yield from _limited(chunks, name)
    except OSError as error:
        raise UnreadableTraceError(f"cannot read {name}: {error.strerror or error}") from None


def _open(source: str | Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb")


def _decompressed(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The text of all members of a gzip file, at most `CHUNK` of it at a time."""
    inflater = zlib.decompressobj(wbits=31)
    pending = b""
    try:
        while data := pending or file.read(CHUNK // 16):
            if inflater.eof:  # another member follows, or zeros that pad the file
                data = data.lstrip(b"\0")
                if not data:
                    pending = b""
                    continue
                inflater = zlib.decompressobj(wbits=31)
            text = inflater.decompress(data, CHUNK)
            pending = inflater.unconsumed_tail or inflater.unused_data
            if text:
                yield text
    except zlib.error as error:
        raise UnreadableTraceError(f"{name} is damaged gzip: {error}") from None
    if not inflater.eof:
        raise UnreadableTraceError(f"{name} is truncated: its gzip stream ends in the middle")


def _limited(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        if not total:
            chunk = chunk.removeprefix(_BOM)
        total += len(chunk)
        if total > LARGEST_TEXT:
            raise UnreadableTraceError(f"{name} unfolds to over {LARGEST_TEXT >> 30} GiB of text")
        yield chunk
