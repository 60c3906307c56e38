"""What all commands share: one line a message, and text that any terminal can show."""

from __future__ import annotations

import os

import pytest
from stand_in import OLD_RESULT, finish, start

from ftax_micro import cli


def test_a_message_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    cli.message("cannot read a\nb.json")
    assert capsys.readouterr().err == "cannot read a\\nb.json\n"


@pytest.fixture
def ascii_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A locale without anything beyond ASCII, and no helpful Python to change that."""
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)


@pytest.mark.usefixtures("ascii_only")
def test_a_terminal_that_knows_ascii_only_gets_likenesses() -> None:
    arguments = ("-m", "ftax_micro.launch_floor", "--show", str(OLD_RESULT))
    code, out, _ = finish(start(*arguments))
    assert code == 0
    assert out.isascii()
    assert "-----" in out
    assert " .. " in out
    assert " +- " in out
    assert "\\u" not in out


@pytest.mark.usefixtures("ascii_only")
def test_what_has_no_likeness_is_escaped() -> None:
    name = os.fsdecode("☃.json".encode())
    code, out, err = finish(start("-m", "ftax_micro.launch_floor", "--show", name))
    assert (code, out) == (2, "")
    assert err.startswith("ftax-micro: error: \\")
    assert err.endswith(": No such file or directory\n")
    assert len(err.splitlines()) == 1
