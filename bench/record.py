"""Everything that this project publishes of one machine, measured into one folder.

    python bench/record.py FOLDER [--device cuda|cpu] [--only NAME[,NAME]] [--within TIME] [--list]

For a machine that is there for an hour only. Steps go in the order of their worth, each a command
in a process of its own with a time limit; its result is FOLDER/NAME.json, what it said
FOLDER/NAME.log. A step that was cut off saves what it measured. The same line again does what is
missing: a step that is done is not done again, a study goes on where it was cut off.

`python bench/packs.py --add FOLDER/NAME.json NAME` then publishes one.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from common import BENCH, message

from ftax_micro import cli
from ftax_micro.errors import UnknownNameError
from ftax_micro.reporters.markdown import markdown_table

State = Literal["done", "failed", "cut off"]
NOT_BEGUN = ("not begun", "–", "–")
AXES = {"cpu": "waited,idle,placement,threads", "cuda": "idle,placement,threads,stream,api"}
# A command that is told to end saves what it measured within this.
_SAVING_S = 30.0
# Less is not worth a start.
_LEAST_S = 5.0


@dataclass(frozen=True)
class Step:
    """A command (FILE and DEVICE stand for its own), for so long at most; `resumes`: it goes on
    with its file, `device`: where alone it makes sense.
    """

    name: str
    command: tuple[str, ...]
    limit_s: float
    resumes: bool = False
    device: str | None = None

    def typed(self, folder: Path, device: str) -> list[str]:
        """The command as a process takes it."""
        words = {"FILE": str(folder / f"{self.name}.json"), "DEVICE": device, "AXES": AXES[device]}
        return [sys.executable, *(words.get(each, each) for each in self.command)]


class Record(msgspec.Struct):
    """How a step ended."""

    state: State
    code: int | None
    seconds: float


def module(name: str, *options: str) -> tuple[str, ...]:
    """A command of the package with its device and file."""
    return ("-m", f"ftax_micro.{name}", "--device", "DEVICE", *options, "-o", "FILE")


def study(name: str) -> Step:
    """An experiment of the paper, which takes as long as there is time."""
    options = ("--study", str(BENCH / "paper" / f"{name}.toml"), "--resume")
    return Step(name, module("model_latency", *options), 3600.0, resumes=True)


STEPS = (
    Step("doctor", ("-m", "ftax_micro.doctor"), 120.0),
    Step("floor", module("launch_floor"), 300.0),
    Step("ladder", module("dispatch_ladder"), 240.0),
    Step("peers", (str(BENCH / "launch_peers.py"), "-o", "FILE"), 300.0, device="cuda"),
    Step(
        "models",
        module("model_latency", "--model", "bert_base,resnet50", "--twin", "--machine", "--resume"),
        600.0,
        resumes=True,
    ),
    study("table_3"),
    study("figure_03"),
    study("figure_05"),
    study("table_1"),
    study("figure_04"),
    study("figure_06"),
    Step("axes", module("launch_floor", "--axis", "AXES"), 300.0),
)


def main(argv: Sequence[str] | None = None) -> int:
    args = arguments(argv)
    return cli.run(lambda _: recorded(args))


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="made where it is missing")
    parser.add_argument("--device", choices=AXES, default="cuda", help="(default: cuda)")
    parser.add_argument("--only", type=cli.names, metavar="NAME[,NAME]", help="only these steps")
    parser.add_argument(
        "--within",
        type=cli.duration,
        default=3600.0,
        metavar="TIME",
        help="in all, as 3000s (default: 3600s)",
    )
    parser.add_argument("--list", action="store_true", help="show the steps and how they ended")
    return parser.parse_args(argv)


def recorded(args: argparse.Namespace) -> int:
    """Does what is missing, and shows how all of it ended. 1 where a step failed."""
    known = {step.name: step for step in STEPS}
    for name in args.only or ():
        if name not in known:
            raise UnknownNameError("step", name, known)
    steps = [
        step
        for step in STEPS
        if step.device in (None, args.device) and (not args.only or step.name in args.only)
    ]
    args.folder.mkdir(parents=True, exist_ok=True)
    records = read(args.folder)
    end_s = time.monotonic() + args.within
    for step in [] if args.list else steps:
        left_s = end_s - time.monotonic()
        if left_s < _LEAST_S:
            break
        if step.name not in records or records[step.name].state != "done":
            records[step.name] = run(step, args.folder, args.device, left_s)
            (args.folder / "record.json").write_bytes(msgspec.json.encode(records))
    sys.stdout.write(table(steps, records, args.folder))
    return int(any(records[s.name].state == "failed" for s in steps if s.name in records))


def read(folder: Path) -> dict[str, Record]:
    """How the steps ended that were begun before."""
    with contextlib.suppress(FileNotFoundError):
        return msgspec.json.decode((folder / "record.json").read_bytes(), type=dict[str, Record])
    return {}


def run(step: Step, folder: Path, device: str, left_s: float) -> Record:
    """One step, told to end when its time or what is left of all is over."""
    limit_s = min(step.limit_s, left_s)
    message(f"{step.name}: for {limit_s:.0f} s at most")
    file = folder / f"{step.name}.json"
    if not step.resumes:
        file.unlink(missing_ok=True)  # of a step that was cut off
    begin_s = time.monotonic()
    with (folder / f"{step.name}.log").open("ab") as log:
        child = subprocess.Popen(step.typed(folder, device), stdout=log, stderr=log)
        try:
            child.wait(limit_s)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as stopped:
            end(child)
            seconds = time.monotonic() - begin_s
            if isinstance(stopped, KeyboardInterrupt):
                message(f"{step.name}: stopped")
                raise
            return Record("cut off", child.returncode, seconds)
    # 1: a row failed, and stands in the result with its reason.
    done = child.returncode == 0 or (child.returncode == 1 and file.exists())
    return Record("done" if done else "failed", child.returncode, time.monotonic() - begin_s)


def end(child: subprocess.Popen[bytes]) -> None:
    """Asks for what was measured, and does not wait forever."""
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(_SAVING_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def table(steps: Sequence[Step], records: dict[str, Record], folder: Path) -> str:
    """A line for each step."""
    rows = []
    for step in steps:
        found, file = records.get(step.name), folder / f"{step.name}.json"
        ended = (found.state, str(found.code), f"{found.seconds:.0f} s") if found else NOT_BEGUN
        size = f"{file.name}, {file.stat().st_size / 1e6:.1f} MB" if file.exists() else "–"
        rows.append([step.name, *ended, size])
    return markdown_table(["step", "state", "exit code", "took", "result"], rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
