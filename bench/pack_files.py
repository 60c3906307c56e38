"""The files of bench/results, by machine: what `packs.py` tells of them follows from these alone.

A *pack* is all files of one machine: its GPUs, or else its processor, and how many of its cores
were there to use. Files of one pack are named alike, `<machine>-<what>.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath

import msgspec
from common import machine_name
from rows import Report

from ftax_micro.__main__ import COMMANDS
from ftax_micro.analysis.comparing.differences import run_facts
from ftax_micro.analysis.floor.view import floor_view
from ftax_micro.analysis.ladder_view import LadderRow, ladder_view
from ftax_micro.analysis.summary import Summary
from ftax_micro.analysis.views.contract import Question, Source
from ftax_micro.errors import UnreadableResultError
from ftax_micro.results import Result, load_result
from ftax_micro.trust import trust_warnings

# Why a published file has no host name; files of a machine then still count as of the same one.
NO_HOST = "left out of what is published"
_PACKAGES = ("torch", "transformers", "onnxruntime", "onnxruntime-gpu", "triton", "numpy", "numba")
# What a bench report calls facts that a result has too.
_OF_REPORT = {
    "cpu": "cpu",
    "hypervisor": "hypervisor",
    "clock source": "clock_source",
    "os": "os",
    "kernel": "kernel",
    "python": "python",
}
Key = tuple[tuple[str, ...], str, int]


@dataclass(frozen=True)
class PackFile:
    """One file: a result of ours, or the reports of bench scripts."""

    path: Path
    result: Result | None = None
    reports: tuple[Report, ...] = ()

    @property
    def what(self) -> str:
        """The last part of its name, which says what it holds."""
        return self.path.stem.removeprefix(f"{self.slug}-")

    @property
    def slug(self) -> str:
        """The first part of its name, as its machine is called in file names."""
        return machine_name({"gpus": list(self.key[0]), "cpu": self.key[1]})

    @property
    def key(self) -> Key:
        """GPUs, processor and its logical CPUs: where these agree, the machine does."""
        if self.result is None:
            machine = self.reports[0].machine
            gpus = machine["gpus"] if isinstance(machine["gpus"], list) else []
            names = tuple(text.partition(", driver")[0] for text in gpus)
            return names, str(machine["cpu"]), int(str(machine["logical_cpus"]))
        environment = self.result.environment
        names = tuple(str(gpu.name) for gpu in environment.gpus or [])
        return names, str(environment.host.cpu_model), environment.host.logical_cpus or 0

    @cached_property
    def facts(self) -> Mapping[str, str]:
        """What may be different about its machine or its software, in words."""
        if self.result is None:
            return _facts_of_report(self.reports[0])
        facts, packages = run_facts(self.result), self.result.environment.process.packages
        kernel = facts.get("kernel", "").split("-")[0].split(" ")[0]
        facts |= {"kernel": kernel, "ftax_micro": self.result.tool_version}
        facts["logical cpus"] = f"{self.result.environment.host.logical_cpus}"
        return {**facts, **{name: packages[name] for name in _PACKAGES if name in packages}}

    @cached_property
    def warnings(self) -> Sequence[str]:
        """What speaks against its numbers, in sentences."""
        if self.result is None:
            told = [report.machine.get("warnings") for report in self.reports]
            lists = [each for each in told if isinstance(each, list)]
            return list(dict.fromkeys(line for each in lists for line in each))
        cuda = [device for device in self.result.devices if device.kind == "cuda"]
        uuids = [str(device.facts["uuid"]) for device in cuda if "uuid" in device.facts]
        found = trust_warnings(self.result.environment, gpu_uuids=uuids)
        return [warning.sentence for warning in found]

    @cached_property
    def floor(self) -> list[Summary]:
        """The rows of its launch floor, none where it has none."""
        return [] if self.result is None else floor_view(self.result).rows

    @cached_property
    def ladder(self) -> list[LadderRow]:
        """The rungs of its ladder, none where it has none."""
        return [] if self.result is None else ladder_view(self.result).rows

    @property
    def dates(self) -> list[str]:
        """The days on which it was measured."""
        of = [self.result] if self.result is not None else self.reports
        return sorted({each.created_at[:10] for each in of})


@dataclass(frozen=True)
class Pack:
    """All files of one machine, in the order of their names."""

    files: tuple[PackFile, ...]

    @property
    def gpus(self) -> tuple[str, ...]:
        """The names of its GPUs."""
        return self.files[0].key[0]

    @property
    def title(self) -> str:
        """GPU, or else processor, and where this is a part of one, how much of it."""
        gpus, cpu, count = self.files[0].key
        names = [f"{gpus.count(name)} × {name}" for name in dict.fromkeys(gpus)]
        names = [name.removeprefix("1 × ") for name in names]
        return f"{', '.join(names) or cpu}, {count} logical CPUs"

    @property
    def short(self) -> str:
        """What to call it where there is little room."""
        name = (self.gpus or self.files[0].key[1:2])[0]
        return " ".join(re.sub(r"\((R|TM)\)|Processor|CPU|@", " ", name).split())

    @cached_property
    def question(self) -> Question:
        """Its results as an analysis asks for them: a floor of one serves the models of another."""
        found = [(each.what, each.result) for each in self.files if each.result is not None]
        return Question(tuple(Source(name, result) for name, result in found))


def read_packs(folder: Path) -> list[Pack]:
    """The packs of `folder`, machines with a GPU first. Errors: `UnreadableResultError`."""
    packs: dict[Key, list[PackFile]] = {}
    for path in sorted(folder.glob("*.json")):
        file = read_file(path)
        packs.setdefault(file.key, []).append(file)
    order = sorted(packs, key=lambda key: (not key[0], key))
    return [Pack(tuple(packs[key])) for key in order]


def read_file(path: Path) -> PackFile:
    """One file. Errors: `UnreadableResultError` where it is neither a result nor reports."""
    try:
        raw = msgspec.json.decode(path.read_bytes())
        if isinstance(raw, dict) and "bench" not in raw:
            return PackFile(path, result=load_result(path))
        reports = msgspec.convert(raw if isinstance(raw, list) else [raw], tuple[Report, ...])
    except (OSError, msgspec.DecodeError) as error:
        raise UnreadableResultError(f"{path}: no list of bench reports: {error}") from error
    if not reports:
        raise UnreadableResultError(f"{path}: no list of bench reports, but an empty one")
    return PackFile(path, reports=reports)


def published(result: Result) -> Result:
    """`result` without the host's name, and without folders in its command line."""
    environment = result.environment
    return msgspec.structs.replace(
        result,
        environment=msgspec.structs.replace(
            environment,
            hostname=None,
            unknown={**environment.unknown, "hostname": NO_HOST},
            command=plain_command(environment.command),
        ),
    )


def plain_command(words: Sequence[str]) -> list[str]:
    """A command line without folders. Until 0.1.0 was done, results named a command of ours by its
    file, wherever that was installed.
    """
    program = PurePosixPath(words[0]) if words else None
    if program is not None and program.parent.name == "ftax_micro" and program.stem in COMMANDS:
        words = ["python", "-m", f"ftax_micro.{program.stem}", *words[1:]]
    return [without_folder(word) for word in words]


def without_folder(word: str) -> str:
    """A word of a command line; of a path from the root on, or in somebody's home, its last part.

    >>> without_folder("--log=/home/someone/a.log"), without_folder("runs/floor.json")
    ('--log=a.log', 'runs/floor.json')
    """
    option, equals, value = word.rpartition("=")
    if value.startswith(("/", "~")):
        value = PurePosixPath(value).name
    elif PureWindowsPath(value).is_absolute():
        value = PureWindowsPath(value).name
    return f"{option}{equals}{value}"


def _facts_of_report(report: Report) -> dict[str, str]:
    machine = report.machine
    facts = {name: machine.get(key) for name, key in _OF_REPORT.items()}
    facts["logical cpus"], facts["ftax_micro"] = machine["logical_cpus"], machine["ftax_micro"]
    for text in machine["gpus"] if isinstance(machine["gpus"], list) else []:
        facts["gpu"], _, facts["driver"] = text.partition(", driver ")
    packages = machine.get("packages")
    for text in packages if isinstance(packages, list) else []:
        name, _, version = text.partition(" ")
        if name in _PACKAGES:
            facts[name] = version
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}
