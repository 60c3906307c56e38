"""What all commands share: argument types, messages, exit codes, closed pipes.

Imported by ``--help``, so it imports nothing that costs time.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from ftax_micro.errors import ERROR_PREFIX, FtaxError, Interrupted, OutputError, UsageError
from ftax_micro.file_names import FIELDS
from ftax_micro.units import parse_seconds

if TYPE_CHECKING:
    from ftax_micro.orchestration.interrupts import Interrupts
    from ftax_micro.records import Plan
    from ftax_micro.results import Result

# Beyond these a setting is a slip of the keyboard: no row gets better by a day, and every sample is
# stored (10⁷ of them are a file of some 200 MB a row).
LONGEST_S = 86_400.0
MOST_SAMPLES = 10_000_000
# What tables are drawn and written with, for terminals and locales that know ASCII only.
_LIKENESS = {"─": "-", "–": "-", "…": "..", "µ": "u", "±": "+-", "→": "->", "×": "x"}
# How far past its sampling timeout a row may go (warm-up, calibration, module loads) before the
# device is taken for hung.
WATCHDOG_S = 60.0


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, like all others."""

    def error(self, message: str) -> NoReturn:
        """Errors: `UsageError`, always."""
        raise UsageError(f"{message} (--help shows the usage)")


def message(text: str) -> None:
    """A line for the user on stderr; stdout belongs to the result. A file name stays on it."""
    # A closed stderr (2>&-) is None, one whose reader has gone raises: nobody is left to tell.
    with contextlib.suppress(AttributeError, OSError):
        line = text.replace("\n", "\\n")
        sys.stderr.write(f"{line}\n")


def write_output(text: str) -> None:
    """The command's result on stdout. Errors: `OutputError` where that is full."""
    if sys.stdout is None:  # closed (>&-)
        return
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to stdout: {error.strerror or error}") from error


def run(command: Callable[[Sequence[str] | None], int], argv: Sequence[str] | None = None) -> int:
    """Run `command`, turning every expected error into one line and its exit code."""
    try:
        _accept_any_encoding()
        return command(argv)
    except BrokenPipeError:  # the reader (head, less) has gone; that is not an error
        _drop_unwritten()
        return 0
    except Interrupted as error:
        message(f"ftax-micro: {error} before anything was measured")
        return error.exit_code
    except FtaxError as error:
        message(f"{ERROR_PREFIX}{error}")
        if isinstance(error, OutputError):
            _drop_unwritten()
        return error.exit_code
    except KeyboardInterrupt:
        message("ftax-micro: interrupted")
        return 130


def _accept_any_encoding() -> None:
    """A terminal without µ gets a u, and for what has no likeness an escape; no run ends by it."""
    codecs.register_error("ftax_plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="ftax_plain")


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """A codec's error handler: the likeness in ASCII of what cannot be written."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    escaped = (c.encode("ascii", "backslashreplace").decode() for c in characters)
    return "".join(map(_LIKENESS.get, characters, escaped)), error.end


def _drop_unwritten() -> None:
    """What cannot be written stays in the buffers, and Python would complain of it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not _flushes(stream):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _flushes(stream: TextIO) -> bool:
    try:
        stream.flush()
    except OSError:
        return False
    return True


def whole_number(most: int) -> Callable[[str], int]:
    """An argparse type: a whole number from 1 to `most`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from error
        if not 1 <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between 1 and {most}")
        return value

    return parse


def duration(text: str) -> float:
    """An argparse type: seconds, as ``0.5``, ``200ms`` or ``1s``, up to a day."""
    try:
        value_s = parse_seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 0.5, 200ms or 1s") from error
    if value_s > LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text} is longer than a day")
    return value_s


def confidence(text: str) -> float:
    """An argparse type: a probability as 0.95 or 95 (per cent), from 0.5 up to below 1."""
    try:
        value = float(text.rstrip("%"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no confidence; write 0.95 or 95%") from error
    value = value / 100 if value > 1 else value
    if not 0.5 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0.5 and 1")
    return value


def names(text: str) -> list[str]:
    """An argparse type: a list separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name")
    return parts


def add_sampling_options(
    group: argparse._ArgumentGroup, timeout: str = "15s [1s]", watchdog_s: float = WATCHDOG_S
) -> None:
    """The options of every command that samples, with the command's own times; `sampling_plan`
    reads them.
    """
    group.add_argument(
        "--quick",
        action="store_true",
        help="seconds instead of a minute or more: intervals of 3 %% instead of 1 %%, and the "
        "shorter times in brackets below",
    )
    group.add_argument(
        "--processes",
        type=whole_number(1000),
        metavar="N",
        help="repeat everything in N fresh processes, since one hides what differs between "
        "processes; 5 for anything published (default: what takes nanoseconds, such "
        "as a call, in 5 to 25 that share its time, everything else in one)",
    )
    group.add_argument(
        "--min-samples",
        type=whole_number(MOST_SAMPLES),
        metavar="N",
        help="samples of a row at least (default: 100 [30])",
    )
    group.add_argument(
        "--min-time",
        type=duration,
        metavar="TIME",
        help="sample a row for so long at least (default: 0.5s [0.1s])",
    )
    group.add_argument(
        "--timeout",
        type=duration,
        metavar="TIME",
        help=f"sample a row for so long at most (default: {timeout})",
    )
    group.add_argument(
        "--confidence",
        type=confidence,
        metavar="P",
        help="of the intervals, 0.5 to below 1, or in per cent (default: 0.95)",
    )
    group.add_argument(
        "--watchdog",
        type=duration,
        default=watchdog_s,
        metavar="TIME",
        help="when a row goes on for so long after its timeout, take the device for hung: save "
        "what was measured and leave (default: %(default)gs)",
    )


def add_output_options(group: argparse._ArgumentGroup, *more_formats: str) -> None:
    """The options of every command that saves what it measured."""
    formats = ", ".join(["table", "csv", "json", *more_formats])
    fields = "\n".join(f"  {'{' + name + '}':<13} {what}" for name, what in FIELDS.items())
    group.description = f"""\
What stands in braces in FILE is filled in; folders named so are made:
{fields}
{{{{ and }}}} are braces. Of the ranks on a node one measures, unless FILE has {{rank}} or
{{local_rank}}."""
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="save everything, raw samples included, as JSON (default: saved nowhere)",
    )
    group.add_argument("--force", action="store_true", help="replace an existing FILE")
    group.add_argument("--format", default="table", help=f"{formats} or markdown (default: table)")


def measured_and_shown(
    measure: Callable[[Interrupts], tuple[Result, int]], show: Callable[[Result], None]
) -> tuple[Result, int]:
    """What `measure` gives, shown, and its exit code or that of a signal.

    Until it is shown, Ctrl-C and SIGTERM end the measuring and nothing else: what was measured
    and saved nowhere would be lost while it is rendered.
    """
    from ftax_micro.orchestration.interrupts import catch_signals

    with catch_signals() as interrupts:
        result, code = measure(interrupts)
        in_time = interrupts.pending
        show(result)
    late = None if in_time else interrupts.pending
    if late:
        message(f"ftax-micro: {late}, when all was measured; it is shown")
    return result, code or (late.exit_code if late else 0)


def sampling_plan(args: argparse.Namespace) -> Plan:
    """The plan that the sampling options ask for. Errors: `UsageError` where they contradict."""
    import msgspec

    from ftax_micro.records import QUICK_PLAN, Plan

    base = QUICK_PLAN if args.quick else Plan()
    given = {
        "min_samples": args.min_samples,
        "min_time_s": args.min_time,
        "timeout_s": args.timeout,
        "confidence": args.confidence,
    }
    plan = msgspec.structs.replace(base, **{k: v for k, v in given.items() if v is not None})
    if plan.timeout_s < plan.min_time_s:
        raise UsageError(
            f"--timeout ({plan.timeout_s:g} s) is below --min-time ({plan.min_time_s:g} s); raise "
            "the one or lower the other"
        )
    return msgspec.structs.replace(plan, max_samples=max(plan.max_samples, plan.min_samples))
