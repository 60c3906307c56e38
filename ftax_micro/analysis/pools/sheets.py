"""A pool as tables: its groups, its rows in each group, who is off, which files were left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ftax_micro.analysis.pools.contract import Cell, Pool, PooledRow
from ftax_micro.analysis.pools.spread import OUTLIER_SCORE
from ftax_micro.analysis.sheet import Cell as SheetCell
from ftax_micro.analysis.sheet import Column, Row, Sheet, Unit
from ftax_micro.analysis.summary import setting_text

GROUPS, ROWS, OUTLIERS, LEFT_OUT = "groups", "rows", "outliers", "left_out"
# Of a fleet's outliers a table shows the furthest; JSON has them all.
MOST_SHOWN = 20
# And of groups the largest: of thousands a table would take minutes to draw, and who would read it?
MOST_GROUPS = 20
# Hosts that are named for being off on several rows.
_MOST_HOSTS = 5


def pool_sheets(pool: Pool) -> list[Sheet]:
    """The tables that have rows; the first two always."""
    sheets = [groups_sheet(pool), rows_sheet(pool), outliers_sheet(pool), left_out_sheet(pool)]
    return [sheet for sheet in sheets if sheet.rows or sheet.name in (GROUPS, ROWS)]


def groups_sheet(pool: Pool) -> Sheet:
    """The groups by number, the values of the keys, and what is to be known of all files."""
    columns = (
        Column("group", "group", Unit.COUNT),
        *(Column(key, key, folds=True) for key in pool.keys),
        Column("machines", "machines", Unit.COUNT),
        Column("files", "files", Unit.COUNT),
        Column("baseline", None),
    )
    rows = [
        Row(
            (
                place + 1,
                *("not known" if value is None else value for value in group.values),
                group.machines,
                group.files,
                "yes" if place == pool.baseline else "no",
            ),
            shown=_is_shown(pool, place),
        )
        for place, group in enumerate(pool.groups)
    ]
    more = sum(not row.shown for row in rows)
    told = f"{more} of {len(rows)} groups not shown: --format csv or json has all"
    lines = (told, *pool.notes) if more else pool.notes
    return Sheet(GROUPS, "Groups of machines", columns, tuple(rows), lines)


def _is_shown(pool: Pool, place: int) -> bool:
    return place < MOST_GROUPS or place == pool.baseline


def rows_sheet(pool: Pool) -> Sheet:
    """A row for each row and group."""
    columns = (
        Column("kind", None),
        Column("device", None),
        Column("row", None),
        Column("setting", None),
        Column("quantity", None),
        Column("measured", None),
        Column("title", "row", folds=True, once=True),
        Column("group", "group", Unit.COUNT),
        *(Column(f"group_{key}", None) for key in pool.keys),
        Column("machines", "machines", Unit.COUNT, spare=1),
        Column("files", "files", Unit.COUNT, spare=0),
        Column("median", "median", Unit.SECONDS, interval=True, ends=False),
        Column("half_width", "±", Unit.SPREAD, spare=4),
        Column("least", None, Unit.SECONDS),
        Column("most", None, Unit.SECONDS),
        Column("between", "between", Unit.SPREAD),
        Column("within", "within", Unit.SPREAD, spare=5),
        Column("outliers", "outliers", Unit.COUNT, spare=2),
        Column("ratio", "ratio", Unit.RATIO, interval=True),
        Column("verdict", "verdict", spare=3),
        Column("unit", None),
    )
    rows = [
        _row(pool, row, place, cell)
        for row in pool.rows
        for place, cell in enumerate(row.cells)
        if cell is not None
    ]
    title = "Medians over machines, and their spread between machines and within one"
    return Sheet(ROWS, title, columns, tuple(rows), tuple(_row_lines(pool)))


def _row(pool: Pool, row: PooledRow, place: int, cell: Cell) -> Row:
    name, group = row.row, pool.groups[place]
    cells: tuple[SheetCell, ...] = (
        *(name.kind, name.device, name.name, setting_text(dict(name.shown)), name.quantity),
        *(row.told or None, row.title, place + 1, *group.values),
        *(cell.machines, cell.files, cell.median, cell.median.half_width, cell.least, cell.most),
        *(cell.between, cell.within, len(cell.outliers), cell.ratio, cell.verdict, row.unit),
    )
    median = cells.index(cell.median)
    counts = () if row.unit == "s" else (median, median + 2, median + 3)
    units = tuple((each, Unit.COUNT) for each in counts)
    return Row(cells, shown=_is_shown(pool, place), units=units)


def _row_lines(pool: Pool) -> Iterator[str]:
    yield (
        f"±: half of the median's interval ({pool.confidence * 100:g} %); between: robust standard "
        "deviation of the machines' medians; within: that of one machine from one of its values to "
        "the next"
    )
    cells = [cell for row in pool.rows for cell in row.cells if cell is not None]
    both = [(c.between, c.within) for c in cells if c.between is not None and c.within is not None]
    alike = sum(between <= within for between, within in both)
    if alike:
        yield (
            f"in {alike} of {len(both)} lines that have both, between is not above within: there "
            "machines differ no more than repeats of one"
        )
    if len(pool.groups) > 1:
        label = pool.groups[pool.baseline].label
        yield f"ratios are to group {pool.baseline + 1} ({label}); above 1 takes longer"


def outliers_sheet(pool: Pool) -> Sheet:
    """Machines that are off the others of their group, the furthest first."""
    columns = (
        Column("host", "host"),
        Column("group", "group", Unit.COUNT),
        Column("row", "row", folds=True),
        Column("value", "value", Unit.SECONDS),
        Column("off", "off", Unit.SPREAD),
        Column("score", "score", Unit.RATIO, spare=1),
        Column("file", "file", folds=True),
        Column("files", "files", Unit.COUNT, spare=0),
    )
    found = [
        (outlier, row, place)
        for row in pool.rows
        for place, cell in enumerate(row.cells)
        if cell is not None
        for outlier in cell.outliers
    ]
    found.sort(key=lambda each: -abs(each[0].score))
    rows = [
        Row(
            (
                *(outlier.host, place + 1, row.title, outlier.value),
                None if outlier.times is None else outlier.times - 1,
                *(outlier.score, outlier.file, outlier.files),
            ),
            shown=index < MOST_SHOWN,
            units=() if row.unit == "s" else ((3, Unit.COUNT),),
        )
        for index, (outlier, row, place) in enumerate(found)
    ]
    title = f"Machines off the others of their group (modified z-score beyond {OUTLIER_SCORE:g})"
    return Sheet(OUTLIERS, title, columns, tuple(rows), tuple(_outlier_lines(pool, len(found))))


def _outlier_lines(pool: Pool, count: int) -> Iterator[str]:
    if count > MOST_SHOWN:
        yield f"{count - MOST_SHOWN} of {count} not shown: --format json has all"
    hosts = off_hosts(pool)
    several = [(host, rows) for host, rows in hosts.items() if rows > 1]
    several.sort(key=lambda each: -each[1])
    if several:
        told = ", ".join(f"{host} ({rows})" for host, rows in several[:_MOST_HOSTS])
        more = len(several) - _MOST_HOSTS
        yield f"off on several rows: {told}" + (f" and {more} more" if more > 0 else "")


def off_hosts(pool: Pool) -> dict[str, int]:
    """On how many rows each host is off."""
    rows: dict[str, int] = defaultdict(int)
    for row in pool.rows:
        for host in {each.host for cell in row.cells if cell for each in cell.outliers}:
            rows[host] += 1
    return dict(rows)


def left_out_sheet(pool: Pool) -> Sheet:
    """Files that could not be read, and why."""
    columns = (Column("file", "file"), Column("reason", "reason", folds=True))
    rows = [
        Row((file, reason), shown=index < MOST_SHOWN)
        for index, (file, reason) in enumerate(pool.unread)
    ]
    more = len(rows) - MOST_SHOWN
    lines = (f"{more} of {len(rows)} not shown: --format json has all",) if more > 0 else ()
    return Sheet(LEFT_OUT, "Files left out", columns, tuple(rows), lines)
