"""Studies: workloads and settings in a TOML file, read strictly.

title = "…"                      source = "…"
machine = true                   # also the launch floor and the rooflines
[plan]                           # what differs from the usual settings
min_samples = 100                timeout_s = 60.0
[[workloads]]                    # every combination of what one table lists
models = ["bert_base"]           modes = ["eager"]        dtypes = ["fp32", "fp16"]
batches = "1..128"               sequences = [64, 128]    images = [224]    audios = [32000]
lengths = "penn_treebank"        twin = true
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.models.lengths import check_lengths
from ftax_micro.modes import MODES
from ftax_micro.orchestration.latency.requests import (
    Task,
    check_modes,
    joined,
    requests_for,
)
from ftax_micro.records import Plan
from ftax_micro.units import parse_sizes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MOST_SIZE = 1 << 30
Range = list[int] | str


class StudyPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings that a study has of its own; seconds."""

    min_samples: int | None = None
    timeout_s: float | None = None


class StudyWorkloads(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every combination of what is listed; sizes are numbers, or ``1..128``."""

    models: list[str]
    modes: list[str] | None = None
    dtypes: list[str] = msgspec.field(default_factory=lambda: ["fp32"])
    batches: Range | None = None
    sequences: Range | None = None
    images: Range | None = None
    audios: Range | None = None
    lengths: str | None = None
    twin: bool = False


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one experiment measures; `source` says where it is from."""

    title: str
    source: str = ""
    machine: bool = False
    plan: StudyPlan = StudyPlan()
    workloads: list[StudyWorkloads]

    def tasks(self, device: str = "cpu", threads: int = 1) -> list[Task]:
        """The study's workloads on `device`, each once, with all modes that it is wanted in.

        Errors: as `requests_for`.
        """
        return joined(
            task for table in self.workloads for task in _tasks_of(table, device, threads)
        )

    def on(self, plan: Plan) -> Plan:
        """`plan` with the study's own settings."""
        own = {name: getattr(self.plan, name) for name in StudyPlan.__struct_fields__}
        given = {name: value for name, value in own.items() if value is not None}
        return msgspec.structs.replace(plan, **given)


def load_study(path: Path) -> Study:
    """The study in the file `path`, all its models, modes and sizes checked.

    Errors: `UsageError` naming the file, and the line and the key where one is wrong, with the
    nearest known one.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from error
    where = _Places(path, text)
    _check_keys(raw, Study, where, None)
    if isinstance(raw.get("plan"), dict):
        _check_keys(raw["plan"], StudyPlan, where, ("plan", 0))
    tables = raw.get("workloads")
    for index, table in enumerate(tables if isinstance(tables, list) else []):
        if isinstance(table, dict):
            _check_keys(table, StudyWorkloads, where, ("workloads", index))
    try:
        study = msgspec.convert(raw, Study)
    except msgspec.ValidationError as error:
        raise UsageError(where.of_path(str(error))) from error
    for index, each in enumerate(study.workloads):
        _check_workloads(each, where.line(("workloads", index), None))
    return study


def _check_workloads(table: StudyWorkloads, place: str) -> None:
    try:
        _tasks_of(table, "cpu", 1)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from error


def _tasks_of(table: StudyWorkloads, device: str, threads: int) -> list[Task]:
    if table.lengths is not None:
        check_lengths(table.lengths)
    modes = tuple(check_modes(table.modes or MODES))
    requests = requests_for(
        table.models,
        dtypes=table.dtypes,
        batch=_sizes(table.batches),
        sequence=_sizes(table.sequences),
        image=_sizes(table.images),
        audio=_sizes(table.audios),
        device=device,
        threads=threads,
        lengths=table.lengths,
        twin=table.twin,
    )
    return [Task(request, modes) for request in requests]


def _sizes(sizes: Range | None) -> Sequence[int] | None:
    try:
        return parse_sizes(sizes, _MOST_SIZE) if isinstance(sizes, str) else sizes
    except ValueError as error:
        raise UsageError(str(error)) from error


Table = tuple[str, int] | None  # its name and which of that name; None at the top


class _Places:
    """Where something stands in a file, for errors. What is written in an unusual way (dotted or
    quoted keys) is found by its table alone.
    """

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def line(self, table: Table, key: str | None) -> str:
        """``file:line`` of `key` in `table`, or of the table."""
        first, end = self._extent(table)
        for number in range(first, end):
            if key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", self._lines[number]):
                return f"{self._path}:{number + 1}"
        return f"{self._path}:{max(first, 1)}" if table else str(self._path)

    def of_path(self, message: str) -> str:
        """An error of msgspec's, whose path is in backticks at the end, with file and line."""
        what, _, path = message.rpartition(" - at ")
        if not what:
            return f"{self._path}: {message}"
        names = re.findall(r"\w+|\[\d+\]", path.strip("`$"))
        table: Table = None
        if names and names[0] in ("workloads", "plan"):
            numbers = [int(name.strip("[]")) for name in names[1:2] if name.startswith("[")]
            table = (names[0], numbers[0] if numbers else 0)
            names = [name for name in names[1:] if not name.startswith("[")]
        key = next((name for name in names if not name.startswith("[")), None)
        return f"{self.line(table, key)}: {key or path}: {what}"

    def _extent(self, table: Table) -> tuple[int, int]:
        """The lines of `table`, from the one after its header on."""
        headers = [n for n, line in enumerate(self._lines) if re.match(r"\s*\[", line)]
        headers = [n for n in headers if re.match(r"\s*\[\[?\s*[\w.\"']+\s*\]", self._lines[n])]
        if table is None:
            return 0, headers[0] if headers else len(self._lines)
        name, index = table
        own = [n for n in headers if self._lines[n].strip(" \t[]").split("]")[0] == name]
        if index >= len(own):
            return 0, len(self._lines)
        after = [n for n in headers if n > own[index]]
        return own[index] + 1, after[0] if after else len(self._lines)


def _check_keys(raw: dict[str, Any], kind: type[msgspec.Struct], where: _Places, at: Table) -> None:
    for key in raw:
        if key not in kind.__struct_fields__:
            error = UnknownNameError("key", key, kind.__struct_fields__)
            raise UsageError(f"{where.line(at, key)}: {error}")
