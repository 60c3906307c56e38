"""``compare --group``: any number of results, summarised by what their machines have in common."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.errors import UnknownNameError, UnreadableResultError, UsageError

if TYPE_CHECKING:
    from ftax_micro.analysis.pools.contract import Pool
    from ftax_micro.results import Result

OUTLIER = "outlier"


def compare_groups(args: argparse.Namespace) -> int:
    """Read, summarise, render. Returns the exit code."""
    from ftax_micro.analysis.pools.pool import pool_results
    from ftax_micro.cli.file_lists import listed_files
    from ftax_micro.reporters import POOL_REPORTERS

    _check(args)
    render = POOL_REPORTERS.open(args.format)
    pool = pool_results(
        read_each(_once(listed_files(args.files))),
        group=args.group,
        baseline=0 if args.baseline is None else args.baseline,
        confidence=args.confidence,
        margin=args.margin,
        probes=args.probe,
        kinds=args.kind,
    )
    cli.write_output(render(pool))
    return _verdict(pool, fails=bool(args.fail_on))


def _check(args: argparse.Namespace) -> None:
    if args.by is not None:
        raise UsageError("--by compares within each file, --group sums up many; choose one")
    if not args.files:
        raise UsageError("name result files, or a folder of them (--help: examples)")
    for name in args.fail_on:
        if name != OUTLIER:
            raise UnknownNameError("verdict of groups", name, [OUTLIER])


def _once(files: Sequence[Path]) -> list[Path]:
    """Each file once: counted twice it would pass for a repetition."""
    first: dict[str, Path] = {}
    for path in files:
        first.setdefault(os.path.realpath(path), path)
    return list(first.values())


def read_each(files: Sequence[Path]) -> Iterator[tuple[str, Result | str]]:
    """Each file's name and result, or why it has none; one at a time, so that one is in memory."""
    from ftax_micro.cli.progress import FilesLine
    from ftax_micro.results import load_result

    with FilesLine(len(files)) as line:
        for path in files:
            found: Result | str
            try:
                found = load_result(path)
            except UnreadableResultError as error:
                found = str(error).removeprefix(f"{path}: ")
            yield str(path), found
            line.file_ends()


def _verdict(pool: Pool, *, fails: bool) -> int:
    """The exit code, and on stderr what made it."""
    from ftax_micro.analysis.pools.sheets import off_hosts

    code = 0
    if pool.unread:
        files = len(pool.unread)
        name, reason = pool.unread[0]
        more = f", and {files - 1} more" if files > 1 else ""
        cli.message(f"ftax-micro: left out, since it could not be read: {name}: {reason}{more}")
        code = 1
    hosts = off_hosts(pool) if fails else {}
    for host, rows in sorted(hosts.items()):
        cli.message(f"ftax-micro: outlier: {host} is off on {rows} row(s)")
        code = 1
    return code
