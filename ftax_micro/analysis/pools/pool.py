"""Thousands of results, grouped by what their machines are, in one pass and linear time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ftax_micro import stats
from ftax_micro.analysis.pools.cells import Members, cell_of, members_of, ratio_of
from ftax_micro.analysis.pools.collecting import Collector, Series
from ftax_micro.analysis.pools.contract import Group, Pool, PooledRow
from ftax_micro.analysis.pools.keys import check_keys
from ftax_micro.analysis.pools.notes import notes_of
from ftax_micro.analysis.pools.values import POOLED, RowName
from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.results import Result


def pool_results(
    results: Iterable[tuple[str, Result | str]],
    *,
    group: Sequence[str],
    baseline: int | str = 0,
    confidence: float = 0.95,
    margin: float = 0.02,
    probes: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
) -> Pool:
    """The results, each with its file's name, summarised by the values of the keys `group`.

    In place of a result a text says why it could not be read. They are taken one by one and not
    kept, so an iterator of thousands needs the memory of one. `group` are names of
    `analysis.pools.keys.KEYS` or of recorded packages; the largest group comes first. `baseline` is
    a group's label, one of its values that no other has, its number as tables show it (as text), or
    counts from 0. A machine that was
    measured several times counts once, with its median. `probes` and `kinds` (``floor``,
    ``ladder``, ``latency``) restrict the rows. Pure: nothing is measured or drawn.

    Errors: `UsageError` where nothing could be read, or has any of the rows; `UnknownNameError` for
    a key, kind, probe or baseline that is none.
    """
    for name in kinds or ():
        if name not in POOLED:
            raise UnknownNameError("kind of a pool", name, POOLED)
    found = Collector(group, [name for name in POOLED if kinds is None or name in kinds])
    unread = []
    for name, result in results:
        if isinstance(result, str):
            unread.append((name, result))
        else:
            found.add(name, result)
    if not found.names:
        first = f": {unread[0][0]}: {unread[0][1]}" if unread else ""
        raise UsageError(f"none of {len(unread)} files could be read{first}")
    check_keys(group, found.packages)
    rows = _chosen(found.rows, probes)
    if not rows:
        raise UsageError("nothing to summarise: no file has a value of any such row")
    groups, order = _groups(found)
    base = _baseline(baseline, groups)
    pooled, members = _pooled(found, rows, order, confidence, margin)
    pairs = sum(len(own) - 1 for own in members if base in own)
    level = stats.familywise(confidence, pairs)
    each = zip(pooled, members, strict=True)
    return Pool(
        *(tuple(group), groups, base, confidence, margin, pairs),
        rows=tuple(_with_ratios(row, own, base, level, margin) for row, own in each),
        unread=tuple(unread),
        notes=tuple(notes_of(found, pairs, level, probes)),
    )


def _chosen(rows: dict[RowName, Series], probes: Sequence[str] | None) -> dict[RowName, Series]:
    """Rows that have one of each sort of `probes`: names, modes, quantities."""
    if probes is None:
        return rows
    sorts = {row: (row.name, dict(row.setting).get("mode"), row.quantity) for row in rows}
    known = {str(name) for names in sorts.values() for name in names if name is not None}
    for name in probes:
        if name not in known:
            raise UnknownNameError("probe", name, known)
    asked = [{names[place] for names in sorts.values()} & set(probes) for place in range(3)]

    def wanted(row: RowName) -> bool:
        return all(not asked[place] or sorts[row][place] in asked[place] for place in range(3))

    return {row: series for row, series in rows.items() if wanted(row)}


def _pooled(
    found: Collector,
    rows: Mapping[RowName, Series],
    order: Sequence[int],
    level: float,
    margin: float,
) -> tuple[list[PooledRow], list[dict[int, Members]]]:
    """The rows, by kind and device as they came, their cells in the `order` of groups and without
    ratios; and the machines behind them.
    """
    told, kinds = _told_apart(rows), list(POOLED)
    places = {group: place for place, group in enumerate(order)}
    pooled, members = [], []
    for row in sorted(rows, key=lambda row: (kinds.index(row.kind), row.device)):
        own = members_of(found, rows[row])
        cells = [
            cell_of(found, own[group], level, margin) if group in own else None for group in order
        ]
        pooled.append(PooledRow(row, rows[row].unit, told[row], tuple(cells)))
        members.append({places[group]: each for group, each in own.items()})
    return pooled, members


def _with_ratios(
    row: PooledRow, members: Mapping[int, Members], base: int, level: float, margin: float
) -> PooledRow:
    cells = list(row.cells)
    for place, cell in enumerate(cells):
        if cell is not None and place != base and base in members:
            ratio, verdict = ratio_of(members[place], members[base], level, margin, row.unit)
            cells[place] = replace(cell, ratio=ratio, verdict=verdict)
    return replace(row, cells=tuple(cells))


def _groups(found: Collector) -> tuple[tuple[Group, ...], list[int]]:
    """The groups, that of the most machines first, and which of the collector's each is."""
    files: dict[int, int] = dict.fromkeys(found.groups.values(), 0)
    machines: dict[int, set[int]] = {group: set() for group in files}
    for group, file in found.members:
        files[group] += 1
        machines[group].add(found.machines.machine(file))
    groups = {
        number: Group(values, len(machines[number]), files[number])
        for values, number in found.groups.items()
    }
    order = sorted(groups, key=lambda each: (-groups[each].machines, groups[each].label))
    return tuple(groups[each] for each in order), order


def _baseline(baseline: int | str, groups: Sequence[Group]) -> int:
    if isinstance(baseline, int):
        if not 0 <= baseline < len(groups):
            raise UsageError(f"baseline {baseline} is none of the {len(groups)} groups (from 0)")
        return baseline
    labels = [group.label for group in groups]
    for named in (labels, *zip(*(group.values for group in groups), strict=True)):
        if list(named).count(baseline) == 1:
            return list(named).index(baseline)
    numbers = [f"{place + 1}" for place in range(len(groups))]
    if baseline in numbers:
        return numbers.index(baseline)
    raise UnknownNameError("baseline", baseline, [*labels, *numbers])


def _told_apart(rows: Iterable[RowName]) -> dict[RowName, str]:
    """What to say of rows of one name that were not measured in one way; else nothing."""
    ways: dict[RowName, list[RowName]] = {}
    for row in rows:
        ways.setdefault(replace(row, alike=()), []).append(row)
    told = {}
    for alike in ways.values():
        common = set.intersection(*(set(row.alike) for row in alike))
        for row in alike:
            told[row] = ", ".join(f"{k}: {v}" for k, v in row.alike if (k, v) not in common)
    return told
