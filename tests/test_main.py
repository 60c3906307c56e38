"""``ftax-micro`` and ``python -m ftax_micro``: which command runs, and at what cost."""

from __future__ import annotations

import importlib
import sysconfig
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from stand_in import OLD_RESULT, finish, messages, script, start

import ftax_micro
from ftax_micro import __main__, cli
from ftax_micro.errors import UnknownNameError


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.command(["--help"]) == 0
    long = capsys.readouterr()
    assert __main__.command(["-h"]) == 0
    assert capsys.readouterr() == long
    assert long.err == ""
    for name in __main__.COMMANDS:
        assert f"\n  {name} " in long.out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.command(["--version"]) == 0
    assert capsys.readouterr().out == f"ftax-micro {ftax_micro.__version__}\n"


@pytest.mark.parametrize("name", __main__.COMMANDS)
def test_every_command_is_there_and_explains_itself(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    importlib.import_module(f"ftax_micro.{name}")
    with pytest.raises(SystemExit) as caught:
        __main__.command([name, "--help"])
    assert caught.value.code == 0
    assert "usage:" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["launch_floor"], ["launch-floor"]])
def test_a_command_s_name_may_have_a_dash(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(__main__.command, [*words, "--show", str(OLD_RESULT)]) == 0
    assert "Launch anatomy of cpu" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["lauch_floor", "launch-flor"])
def test_an_unknown_command_suggests_the_nearest(word: str) -> None:
    with pytest.raises(UnknownNameError, match="did you mean launch_floor"):
        __main__.command([word])


def test_an_unknown_command_ends_with_two_and_one_line() -> None:
    code, out, err = finish(start("-m", "ftax_micro", "measure"))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert messages(err)[0].startswith("ftax-micro: error: unknown command 'measure'; ")


def test_the_console_script_is_installed_and_is_this() -> None:
    (entry,) = entry_points(group="console_scripts", name="ftax-micro")
    assert entry.load() is __main__.main
    assert (Path(sysconfig.get_path("scripts")) / "ftax-micro").exists()


@pytest.mark.parametrize("module", ["ftax_micro", "ftax_micro.launch_floor"])
def test_help_costs_no_heavy_import(module: str) -> None:
    text = """
import runpy, sys
sys.argv[1:] = ["--help"]
try:
    runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert not end.code
heavy = {"numpy", "rich", "msgspec", "torch", "ftax_micro._core"} & sys.modules.keys()
sys.exit(f"imported {heavy}" if heavy else 0)
"""
    code, out, err = script(text.replace("MODULE", repr(module)))
    assert (code, err) == (0, "")
    assert out.startswith("usage:")


def test_importing_the_package_costs_no_heavy_import() -> None:
    text = (
        "import sys, ftax_micro; sys.exit(bool({'numpy', 'rich', 'msgspec'} & sys.modules.keys()))"
    )
    assert script(text) == (0, "", "")


def test_public_names_are_loaded_on_first_use() -> None:
    assert set(ftax_micro.__all__) <= set(dir(ftax_micro))
    for name in ftax_micro.__all__:
        assert getattr(ftax_micro, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'measure_lunch'"):
        _ = ftax_micro.measure_lunch
