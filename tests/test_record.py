"""bench/record.py: steps in their order, each with its time, and what is missing once more."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from bench_scripts import BENCH

pytestmark = pytest.mark.skipif(not BENCH.exists(), reason="the tests are not in a checkout")

# Counts its runs in its file; ends with the code that is asked for.
COUNT = """
import pathlib, sys
file = pathlib.Path(sys.argv[1])
file.write_text(file.read_text() + "x" if file.exists() else "x")
sys.exit(int(sys.argv[2]))
"""
# Saves when it is told to end, as commands do.
SLOW = """
import pathlib, signal, sys, time
def save(*_):
    pathlib.Path(sys.argv[1]).write_text("part")
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
print("begun", flush=True)
time.sleep(60)
"""


@pytest.fixture
def script(bench: Any) -> Any:
    return bench("record")


@pytest.fixture
def steps(script: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(**programs: tuple[str, str]) -> None:
        found = tuple(
            script.Step(name, ("-c", program, "FILE", code), 60.0)
            for name, (program, code) in programs.items()
        )
        monkeypatch.setattr(script, "STEPS", found)

    return use


def lines(text: str) -> dict[str, list[str]]:
    """The table's rows by step."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def test_what_is_done_is_not_done_again(
    script: Any, steps: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps(whole=(COUNT, "0"), rows_failed=(COUNT, "1"), broken=("raise SystemExit(2)", "0"))
    folder = tmp_path / "new" / "folder"
    for _ in range(2):
        assert script.main([str(folder)]) == 1
        found = lines(capsys.readouterr().out)
        assert [row[:2] for row in found.values()] == [
            ["done", "0"],
            ["done", "1"],
            ["failed", "2"],
        ]
    assert (folder / "whole.json").read_text() == (folder / "rows_failed.json").read_text() == "x"
    assert json.loads((folder / "record.json").read_bytes())["whole"]["state"] == "done"


def test_a_step_that_is_cut_off_saves_and_is_done_anew(
    script: Any, steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(script, "_LEAST_S", 0.5)
    steps(slow=(SLOW, "0"), never=(COUNT, "0"))
    assert script.main([str(tmp_path), "--within", "1s"]) == 0
    found = lines(capsys.readouterr().out)
    assert found["slow"][:2] == ["cut off", "143"]
    assert found["never"][0] == "not begun"
    assert (tmp_path / "slow.json").read_text() == "part"
    assert (tmp_path / "slow.log").read_text() == "begun\n"
    steps(slow=(COUNT, "0"), never=(COUNT, "0"))
    assert script.main([str(tmp_path), "--only", "slow"]) == 0
    assert (tmp_path / "slow.json").read_text() == "x"  # not what was cut off, and more
    assert script.main([str(tmp_path), "--list"]) == 0
    assert lines(capsys.readouterr().out)["never"][0] == "not begun"


def test_an_unknown_step_is_one_line(
    script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main([str(tmp_path), "--only", "flor"]) == 2
    told = capsys.readouterr().err
    assert "did you mean 'floor'" in told or "floor" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_step_is_a_command_that_is_understood(script: Any, device: str) -> None:
    for step in script.STEPS:
        first, *words = step.typed(Path("folder"), device)[1:]
        if first == "-m":
            module = importlib.import_module(words[0])
            parser = getattr(module, "build_parser", None)
            assert parser is None or parser().parse_args(words[1:])
        else:
            assert Path(first).exists()
        studies = [word for word in words if word.endswith(".toml")]
        assert all(Path(word).exists() for word in studies)
    assert len({step.name for step in script.STEPS}) == len(script.STEPS)
