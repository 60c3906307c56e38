"""The table of texts that the rows of an Nsight Systems export refer to."""

from __future__ import annotations

import numpy as np

from ftax_micro.analysis.traces.events import Ints
from ftax_micro.analysis.traces.sqlite_file import Database

# SQLite takes 999 values in one query in its oldest builds.
_AT_ONCE = 500


class Strings:
    """Texts by id, read as they are asked for: exports hold many that no row here refers to."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._texts: dict[int, str | None] = {}

    def get(self, number: int) -> str | None:
        """The text of an id, None where there is none."""
        if number not in self._texts:
            self._read({number})
        return self._texts[number]

    def named(self, ids: Ints) -> tuple[list[str], Ints]:
        """The texts of a column's distinct ids, and for each row the index of its own.

        An id without a text is named by its number.
        """
        each, inverse = np.unique(ids, return_inverse=True)
        distinct = each.tolist()
        self._read(set(distinct))
        return [self._texts[n] or f"name {n}" for n in distinct], inverse

    def _read(self, numbers: set[int]) -> None:
        missing = sorted(numbers - self._texts.keys())
        self._texts.update(dict.fromkeys(missing))
        for begin in range(0, len(missing), _AT_ONCE):
            part = missing[begin : begin + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            query = f"SELECT id, value FROM StringIds WHERE id IN ({marks})"
            rows = self._database.select(query, *part)
            self._texts.update((number, str(text)) for number, text in rows if text is not None)
