"""The options of ``fleet`` and what they say of themselves."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path

from ftax_micro import cli
from ftax_micro.cli.measuring_only import refuse_given
from ftax_micro.errors import UnknownNameError, UsageError

_EPILOG = """\
examples:
  python -m ftax_micro.fleet launch_floor --quick
  python -m ftax_micro.fleet launch_floor --address 10.0.0.1:6379 -o floors
  python -m ftax_micro.fleet launch_floor -o floors --resume
  python -m ftax_micro.fleet launch_floor --device cuda --node gpu01,gpu02 -o two
  python -m ftax_micro.fleet launch_floor --together -o contention
  python -m ftax_micro.fleet model_latency --model bert_base --batch 1..8 -o models
  python -m ftax_micro.fleet dispatch_ladder --quick -o ladders

COMMAND is launch_floor, model_latency or dispatch_ladder; all other options are its
own (COMMAND --help) and are checked here, before anything is sent. Needs the extra
`fleet` here, and this version of ftax_micro on every node.

Each node is taken whole, all CPUs and GPUs that Ray knows of; nothing else of this
cluster runs there meanwhile. Its devices are measured one after the other, each in
a process like one started by hand. The result of each is saved when it arrives, as
HOST-DEVICE.json, with a number where two nodes have one name. In the end stand a
row for every node and device, with the reason where it is not measured, and the
comparison of all results (`compare` of the files shows it again).

exit codes: 0 done; 1 a node or a row failed, or a node was skipped; 2 wrong usage; 3
there is no cluster, or no node has the device; 4 a result could not be written; 130 /
143 interrupted or terminated, what had arrived is saved, and --resume goes on from
there
"""
COMMANDS = ("launch_floor", "model_latency", "dispatch_ladder")
# Options of the commands that a node cannot use, and what stands for them, by argparse's name.
_NOT_THERE = {
    "show": "shows a saved result, and nothing is measured",
    "list": "lists, and nothing is measured",
    "force": "replaces a file; --resume goes on with a folder, -o names another",
    "predict": "is for dispatch_ladder --show with one of the files",
    "picture": "is for dispatch_ladder --show with one of the files",
    "log": "writes a file on the node; measure there by hand to see what is logged",
    "retry_failed": "has no meaning here: --resume repeats what is not whole",
}
_LONGEST_WAIT_S = 600.0


def build_parser() -> argparse.ArgumentParser:
    """The command's arguments; `parse_args` checks those of the inner command as well."""
    parser = _Parser(
        prog="python -m ftax_micro.fleet",
        usage="%(prog)s COMMAND [options] [options of COMMAND]",
        description="""\
Run the same measurement on every node of a Ray cluster, gather the result files, and
compare them.""",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("command", metavar="COMMAND", help=argparse.SUPPRESS)
    where = parser.add_argument_group("where")
    where.add_argument(
        "--address",
        default="auto",
        metavar="HOST:PORT",
        help="of the cluster's head, from a machine of the cluster; auto: the cluster that runs on "
        "this machine, or $RAY_ADDRESS (default: auto)",
    )
    where.add_argument(
        "--node",
        type=cli.names,
        metavar="HOST[,HOST]",
        help="only these nodes, by host name or address (default: all that are alive)",
    )
    where.add_argument(
        "--device",
        default="auto",
        help="cpu, cuda (the first GPU of each node), cuda:N, all (the cpu and every GPU), or "
        "auto: every GPU, or the cpu where a node has none (default: auto)",
    )
    where.add_argument(
        "--together",
        action="store_true",
        help="measure all devices of a node at the same time, to see what they take from each "
        "other",
    )
    _add_how(parser.add_argument_group("how long", "TIME is in seconds, or has a unit: 90, 1s."))
    out = parser.add_argument_group("output")
    out.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where the files go, new or empty (default: fleet-COMMAND)",
    )
    out.add_argument(
        "--resume",
        action="store_true",
        help="go on with the FOLDER: keep the whole results that it has and measure the rest, with "
        "the same settings",
    )
    out.add_argument(
        "--format",
        default="table",
        help="table, csv, json or markdown; csv has the nodes alone (default: table)",
    )
    return parser


def _add_how(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--wait",
        type=cli.duration,
        default=_LONGEST_WAIT_S,
        metavar="TIME",
        help="skip a node that something else occupies for so long (default: %(default)gs)",
    )
    group.add_argument(
        "--limit",
        type=cli.duration,
        default=cli.LONGEST_S,
        metavar="TIME",
        help="end the measurement of a device that takes longer (default: %(default)gs, a day)",
    )


class _Parser(cli.Parser):
    """What it does not know goes to the parser of the inner command."""

    def parse_args(  # type: ignore[override]  # for what this package passes
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Adds `arguments`, the inner command's own, and the `study` that these name. Errors:
        `UsageError`, for the inner command's options as well.
        """
        found, rest = self.parse_known_args(args, namespace)
        found.command = found.command.replace("-", "_")
        if found.command not in COMMANDS:
            raise UnknownNameError("command of a fleet", found.command, COMMANDS)
        if found.output is None:
            found.output = Path(f"fleet-{found.command}")
        found.arguments = rest
        _check_inner(found)
        return found


def _check_inner(found: argparse.Namespace) -> None:
    options = importlib.import_module(f"ftax_micro.cli.{found.command}_options")
    parser: argparse.ArgumentParser = options.build_parser()
    inner = parser.parse_args(found.arguments)
    for name, why in _NOT_THERE.items():
        if hasattr(inner, name):
            refuse_given(parser, inner, [name], why)
    options.check_options(parser, inner)
    if hasattr(inner, "min_time"):
        cli.sampling_plan(inner)
    if found.command == "model_latency" and not (inner.study or inner.model):
        raise UsageError("which model? --model NAME; model_latency --list names them")
    found.study = getattr(inner, "study", None)
