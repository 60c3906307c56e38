"""The JSON text of some events, commas between them, as tables: one per category.

Two readers make the same of the same text. `decoded` makes an object of each event first: it takes
whatever JSON can be, and says what it is meant to be. `scanned` is compiled and several times as
fast; it refuses all text that is not plain, and `decoded` reads that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, field

from ftax_micro.analysis.traces.building import Interner, or_none
from ftax_micro.analysis.traces.events import NONE, Indices, Ints
from ftax_micro.analysis.traces.microseconds import loses_decimals, nanoseconds

ABSENT = -(2**63)  # in a column of ids that may be any other number
RowPart = int | str | None
Text = bytes | memoryview
Scan = Callable[[Text], Any]
_ROW = re.compile(r"[0-9]{1,18}")

_Id = Annotated[int, Meta(ge=-(2**62), le=2**62)]
_Device = Annotated[int, Meta(ge=-(2**31), lt=2**31)]


@dataclass(frozen=True, eq=False)
class EventTable:
    """Complete events (phase "X") of one category, in their order.

    `name` and `row` are indices into `names` and `rows`, which are in order of appearance; a row is
    process and thread. `correlation` and `external` are NONE, `device` and `stream` ABSENT where
    there is none. Counted beside them: events without a time, and with one that is out of range.
    `fractions`: whether any time is no whole number of microseconds.
    """

    category: str
    events: int
    without_time: int
    out_of_range: int
    fractions: bool
    names: list[str]
    rows: list[tuple[RowPart, RowPart]]
    start_ns: Ints
    duration_ns: Ints
    name: Indices
    row: Indices
    correlation: Ints
    external: Ints
    device: Ints
    stream: Ints


class Batch(NamedTuple):
    """Some events: tables in order of appearance, others by phase and category, items of no use."""

    events: int
    tables: list[EventTable]
    others: Counter[tuple[str, str]]
    malformed: int = 0


class _Args(msgspec.Struct, gc=False):
    correlation: _Id | None = None
    stream: _Id | str | None = None  # text: the address that ROCm's tracers give with a call
    device: _Device | None = None
    external: _Id | None = field(default=None, name="External id")
    old_external: _Id | None = field(default=None, name="external id")


_NO_ARGS = _Args()


class _Event(msgspec.Struct, gc=False):
    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str | None = None
    tid: int | str | None = None
    ts: int | float | None = None
    dur: int | float | None = None
    args: _Args | None = None


class _ExactEvent(_Event, gc=False):
    ts: Decimal | None = None  # type: ignore[assignment]
    dur: Decimal | None = None  # type: ignore[assignment]


_decode_names = msgspec.json.Decoder(list[str]).decode
_decode_rows = msgspec.json.Decoder(list[tuple[int | str | None, int | str | None]]).decode
_decode_text = msgspec.json.Decoder(str).decode


def scanned(text: Text, scan: Scan) -> Batch | None:
    """The events in the text; None where `scan`, the compiled reader, does not take it."""
    found = scan(text)
    if found is None:
        return None
    others = Counter(
        {(_decode_text(e.phase), _decode_text(e.category)): e.events for e in found.others}
    )
    return Batch(found.events, [_scanned_table(each) for each in found.tables], others)


def _scanned_table(table: Any) -> EventTable:
    start: Ints = table.start_ns
    return EventTable(
        category=_decode_text(table.category),
        events=table.events,
        without_time=table.events - len(start),
        out_of_range=0,
        fractions=table.fractions,
        names=_decode_names(table.names),
        rows=_decode_rows(table.rows),
        start_ns=start,
        duration_ns=table.duration_ns,
        name=table.name,
        row=table.row,
        correlation=table.correlation,
        external=table.external,
        device=table.device,
        stream=table.stream,
    )


class EventDecoder:
    """`decoded`, for the text of one file: later parts may need what an earlier one has shown."""

    def __init__(self) -> None:
        self._use(_Event)

    def _use(self, event: type[_Event]) -> None:
        self._event = event
        self._decoder = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]

    def decoded(self, text: Text) -> Batch:
        """The events in the text; `ValueError` or `RecursionError` for what are no JSON values."""
        text = b"".join((b"[", text, b"]"))
        events, malformed = self._decode(text)
        if self._event is _Event and any(loses_decimals(each.ts) for each in events):
            self._use(_ExactEvent)
            events, malformed = self._decode(text)
        by_category: dict[str, list[_Event]] = {}
        others: Counter[tuple[str, str]] = Counter()
        for each in events:
            if each.ph == "X":
                by_category.setdefault(each.cat, []).append(each)
            else:
                others[each.ph, each.cat] += 1
        tables = [_decoded_table(category, these) for category, these in by_category.items()]
        return Batch(len(events) + malformed, tables, others, malformed)

    def _decode(self, text: bytes) -> tuple[Sequence[_Event], int]:
        """The events, and how many items of the list are none."""
        try:
            return self._decoder.decode(text), 0
        except msgspec.ValidationError:
            pass
        items = msgspec.json.decode(text, type=list[msgspec.Raw])
        events = [each for each in map(self._decode_one, items) if each is not None]
        return events, len(items) - len(events)

    def _decode_one(self, text: msgspec.Raw) -> _Event | None:
        try:
            return msgspec.json.decode(text, type=self._event, strict=False)
        except msgspec.ValidationError:
            return None


def _decoded_table(category: str, events: list[_Event]) -> EventTable:
    timed = [e for e in events if e.ts is not None and e.dur is not None]
    start, fractions, beyond = nanoseconds([e.ts for e in timed])
    duration, more, longer = nanoseconds([e.dur for e in timed])
    wrong = beyond | longer
    if wrong.any():
        timed = [e for e, bad in zip(timed, wrong, strict=True) if not bad]
        start, duration = start[~wrong], duration[~wrong]
    args = [e.args or _NO_ARGS for e in timed]
    names, rows = Interner(), Interner()
    name = np.array([names[e.name] for e in timed], dtype=np.int32)
    row = np.array([rows[e.pid, e.tid] for e in timed], dtype=np.int32)
    return EventTable(
        category=category,
        events=len(events),
        without_time=len(events) - len(wrong),
        out_of_range=int(wrong.sum()),
        fractions=fractions or more,
        names=list(names),
        rows=list(rows),
        start_ns=start,
        duration_ns=duration,
        name=name,
        row=row,
        correlation=or_none([a.correlation for a in args]),
        external=or_none([a.external or a.old_external for a in args]),
        device=_or_absent([a.device for a in args]),
        stream=_or_absent(
            [row_number(a.stream) if isinstance(a.stream, str) else a.stream for a in args]
        ),
    )


def _or_absent(values: list[int | None]) -> Ints:
    return np.array([ABSENT if each is None else each for each in values], dtype=np.int64)


def row_number(value: RowPart) -> int:
    """The number of a row of the viewer: 7 of 7 and of "stream 7", else NONE."""
    if isinstance(value, str):
        digits = value.rpartition(" ")[2]
        value = int(digits) if _ROW.fullmatch(digits) else None
    return NONE if value is None or not -(2**31) <= value < 2**31 else value
