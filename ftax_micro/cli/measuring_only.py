"""Options that do nothing where nothing is measured, refused: somebody counts on them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from ftax_micro.errors import UsageError

# The sampling options (`cli.add_sampling_options`), by the names argparse gives them.
SAMPLING = (
    *("quick", "processes", "min_samples", "min_time", "timeout", "confidence", "watchdog"),
)
SHOWN = "is for measuring; --show shows a result as it was saved"
LISTED = "is for measuring; --list lists all"


def refuse_given(
    parser: argparse.ArgumentParser, args: argparse.Namespace, names: Iterable[str], why: str
) -> None:
    """Errors: `UsageError` with `why` for the first of `names` that is not as by default."""
    for name in names:
        if getattr(args, name) != parser.get_default(name):
            raise UsageError(f"--{name.replace('_', '-')} {why}")


def refuse_both(args: argparse.Namespace) -> None:
    """Errors: `UsageError` for --show with --list."""
    if args.show and args.list:
        raise UsageError("--show and --list are two things; choose one")


def refuse_measuring(
    parser: argparse.ArgumentParser, args: argparse.Namespace, names: Iterable[str]
) -> None:
    """With --show or --list: errors, `UsageError`, for an output, both, and any of `names`; with
    --show for a device, too, which --list asks for its rows.
    """
    if args.output:
        raise UsageError("-o saves what is measured; --show and --list measure nothing")
    refuse_both(args)
    if args.show:
        refuse_given(parser, args, (*names, "device"), SHOWN)
    else:
        refuse_given(parser, args, names, LISTED)
