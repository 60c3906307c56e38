"""``python -m ftax_micro.bound_analysis``: what explains a latency?"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.errors import UnreadableResultError, UsageError

if TYPE_CHECKING:
    from ftax_micro.analysis.bounds_view import BoundRow
    from ftax_micro.results import Result

_EPILOG = """\
examples:
  python -m ftax_micro.model_latency --model bert_base,resnet50 --twin --machine -o models.json
  python -m ftax_micro.bound_analysis models.json            bounds, tax and regime of every case
  python -m ftax_micro.bound_analysis models.json --floor floor.json
  python -m ftax_micro.bound_analysis trace.json.gz          the steps of a PyTorch profiler's trace

It only computes: everything that needs a machine was recorded before. Bounds need the launch floor
of the same machine, recorded with --machine or given by --floor; on the cpu also the models'
zero-work twins (--twin), on a GPU their device pass, which model_latency records by itself. Of
traces it tells latency, busy and idle time by cause, not yet bounds.

exit codes: 0 done; 2 wrong usage or unreadable input; 4 the result could not be written
"""
# Enough for the first keys of a result.
_HEAD_BYTES = 4096


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = cli.Parser(
        prog="python -m ftax_micro.bound_analysis",
        usage="%(prog)s FILE [FILE …] [options]",
        description="""\
Set a latency beside its bounds: what the kernels alone would take, what launching
them one by one would, and what one graph of them would. The rest is the framework
tax. Says which of them binds: the device, the launches, or the framework.""",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="results of model_latency or of the main job, and traces of the PyTorch profiler "
        "(.json, .json.gz)",
    )
    parser.add_argument(
        "--floor",
        type=Path,
        metavar="FILE",
        help="a result with the launch floor (default: each file's own)",
    )
    parser.add_argument(
        "--format", default="table", help="table, csv, json or markdown (default: table)"
    )
    return parser


def command(argv: Sequence[str] | None = None) -> int:
    """Parse, load, compute, render. Returns the exit code."""
    args = build_parser().parse_args(argv)
    from ftax_micro.reporters import BOUND_REPORTERS

    render = BOUND_REPORTERS.open(args.format)
    floor = _floor(args.floor) if args.floor else None
    rows = [row for path in args.files for row in _rows(path, floor)]
    cli.write_output(render(rows))
    return 0


def _rows(path: Path, floor: Result | None) -> list[BoundRow]:
    from ftax_micro.analysis.bounds_view import rows_of_result, rows_of_trace

    if not _is_result(path):
        from ftax_micro.analysis.traces.pytorch import read_pytorch_trace

        return rows_of_trace(path.name, read_pytorch_trace(path))
    from ftax_micro.results import load_result

    result = load_result(path)
    if not result.cases:
        raise UsageError(f"{path} is a result of {result.kind}: it has no models to analyse")
    if floor is not None:
        _warn_of_another_machine(path, result, floor)
    return rows_of_result(path.name, result, floor)


def _is_result(path: Path) -> bool:
    """Whether the file is one of ours: its first keys tell."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
        if head[:2] == b"\x1f\x8b":
            with gzip.open(path) as unpacked:
                head = unpacked.read(_HEAD_BYTES)
    except (OSError, EOFError, ValueError) as error:
        words = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UnreadableResultError(f"{path}: {words}") from error
    return b'"schema_version"' in head


def _floor(path: Path) -> Result:
    from ftax_micro.results import load_result

    result = load_result(path)
    if not result.measurements:
        raise UsageError(f"{path} is a result of {result.kind}: it has no launch floor")
    return result


def _warn_of_another_machine(path: Path, result: Result, floor: Result) -> None:
    def name(each: Result) -> str:
        models = ", ".join(str(device.model) for device in each.devices)
        return f"{each.environment.hostname or 'a machine without a name'} ({models})"

    if result.environment.hostname != floor.environment.hostname:
        cli.message(
            f"warning: {path} was measured on {name(result)}, the floor on {name(floor)}: bounds "
            "hold where both are the same machine"
        )


def main() -> int:
    """Console entry."""
    return cli.run(command)


if __name__ == "__main__":
    sys.exit(main())
