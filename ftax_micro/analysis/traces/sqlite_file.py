"""SQLite files of other programs, read-only, their numbers as arrays a chunk at a time.

Every way in which such a file can be unreadable ends in one `UnreadableTraceError` that names it.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ftax_micro.analysis.traces.events import NONE, Ints
from ftax_micro.errors import UnreadableTraceError

HEADER = b"SQLite format 3\x00"
# Rows that are in memory as Python objects at a time: some 20 MB of them.
CHUNK = 50_000
# Whoever writes the file holds its lock for much longer than this, a reader not at all.
LOCK_TIMEOUT_S = 1.0
# The header's page size, change counter, page count, and the change that count is valid for:
# https://www.sqlite.org/fileformat2.html, 1.3.
_HEADER_BYTES = 100


class Database:
    """An open file: `tables` has the names of the columns of each of its tables."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection, self.name = connection, name
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.tables = {str(table): self._columns(table) for (table,) in found.fetchall()}

    def _columns(self, table: str) -> frozenset[str]:
        rows = self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return frozenset(name for (name,) in rows)

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is such a table with all these columns."""
        return table in self.tables and self.tables[table].issuperset(columns)

    def count(self, table: str, where: str = "") -> int:
        """Rows of a table."""
        return int(self.select(f'SELECT count(*) FROM "{table}" {where}')[0][0])

    def select(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a query, for those that have few."""
        return self._connection.execute(query, values).fetchall()

    def batches(self, query: str) -> Iterator[list[tuple[Any, ...]]]:
        """All rows of a query, `CHUNK` at a time."""
        cursor = self._connection.execute(query)
        while rows := cursor.fetchmany(CHUNK):
            yield rows

    def chunks(
        self, table: str, columns: Mapping[str, int], known: Mapping[str, int], where: str = ""
    ) -> Iterator[dict[str, Ints]]:
        """Columns of numbers, `CHUNK` rows at a time, each with what stands for NULL.

        A column the table lacks holds that value throughout: older exports have fewer. Those whose
        only value is `known` are not read either: each costs a fifth of a microsecond a row.
        """
        read = [each for each in columns if each in self.tables[table] and each not in known]
        wanted = ", ".join(f'COALESCE("{each}", {columns[each]})' for each in read)
        for rows in self.batches(f'SELECT {wanted} FROM "{table}" {where}'):
            found = dict(zip(read, self._columns_of(table, rows, len(read)), strict=True))
            constants = {each: known.get(each, columns[each]) for each in columns}
            yield {
                each: found[each] if each in found else np.full(len(rows), constants[each])
                for each in columns
            }

    def no_numbers(self, table: str) -> UnreadableTraceError:
        """What to raise where a column of numbers has something else in it."""
        return UnreadableTraceError(f"{self.name} is damaged: a number in {table} is none")

    def _columns_of(self, table: str, rows: list[tuple[Any, ...]], width: int) -> list[Ints]:
        values = itertools.chain.from_iterable(rows)
        try:
            array = np.fromiter(values, dtype=np.int64, count=len(rows) * width)
        except (ValueError, TypeError, OverflowError):
            raise self.no_numbers(table) from None
        # Copies: whoever keeps one column shall not keep the others in memory.
        return [column.copy() for column in array.reshape(len(rows), width).T]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The database in a file that begins with `HEADER`.

    Nothing is written, a lock is waited for briefly. All that goes wrong until the end of the block
    is raised as `UnreadableTraceError`.
    """
    name = str(path)
    try:
        _refuse_truncated(path, name)
        address = f"{path.resolve().as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=LOCK_TIMEOUT_S)
        with contextlib.closing(connection):
            connection.text_factory = _text
            yield Database(connection, name)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: an error that quotes damage
        raise UnreadableTraceError(_why(path, name, error)) from None
    except OSError as error:
        raise UnreadableTraceError(f"cannot read {name}: {error.strerror or error}") from None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _refuse_truncated(path: Path, name: str) -> None:
    """SQLite itself notices only once it needs a page that is not there."""
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
        size = file.seek(0, 2)
    if len(head) < _HEADER_BYTES:
        raise UnreadableTraceError(f"{name} is truncated: it ends within the header of SQLite")
    page = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big")
    expected = (65536 if page == 1 else page) * pages
    if head[24:28] == head[92:96] and size < expected:
        raise UnreadableTraceError(f"{name} is truncated: it has {size:,} of {expected:,} bytes")


def _why(path: Path, name: str, raised: Exception) -> str:
    """The reason in words that tell what to do about it."""
    error = " ".join(str(raised).split())
    if "locked" in error:
        return f"{name} is locked: another program is writing it"
    if any(path.with_name(path.name + each).exists() for each in ("-journal", "-wal")):
        return f"{name} was not written to its end, or is being written: {error}"
    damage = "malformed" in error or "not a database" in error
    if damage or isinstance(raised, UnicodeDecodeError):
        return f"{name} is a damaged SQLite file"
    return f"cannot read {name}: {error}"


def numbers(ids: Ints) -> set[int]:
    """The distinct values of a column, without those that stand for NULL."""
    return set(np.unique(ids).tolist()) - {NONE}
