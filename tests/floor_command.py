"""The ``launch_floor`` command in this process, on a stand-in for the cpu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stand_in import NO_CUDA, StandIn

from ftax_micro import cli
from ftax_micro.launch_floor import command
from ftax_micro.orchestration import floor

RunFloor = Callable[..., tuple[int, str, str]]
PutInPlace = Callable[..., StandIn]


@pytest.fixture
def run_floor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunFloor:
    """The command as the console calls it, in this process: exit code, stdout, stderr."""
    for name, value in NO_CUDA.items():
        monkeypatch.setenv(name, value)

    def run_floor(*arguments: str) -> tuple[int, str, str]:
        code = cli.run(command, list(arguments))
        return code, *capsys.readouterr()

    return run_floor


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> PutInPlace:
    """Puts a stand-in with these rows in the place of the cpu."""

    def stand_in(*rows: Any) -> StandIn:
        made = StandIn(*rows)
        monkeypatch.setattr(floor, "open_device", made.open)
        return made

    return stand_in


def raises(error: Exception) -> Callable[[], None]:
    """A row's body that raises `error`."""

    def body() -> None:
        raise error

    return body
