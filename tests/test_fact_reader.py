from __future__ import annotations

from pathlib import Path

import pytest

from ftax_micro.fact_reader import FactReader, Unreadable, parse_cpu_list, read_text


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3,8,10-11\n", [0, 1, 2, 3, 8, 10, 11]), ("5", [5]), ("\n", []), ("2,0-1", [0, 1, 2])],
)
def test_cpu_lists(text: str, cpus: list[int]) -> None:
    assert parse_cpu_list(text) == cpus


def test_a_cpu_list_that_is_none() -> None:
    with pytest.raises(ValueError, match="x"):
        parse_cpu_list("0-x")


def test_a_value_and_a_fact_that_does_not_apply_need_no_reason() -> None:
    read = FactReader()
    assert read("answer", lambda: 42) == 42
    assert read("nothing", lambda: None) is None
    assert read.unknown == {}


def test_each_failure_becomes_one_line() -> None:
    read = FactReader()

    def fail(error: Exception) -> int:
        raise error

    assert read("plain", lambda: fail(Unreadable("not told here"))) is None
    read("value", lambda: fail(ValueError("two\nlines")))
    read("bare", lambda: fail(KeyError()))
    read("file", lambda: fail(FileNotFoundError(2, "No such file or directory", "/sys/x")))
    assert read.unknown == {
        "plain": "not told here",
        "value": "ValueError: two lines",
        "bare": "KeyError",
        "file": "/sys/x: No such file or directory",
    }


def test_an_empty_file_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.write_text("Board\x00")
    assert read_text(file) == "Board"
    file.write_text(" \n")
    with pytest.raises(Unreadable, match="empty"):
        read_text(file)
