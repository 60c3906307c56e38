"""A device whose rows do what a test says, and commands run the way a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.records import (
    ClockFacts,
    Data,
    DeviceFacts,
    DeviceState,
    Measurement,
    Plan,
    Setting,
)

DATA = Path(__file__).parent / "data"
OLD_RESULT = DATA / "result-v1-cpu.json"
# The least that is still a measurement.
TINY = ("--min-samples", "5", "--min-time", "0", "--timeout", "0.2")
# So that a test means the same with and without a GPU.
NO_CUDA = {"FTAX_MICRO_CUDA_DRIVER": "/nonexistent"}


def outcome(*samples_s: float) -> Outcome:
    """What a row measured; always the same samples, and whole microseconds."""
    return Outcome(Data(estimate="median", stop_reason="interval", samples=list(samples_s)))


def row(name: str, body: Callable[[], object] = lambda: None) -> FloorRow:
    """A row that calls `body` and then is done."""

    def measure(_: Setting, __: Plan) -> Outcome:
        body()
        return outcome(1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6, 7e-6)

    return FloorRow(name, f"the row called {name}", measure)


class StandIn:
    """A device with the rows it is given; counts how often it was opened and closed."""

    name = "cpu"
    clock = ClockFacts(name="none", tick_s=1e-9, read_cost_s=2e-8)

    def __init__(self, *rows: FloorRow, close: Callable[[], object] = lambda: None) -> None:
        self._rows, self._close = rows, close
        self.opened = self.closed = 0

    def open(self, name: str) -> StandIn:
        """Stands for `devices.open_device`."""
        self.opened += 1
        return self

    def describe(self) -> DeviceFacts:
        return DeviceFacts(name=self.name, kind="cpu", model="a stand-in")

    def rows(self) -> Sequence[FloorRow]:
        return self._rows

    def state(self) -> DeviceState | None:
        return None

    def close(self) -> None:
        self.closed += 1
        self._close()


class Watched:
    """Progress on the cpu that is remembered: index, total and name of each row as it begins."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, int, str]] = []

    def row_begins(self, index: int, total: int, device: str, name: str, setting: Setting) -> None:
        assert device == "cpu"
        self.begun.append((index, total, name))

    def row_ends(self, _: Measurement, /) -> None:
        pass


def start(
    *arguments: str, stderr: int = subprocess.PIPE, cwd: Path = DATA
) -> subprocess.Popen[str]:
    """``python`` with `arguments`, outside the checkout, with the tests' helpers importable."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, **NO_CUDA, "PYTHONPATH": str(Path(__file__).parent)},
    )


def finish(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; a minute is for a loaded machine, not for the command."""
    try:
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    return child.returncode, out or "", err or ""


def launch_floor(*arguments: str) -> tuple[int, str, str]:
    """``python -m ftax_micro.launch_floor`` in a process of its own."""
    return finish(start("-m", "ftax_micro.launch_floor", *arguments))


def script(text: str, *arguments: str) -> tuple[int, str, str]:
    """``python -c`` with `text`."""
    return finish(start("-c", text, *arguments))


def environment_warnings(stderr: str) -> list[str]:
    """The lines that are about this machine, which no test can know."""
    return [line for line in stderr.splitlines() if line.startswith("warning: ")]


def messages(stderr: str) -> list[str]:
    """The other lines."""
    return [line for line in stderr.splitlines() if not line.startswith("warning: ")]
