"""``python -m ftax_micro.fleet``: the same measurement on every machine of a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.cli.fleet_options import build_parser
from ftax_micro.errors import ERROR_PREFIX, UnknownNameError, UsageError

if TYPE_CHECKING:
    from ftax_micro.analysis.comparing.comparison import Comparison
    from ftax_micro.clusters.contract import Cluster, Job, Node
    from ftax_micro.orchestration.fleet.book import Book, Settings
    from ftax_micro.orchestration.fleet.run import FleetRun
    from ftax_micro.orchestration.interrupts import Interrupts

# Beyond these the comparison is longer than anybody reads, and takes its time.
_MOST_COMPARED = 32
_STUDY = "study.toml"


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, send, gather, compare, render. Returns the exit code."""
    args = build_parser().parse_args(argv)
    from ftax_micro.orchestration.fleet.book import Book, check_folder
    from ftax_micro.orchestration.fleet.cluster_process import open_cluster
    from ftax_micro.orchestration.interrupts import catch_signals
    from ftax_micro.reporters import FLEET_REPORTERS

    FLEET_REPORTERS.open(args.format)  # an unknown format is no reason to measure first
    check_folder(args.output, resume=args.resume)
    job, settings = _job(args)
    with (
        open_cluster("ray", args.address) as cluster,
        Book(args.output, settings, resume=args.resume) as book,
        catch_signals() as interrupts,
    ):
        run = _measure(args, cluster, job, book, interrupts)
        cluster.close()  # what was measured is shown; nobody has to wait for that
        return _show(args, run, book, interrupts)


def _job(args: argparse.Namespace) -> tuple[Job, Settings]:
    """What each node is told, and what makes another run the same."""
    import hashlib

    from ftax_micro import __version__
    from ftax_micro.devices._extension import core
    from ftax_micro.orchestration.fleet.book import Settings

    build = core().source_digest
    files = _files(args)
    again = ["--study", _STUDY] if files else []  # the last one counts
    job = {
        "command": args.command,
        "arguments": [*args.arguments, *again],
        "files": files,
        "device": args.device,
        "together": args.together,
        "limit_s": args.limit,
        "version": __version__,
        "build": build,
    }
    settings = Settings(
        command=args.command,
        arguments=args.arguments,
        device=args.device,
        together=args.together,
        files={name: hashlib.sha256(text).hexdigest() for name, text in files.items()},
        ftax_micro=f"{__version__} ({build[:12]})",
    )
    return job, settings


def _files(args: argparse.Namespace) -> dict[str, bytes]:
    """What goes to the nodes, which may not have it. Errors: `UsageError` for a bad study."""
    if not args.study:
        return {}
    from ftax_micro.orchestration.latency.study import load_study

    load_study(args.study)
    return {_STUDY: args.study.read_bytes()}


def _measure(
    args: argparse.Namespace, cluster: Cluster, job: Job, book: Book, interrupts: Interrupts
) -> FleetRun:
    from ftax_micro.cli.progress import FleetLine
    from ftax_micro.orchestration.fleet.run import FleetRun

    nodes = _chosen(cluster.nodes(), args.node)
    with FleetLine(len(nodes), cli.message) as progress:
        run = FleetRun(
            cluster,
            nodes,
            job,
            book,
            wait_s=args.wait,
            interrupts=interrupts,
            progress=progress,
        )
        run.run()
    return run


def _chosen(nodes: Sequence[Node], names: Sequence[str] | None) -> list[Node]:
    """Errors: `UnknownNameError` for a name that no node has."""
    for name in names or ():
        if not any(name in (node.host, node.address) for node in nodes):
            raise UnknownNameError("node", name, {node.host for node in nodes})
    return [n for n in nodes if names is None or n.host in names or n.address in names]


def _show(args: argparse.Namespace, run: FleetRun, book: Book, interrupts: Interrupts) -> int:
    from ftax_micro.orchestration.fleet.outcomes import exit_code, fleet_sheet, tally
    from ftax_micro.reporters import FLEET_REPORTERS

    stopped = interrupts.pending
    comparison, note = _comparison(book)
    sheet = fleet_sheet(run.outcomes, [*run.notes, *([note] if note else [])])
    cli.write_output(FLEET_REPORTERS.open(args.format)(sheet, comparison))
    if run.unwritten:
        cli.message(f"{ERROR_PREFIX}{run.unwritten}")
    if stopped:
        cli.message(f"ftax-micro: {stopped}; --resume goes on from there")
    cli.message(f"ftax-micro: {tally(run.outcomes)}, in {args.output}")
    return exit_code(run.outcomes, stopped, run.unwritten)


def _comparison(book: Book) -> tuple[Comparison | None, str | None]:
    """Of all whole results that are there; or a sentence on why there is none."""
    from ftax_micro.analysis.comparing.comparison import compare_results
    from ftax_micro.results import Result

    entries = {entry.file: entry for entry in book.entries if entry.file}
    found = {name: book.result(entry) for name, entry in entries.items()}
    results: dict[str, Result] = {name: each for name, each in found.items() if each}
    if len(results) < 2:
        return None, None
    if len(results) > _MOST_COMPARED:
        return None, f"{len(results)} results: compare {book.folder} --group gpu,cpu sums them up"
    labels = [Path(name).stem for name in results]
    try:
        comparison = compare_results(list(results.values()), labels=labels)
    except UsageError as error:
        return None, f"not compared: {error}"
    if not comparison.comparisons:
        return None, "not compared: the results have no row in common"
    return comparison, None


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
