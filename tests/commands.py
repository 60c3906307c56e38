"""Commands run as their console entry runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ftax_micro import cli

Run = Callable[..., tuple[int, str, str]]


def runner(
    command: Callable[[Sequence[str] | None], int], capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs `command` with any arguments: exit code, stdout, stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = cli.run(command, [str(each) for each in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
