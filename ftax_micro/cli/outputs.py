"""Where a measuring command saves its result, and which rank of several measures at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ftax_micro import cli
from ftax_micro.errors import ERROR_PREFIX, FtaxError, OutputError, UsageError

if TYPE_CHECKING:
    from ftax_micro.facts import LaunchFacts
    from ftax_micro.file_names import FileName
    from ftax_micro.results import Result


@dataclass(frozen=True)
class Output:
    """The files of a result: none, one (of device None), or one for each device."""

    files: Mapping[str | None, Path]
    force: bool

    def check(self, *, force: bool) -> Output:
        """Itself, if all can be written at the end. Errors: those of `results.check_output`."""
        from ftax_micro.results import check_output

        for path in self.files.values():
            check_output(path, force=force)
        return self

    def save(self, result: Result) -> int:
        """Save `result`; where that fails, elsewhere. 0 or the error's exit code."""
        if None in self.files:
            return _save(result, self.files[None], force=self.force)
        codes = [
            _save(part, path, force=self.force) if part else _nothing(device)
            for device, path in self.files.items()
            for part in [part_of(result, str(device))]
        ]
        return next(filter(None, codes), 0)


def open_output(path: Path | None, devices: Sequence[str], *, force: bool) -> Output:
    """The files that ``-o`` names for a run on `devices`, all of them checked.

    Errors: those of `file_names` and of `results.check_output`.
    """
    if path is None:
        return Output({}, force)
    name = _name(path, "-o")
    if "device" in name.fields and len(devices) > 1:
        files: dict[str | None, Path] = {each: _filled(name, each) for each in devices}
    else:
        files = {None: _filled(name, devices[0] if devices else None)}
    return Output(files, force).check(force=force)


def named_file(path: Path | None, device: str | None, option: str) -> Path | None:
    """The one file that `option` names. Errors: `UsageError`, `OutputError`."""
    return None if path is None else _filled(_name(path, option), device)


def _name(path: Path, option: str) -> FileName:
    from ftax_micro.file_names import parse_name

    return parse_name(path, option)


def _filled(name: FileName, device: str | None) -> Path:
    """The file, whose folder is made where its name has fields."""
    from ftax_micro.file_names import values_here

    path = name.path(values_here(device))
    if name.makes_folders:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make {path.parent}: {error.strerror or error}") from error
    return path


def check_resumable(path: Path | None) -> None:
    """Errors: `UsageError` for a name that the next run does not find again."""
    from ftax_micro.file_names import PASSING_FIELDS

    passing = sorted(_name(path, "-o").fields & PASSING_FIELDS) if path else []
    if passing:
        raise UsageError(
            f"--resume needs a name that the next run has too: leave {{{passing[0]}}} out of -o"
        )


def part_of(result: Result, device: str) -> Result | None:
    """What `result` has of one device, itself a result; None where it has nothing."""
    import msgspec

    part = msgspec.structs.replace(
        result,
        devices=[each for each in result.devices if each.name == device],
        measurements=[each for each in result.measurements if each.device == device],
        rungs=[each for each in result.rungs if each.device == device],
        cases=[each for each in result.cases if each.device == device],
        rooflines=[each for each in result.rooflines if each.device == device],
    )
    return part if part.devices else None


def _nothing(device: str | None) -> int:
    cli.message(f"ftax-micro: nothing was measured on {device}: no file for it")
    return 0


def _save(result: Result, path: Path, *, force: bool) -> int:
    from ftax_micro.results import rescue_result, save_result

    try:
        save_result(result, path, force=force)
    except FtaxError as error:
        cli.message(f"{ERROR_PREFIX}{error}")
        with contextlib.suppress(FtaxError):
            cli.message(f"ftax-micro: the result was kept in {rescue_result(result, path)}")
        return error.exit_code
    cli.message(f"saved {path}")
    return 0


def left_to_another_rank(path: Path | None) -> bool:
    """Whether another rank of this node measures instead of this one, which is then said.

    Ranks of a node would measure the same and disturb each other: one does, unless ``-o``
    has a name for each. Errors: `UsageError` for a name with an unknown field.
    """
    launch = _launch()
    if launch is None or not launch.local_rank or _for_each_rank(path):
        return False
    of = f" of {launch.local_size}" if launch.local_size else ""
    cli.message(
        f"ftax-micro: {launch.launcher} rank {launch.rank} measures nothing: it is local rank "
        f"{launch.local_rank}{of}, and one of a node is enough ({{rank}} in -o measures in each)"
    )
    return True


def ranks_together(path: Path | None) -> int:
    """How many ranks of this node measure at the same time, as far as the launcher tells."""
    launch = _launch()
    if launch is None or not _for_each_rank(path):
        return 1
    return max(launch.local_size or 1, (launch.local_rank or 0) + 1)


def _launch() -> LaunchFacts | None:
    from ftax_micro.environment.ranks import launched

    return launched(os.environ)


def _for_each_rank(path: Path | None) -> bool:
    from ftax_micro.file_names import RANK_FIELDS

    return path is not None and bool(_name(path, "-o").fields & RANK_FIELDS)
