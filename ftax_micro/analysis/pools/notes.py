"""What a reader has to know of a pool's files before believing its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ftax_micro import stats
from ftax_micro.analysis.pools.collecting import Collector

# Of reasons and codes, the most frequent; a fleet has hundreds.
_MOST_TOLD = 5


def notes_of(
    found: Collector, pairs: int, level: float, probes: Sequence[str] | None
) -> Iterator[str]:
    """Sentences on the whole: how it was measured, what warns, what has no number, and from how
    many machines on the medians of `pairs` ratios have intervals at `level`. Of rows, those that
    `probes` name, if they name any.
    """
    files = len(found.names)
    if len(found.versions) > 1:
        yield f"measured by several versions of this program: {_counted(found.versions)}"
    if 0 < found.quick < files:
        yield f"{found.quick} of {files} files were measured with --quick, the others without"
    if found.incomplete:
        yield f"incomplete, since stopped early: {found.incomplete} of {files} files"
    if found.copies:
        yield f"left out, since they are copies of others: {found.copies} files"
    if found.empty:
        yield f"without any such row: {found.empty} of {files} files"
    if found.warnings:
        yield f"files with warnings of what shifts times: {_counted(found.warnings)}"
    names = {row.name for row in found.rows} & set(probes or ())
    absent = {key: why for key, why in found.absent.items() if not names or key[2] in names}
    yield from _absences(absent)
    fewest = next(n for n in range(1, 10_000) if stats.median_ranks(n, level) is not None)
    if pairs:
        yield (
            f"{pairs} ratios hold together, each at {level * 100:.4g} %: an interval needs "
            f"{fewest} machines in both groups"
        )


def _absences(absent: Mapping[tuple[str, str, str], Counter[str]]) -> Iterator[str]:
    """Rows that could not be measured, by reason: many rows have the same. What went wrong before
    what could not run.
    """
    reasons: dict[str, list[tuple[str, int]]] = {}
    for (_, device, name), counts in absent.items():
        for reason, count in counts.items():
            reasons.setdefault(reason, []).append((f"{device} {name}", count))
    ordered = sorted(
        reasons.items(),
        key=lambda each: (not each[0].startswith("failed"), -sum(count for _, count in each[1])),
    )
    for reason, rows in ordered[:_MOST_TOLD]:
        yield f"no value of {_counted(Counter(dict(rows)))}: {reason}"
    if len(ordered) > _MOST_TOLD:
        yield f"and {len(ordered) - _MOST_TOLD} more reasons why rows have no value"


def _counted(counts: Counter[str]) -> str:
    told = [f"{name} ({count})" for name, count in counts.most_common(_MOST_TOLD)]
    more = len(counts) - _MOST_TOLD
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")
