"""Every error a user can meet, with the exit code a command ends with.

Exit codes: 0 done, 1 a row failed or a threshold fired, 2 wrong usage or unreadable input, 3 a
device asked for by name is not available, 4 the result could not be written, 130 / 143 interrupted
or terminated with what was measured saved.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# What a command's line on stderr begins with when it ends with one of these.
ERROR_PREFIX = "ftax-micro: error: "


class FtaxError(Exception):
    """Base of all errors raised on purpose; its text is one sentence for the user."""

    exit_code = 1


class UsageError(FtaxError):
    """An argument that makes no sense, in a command or a call."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that no plug-in, row, axis or setting has; suggests the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")
        self.kind, self.name, self.suggestions = kind, name, near


class UnreadableResultError(FtaxError):
    """A result file that is not one; names the file and, where there is one, the field."""

    exit_code = 2


class UnreadableTraceError(FtaxError):
    """A profiler's trace that is not one, or is damaged; names the file and what is wrong."""

    exit_code = 2


class DeviceUnavailableError(FtaxError):
    """A device asked for by name that cannot be used here, with the reason."""

    exit_code = 3


class OutputError(FtaxError):
    """A result that could not be written; what was measured is still in memory."""

    exit_code = 4


class MissingPackageError(FtaxError):
    """An optional package that is absent; names the extra that brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'ftax-micro[{extra}]'")


class ExtensionError(FtaxError):
    """The compiled extension is missing or belongs to another version."""


class BusyError(FtaxError):
    """Another thread of this process is measuring; two at once would time each other."""


class Skip(FtaxError):
    """Raised by a row that cannot run here; its text is the reason in the result."""


class NeedsOwnProcess(Skip):
    """Raised by a row that cannot run in this process, but could in a fresh one."""


class RecompiledError(FtaxError):
    """A forward that compiled while it was timed: its seconds are not those of what it became."""


class Hung(FtaxError):
    """The device did not answer within the watchdog's limit."""


class Interrupted(FtaxError):
    """Ctrl-C or SIGTERM; raised between samples, so that what was measured can be saved."""

    def __init__(self, signal_name: str, exit_code: int) -> None:
        super().__init__(f"stopped by {signal_name}")
        self.exit_code = exit_code
