"""More files than a command line holds: folders, patterns, lists."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from ftax_micro.cli.file_lists import listed_files
from ftax_micro.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.json", "a.json", "note.md", "deep/c.json", ".hidden/d.json", ".e.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*given: str) -> list[str]:
    return [str(path) for path in listed_files([Path(each) for each in given])]


def test_a_folder_is_all_results_in_it(folder: Path) -> None:
    assert names(".") == ["a.json", "b.json", "deep/c.json"]
    assert names("deep", "b.json") == ["deep/c.json", "b.json"]


def test_a_pipe_in_a_folder_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.json")
    (folder / "gone.json").symlink_to("nowhere")
    assert names(".") == ["a.json", "b.json", "deep/c.json", "gone.json"]


def test_a_pattern_is_what_matches(folder: Path) -> None:
    assert names("*.json") == ["a.json", "b.json"]
    assert names("**/c.json") == ["deep/c.json"]
    (folder / "[x].json").touch()
    assert names("[x].json") == ["[x].json"]  # a file's own name is no pattern


def test_a_list_is_the_files_it_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "list").write_text("b.json\n\n deep \n*.md\n")
    assert names("@list", "a.json") == ["b.json", "deep/c.json", "note.md", "a.json"]
    monkeypatch.setattr("sys.stdin", io.StringIO("a.json\n"))
    assert names("@-") == ["a.json"]
    (folder / "@file.json").touch()
    assert names("@file.json") == ["@file.json"]


def test_what_is_not_there_is_left_to_the_reader_of_it() -> None:
    assert names("absent.json") == ["absent.json"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("x*.json", "no file matches x"),
        ("empty", "empty has no \\*.json in it"),
        ("@absent", "@absent: the list cannot be read: No such file"),
        ("@none", "@none: the list is empty"),
        ("@loop", "a list names files, not other lists: @loop"),
        ("@binary", "the list cannot be read"),
    ],
)
def test_what_stands_for_nothing_is_an_error(folder: Path, given: str, words: str) -> None:
    (folder / "empty").mkdir()
    (folder / "none").write_text("\n")
    (folder / "loop").write_text("@loop\n")
    (folder / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=words):
        names(given)
