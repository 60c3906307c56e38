"""Batches of complete events out of the text of a trace, without its whole text in memory.

The text is cut behind some event, and the cut is proved by decoding: what precedes it is a list of
JSON values exactly if the cut lies between two events, because a cut within a string or a nested
object leaves something open. So no assumption is made about how the file is laid out.

Profilers do not always write strict JSON: names with line breaks or bytes that are no UTF-8, NaN
for a bandwidth. Where decoding fails, such text is made decodable and tried once more.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ftax_micro.analysis.traces.text import CHUNK
from ftax_micro.errors import UnreadableTraceError

# No event, and nothing before or behind the list of events, is larger than this.
LARGEST_PART = 32 << 20
# Places tried in one buffer before more of the text is read, and braces looked at to find one.
_CUTS = 8
_BRACES = 10_000
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"\}\s*,\s*$")
_STRING_OR_NAN = re.compile(
    rb'"(?:[^"\\]|\\.)*"|-?\b(?:NaN|nan|Infinity|infinity|inf)\b', re.DOTALL
)
_ESCAPE = re.compile(rb'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_CONTROL = bytes.maketrans(bytes(range(32)), b" " * 32)

Use = Callable[[bytes | memoryview], None]


class EventList:
    """Reads the text of one trace once; `use` is given some events at a time.

    That is the text of JSON values with commas between them, and whatever else stands in the file
    in their place: `use` raises `ValueError` (as msgspec does) for that, and may be called again
    with another cut, so it must not keep anything before it has decoded the text.
    `facts` are the keys beside the list, `repaired` how many batches were not strict JSON.
    """

    def __init__(self, chunks: Iterator[bytes], name: str) -> None:
        self._chunks = chunks
        self._name = name
        self._buffer = b""
        self._passed = 0  # bytes of text that are done with
        self._bare = False  # the file is a list of events and nothing else
        self.facts: dict[str, Any] = {}
        self.repaired = 0

    def read(self, use: Use) -> None:
        """All events of the trace, in batches; `UnreadableTraceError` for what is no trace."""
        self._read_head()
        wanted = CHUNK
        while self._fill(wanted):
            wanted = CHUNK if self._use_batch(use) else 2 * len(self._buffer)
        self._use_rest(use)

    def _fill(self, wanted: int) -> bool:
        """Grow the buffer to `wanted` bytes; False at the end of the text."""
        parts, size = [self._buffer], len(self._buffer)
        while size < wanted:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            parts.append(chunk)
            size += len(chunk)
        self._buffer = b"".join(parts)
        if size < wanted:
            return False
        if wanted > LARGEST_PART:
            limit = f"{LARGEST_PART >> 20} MiB after byte {self._passed:,}"
            raise UnreadableTraceError(f"{self._name} is not a trace: no event ends within {limit}")
        return True

    def _read_head(self) -> None:
        """Move to the first event; keep the keys before the list."""
        wanted = CHUNK
        while True:
            more = self._fill(wanted)
            text = self._buffer.lstrip()
            if text[:1] == b"[":
                self._bare = True
                return self._pass(text[1:])
            if text and text[:1] != b"{":
                raise UnreadableTraceError(f"{self._name} is not a trace: not JSON")
            for found in itertools.islice(_LIST.finditer(text), _CUTS):
                before = text[: found.start()] + b'"traceEvents":null}'
                facts = self._repairing(before, _as_object)
                if facts is not None:
                    self.facts = facts
                    return self._pass(text[found.end() :])
            if not more:
                raise UnreadableTraceError(f"{self._name} {_why_no_list(text)}")
            wanted = 2 * max(wanted, len(self._buffer))

    def _pass(self, rest: bytes) -> None:
        self._passed += len(self._buffer) - len(rest)
        self._buffer = rest

    def _use_batch(self, use: Use) -> bool:
        """Use the complete events of the buffer; False where no end of an event was found."""
        end = len(self._buffer)
        for _ in range(_CUTS):
            cut = self._last_cut(end)
            if cut is None:
                return False
            event_end, end = cut
            if self._repairing(memoryview(self._buffer)[:event_end], _doing(use)) is not None:
                self._pass(self._buffer[end:])
                return True
        return False

    def _last_cut(self, before: int) -> tuple[int, int] | None:
        """Where the last event that ends before `before` may end, and the next one begins."""
        start = before
        for _ in range(_BRACES):
            start = self._buffer.rfind(b"{", 0, start)
            if start <= 0:
                return None
            if self._buffer[start - 1] not in b", \t\r\n":  # nearly all: {"args": {
                continue
            margin = max(0, start - 256)
            found = _BETWEEN.search(self._buffer[margin:start])
            if found:
                return margin + found.start() + 1, start
        return None

    def _use_rest(self, use: Use) -> None:
        """The last events, and the keys behind the list."""
        text = self._buffer
        whole = b"[" + text if self._bare else b'{"traceEvents":[' + text

        def decode(text: bytes | memoryview) -> dict[str, Any]:
            if self._bare:
                events, facts = memoryview(msgspec.json.decode(text, type=msgspec.Raw)), {}
            else:
                raw = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
                events = memoryview(raw.pop("traceEvents"))
                facts = {key: msgspec.json.decode(value) for key, value in raw.items()}
            if bytes(events[:1]) != b"[":
                raise ValueError("traceEvents is there twice, and once no list")
            use(events[1:-1])  # last: whatever fails must fail before events are added
            return facts

        try:
            facts = decode(whole)
        except (ValueError, RecursionError) as error:
            repaired = self._repairing(whole, decode)
            if repaired is None:
                raise UnreadableTraceError(self._why_broken(error)) from None
            facts = repaired
        self.facts.update(facts)
        self._buffer = b""

    def _repairing(
        self, text: bytes | memoryview, decode: Callable[[bytes | memoryview], Any]
    ) -> Any:
        """`decode` of the text, or of its repaired form; None where both fail."""
        try:
            return decode(text)
        except (ValueError, RecursionError) as error:
            if _is_truncation(error):
                return None
        try:
            done = decode(repaired(bytes(text)))
        except (ValueError, RecursionError):
            return None
        self.repaired += 1
        return done

    def _why_broken(self, error: Exception) -> str:
        if _is_truncation(error):
            return f"{self._name} is truncated: its list of events does not end"
        return f"{self._name} is not valid JSON after byte {self._passed:,}: {error}"


def repaired(text: bytes) -> bytes:
    """The text with what strict JSON forbids replaced: NaN, control characters, bad bytes.

    Control characters become spaces, bytes that are no UTF-8 the replacement character, a backslash
    that escapes nothing is escaped itself, and NaN and infinities become null.
    """
    text = text.translate(_CONTROL).decode("utf-8", "replace").encode()
    return _STRING_OR_NAN.sub(_strict, text)


def _strict(found: re.Match[bytes]) -> bytes:
    text = found.group()
    if text[:1] != b'"':
        return b"null"
    return _ESCAPE.sub(lambda each: each.group() if each.group(1) else rb"\\", text)


def _is_truncation(error: Exception) -> bool:
    return isinstance(error, msgspec.DecodeError) and "truncated" in str(error)


def _as_object(text: bytes | memoryview) -> dict[str, Any]:
    facts = msgspec.json.decode(text, type=dict[str, Any])
    del facts["traceEvents"]
    return facts


def _doing(use: Use) -> Callable[[bytes | memoryview], bool]:
    def done(text: bytes | memoryview) -> bool:
        use(text)
        return True

    return done


def _why_no_list(text: bytes) -> str:
    if not text:
        return "is empty"
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        broken = "truncated" if _is_truncation(error) else f"not valid JSON: {error}"
        return f"is not a trace: it has no traceEvents and is {broken}"
    return "is not a trace: it is JSON without a list of traceEvents"
