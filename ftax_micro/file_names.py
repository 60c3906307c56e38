"""Names of files with fields in braces, which many machines, ranks and devices fill differently.

So that one command line does for all of a cluster, and no run meets another's file. Help texts
list the fields: nothing that costs time is imported before a name is filled in.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ftax_micro.errors import UsageError

# What may stand in braces, and what it becomes.
FIELDS = {
    "host": "the machine's name",
    "device": "cpu, cuda-0 ...; of several devices each gets a file",
    "rank": "of srun, mpirun, torchrun ..., from 0",
    "local_rank": "among the ranks of the node, from 0",
    "node": "the node's number in the job, from 0",
    "job": "the scheduler's job, of an array JOB_TASK",
    "date": "20261231, in UTC",
    "time": "20261231T235959Z, when the command began",
    "pid": "the process",
}
RANK_FIELDS = frozenset({"rank", "local_rank"})
# Of these the next run has another, and so does not find the file.
PASSING_FIELDS = frozenset({"date", "time", "pid"})
_NO_RANK = "no launcher (srun, mpirun, torchrun ...) says so of this process"
_WHY_EMPTY = {
    "rank": _NO_RANK,
    "local_rank": _NO_RANK,
    "node": _NO_RANK,
    "job": "this is no scheduler's job",
    "device": "nothing is measured",
    "host": "this machine has no name",
}
# Neither a separator of any system, nor what a shell or a URL takes for something else.
_UNSAFE = re.compile(r"[^\w.+-]+")
_LONGEST = 100


@dataclass(frozen=True)
class FileName:
    """A path whose text may hold fields; `option` is what a user typed before it."""

    text: str
    option: str
    parts: tuple[tuple[str, str | None], ...]

    @property
    def fields(self) -> frozenset[str]:
        """The names in braces."""
        return frozenset(field for _, field in self.parts if field is not None)

    @property
    def makes_folders(self) -> bool:
        """Whether a folder's name has a field, so that nobody could have made it before."""
        return bool(_parsed(str(Path(self.text).parent), self.option).fields)

    def path(self, values: Mapping[str, str]) -> Path:
        """The file. Errors: `UsageError` for a field that is not in `values`."""
        for field in sorted(self.fields - values.keys()):
            known = ", ".join(f"{{{name}}}" for name in FIELDS if name in values)
            why = _WHY_EMPTY.get(field, "it is not known")
            raise UsageError(
                f"{self.option} {self.text}: {{{field}}} has no value here, since {why}; there are "
                f"{known}"
            )
        filled = (literal + (values[field] if field else "") for literal, field in self.parts)
        return Path("".join(filled))


def parse_name(path: str | os.PathLike[str], option: str = "-o") -> FileName:
    """The name that `path` stands for. Errors: `UsageError` for a field that is none of `FIELDS`,
    and for a brace that is neither part of one nor doubled.
    """
    name = _parsed(os.fspath(path), option)
    for field in sorted(name.fields - FIELDS.keys()):
        known = ", ".join(f"{{{each}}}" for each in FIELDS)
        raise UsageError(
            f"{option} {name.text}: there is no field {{{field}}}; there are {known}; {{{{ stands "
            "for a brace"
        )
    return name


def _parsed(text: str, option: str) -> FileName:
    parts = []
    try:
        for literal, field, form, conversion in string.Formatter().parse(text):
            whole = field
            if field is not None and (form or conversion):
                whole = f"{field}!{conversion}" if conversion else f"{field}:{form}"
            parts.append((literal, whole))
    except ValueError:
        raise UsageError(
            f"{option} {text}: a brace without its other half; {{{{ and }}}} stand for braces"
        ) from None
    return FileName(text, option, tuple(parts))


def literal(path: str | os.PathLike[str]) -> str:
    """`path` as a name without fields: braces in it stand for themselves."""
    return os.fspath(path).replace("{", "{{").replace("}", "}}")


def values_here(
    device: str | None = None, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What the fields are here, safe in a file's name; what has no value is not there."""
    import socket
    from datetime import datetime, timezone

    from ftax_micro.environment.ranks import job_of, launched

    environ = os.environ if environ is None else environ
    launch = launched(environ)
    now = datetime.now(timezone.utc)
    found: dict[str, object] = {
        "host": socket.gethostname(),
        "device": device,
        "rank": launch and launch.rank,
        "local_rank": launch and launch.local_rank,
        "node": launch and launch.node,
        "job": job_of(environ),
        "date": f"{now:%Y%m%d}",
        "time": f"{now:%Y%m%dT%H%M%SZ}",
        "pid": os.getpid(),
    }
    safe = {name: safe_text(str(value)) for name, value in found.items() if value is not None}
    return {name: text for name, text in safe.items() if text}


def safe_text(text: str) -> str:
    """`text` as part of a file's name on any system: ``NVIDIA H100/80 GB`` is NVIDIA-H100-80-GB."""
    return _UNSAFE.sub("-", text).strip("-.")[:_LONGEST]
