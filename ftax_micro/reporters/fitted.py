"""A table for a terminal that loses whole columns rather than parts of numbers.

Where a table is too wide, text columns are folded between words first, then the columns that matter
least are left out, and the caller is told which.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

# Between two columns, and the longest word (a path) for which a folded column is kept wide.
_GAP = 2
_LONGEST_WORD = 20


def fitted_table(
    title: str | None,
    headings: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    width: int,
    *,
    right: Collection[int] = (),
    folding: Collection[int] = (),
    spare: Sequence[int] = (),
) -> tuple[Table, list[str]]:
    """The table, and the headings of the columns that were left out.

    `right`: columns to align right; `folding`: text columns that may be folded; `spare`: columns
    that may be left out, the least important first. Cells are text, never markup.
    """
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    needed = [
        _needed([heading, *(row[i].plain for row in cells)], folds=i in folding)
        for i, heading in enumerate(headings)
    ]
    kept = list(range(len(headings)))
    for index in spare:
        if sum(needed[i] for i in kept) + _GAP * (len(kept) - 1) <= width:
            break
        kept.remove(index)
    texts = [[headings[i], *(row[i].plain for row in cells)] for i in kept]
    widths = _widths(
        [max(map(cell_len, each)) for each in texts],
        [needed[i] if i in folding else None for i in kept],
        width,
    )
    table = Table(
        title=None if title is None else Text(title, "table.title"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for i, wide in zip(kept, widths, strict=True):
        table.add_column(
            Text(headings[i]),
            justify="right" if i in right else "left",
            no_wrap=i not in folding,
            overflow="fold",
            width=wide,
        )
    for row in cells:
        table.add_row(*(row[i] for i in kept))
    return table, [heading for i, heading in enumerate(headings) if i not in kept]


def _widths(natural: Sequence[int], least: Sequence[int | None], width: int) -> list[int]:
    """Those of all columns, the widest of the folding ones narrowed until the table fits.

    Left to itself, rich narrows them below what their longest word needs, and cuts it. `least` is
    None for columns that do not fold.
    """
    found = list(natural)
    room = [i for i, each in enumerate(least) if each is not None and each < found[i]]
    while room and sum(found) + _GAP * (len(found) - 1) > width:
        widest = max(room, key=lambda i: found[i])
        found[widest] -= 1
        if found[widest] == least[widest]:
            room.remove(widest)
    return found


def _needed(texts: Sequence[str], *, folds: bool) -> int:
    """The narrowest that a column of `texts` may become."""
    if not folds:
        return max(map(cell_len, texts))
    return min(_LONGEST_WORD, max((cell_len(w) for text in texts for w in text.split()), default=1))
