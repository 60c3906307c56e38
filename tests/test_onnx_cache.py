"""Exported models are kept whole or not at all, and a cache that cannot be used costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ftax_micro.modes import onnx_cache
from ftax_micro.modes.onnx_cache import LOCATION_VARIABLE, cache_folder, find, make
from ftax_micro.modes.onnx_export import Exported

MADE = Exported(exporter="dynamo", opset=20, nodes=3, refused=("none",))


def exporting(text: str = "a model") -> Callable[[Path], Exported]:
    def export(folder: Path) -> Exported:
        (folder / "model.onnx").write_text(text)
        (folder / "model.onnx.data").write_text("weights")
        return MADE

    return export


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(LOCATION_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "onnx"


def test_what_was_exported_is_found_again(cache: Path) -> None:
    assert find("a") is None
    made = make("a", exporting())
    assert (made.folder, made.cached, made.not_kept) == (cache / "a", False, None)
    made.close()
    found = find("a")
    assert found is not None
    assert (found.exported, found.cached) == (MADE, True)
    assert found.model.read_text() == "a model"
    assert find("b") is None
    assert [path.name for path in cache.iterdir()] == ["a"]


def test_where_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOCATION_VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "ftax_micro" / "onnx"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "ftax_micro" / "onnx"
    monkeypatch.setenv(LOCATION_VARIABLE, "~/mine")
    assert cache_folder() == tmp_path / "home" / "mine" / "onnx"


def shortened(folder: Path) -> None:
    (folder / "model.onnx.data").write_text("weigh")


def changed(folder: Path) -> None:
    (folder / "model.onnx.data").write_text("weighty")


def without_weights(folder: Path) -> None:
    (folder / "model.onnx.data").unlink()


def without_record(folder: Path) -> None:
    (folder / "export.json").unlink()


def no_record(folder: Path) -> None:
    (folder / "export.json").write_text("{")


def of_another_version(folder: Path) -> None:
    (folder / "export.json").write_text('{"model": "model.onnx", "opset": 17}')


@pytest.mark.parametrize(
    "damage",
    [shortened, changed, without_weights, without_record, no_record, of_another_version],
)
def test_what_is_damaged_is_made_anew(cache: Path, damage: Callable[[Path], None]) -> None:
    damage(make("a", exporting("old")).folder)
    assert find("a") is None
    again = make("a", exporting("new"))
    assert again.not_kept is None
    found = find("a")
    assert found is not None
    assert found.model.read_text() == "new"
    assert [path.name for path in cache.iterdir()] == ["a"]


def test_a_cache_that_cannot_be_written_costs_only_the_cache(cache: Path) -> None:
    cache.parent.write_text("a file where the folder should be")
    made = make("a", exporting())
    assert made.not_kept is not None
    assert made.not_kept.startswith("the cache cannot be written: ")
    assert made.model.read_text() == "a model"
    assert find("a") is None
    made.close()
    assert not made.folder.exists()


def test_without_a_home_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(LOCATION_VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert find("a") is None
    made = make("a", exporting())
    assert made.not_kept == "the cache cannot be written: Could not determine home directory."
    made.close()


def test_a_disk_that_fills_up_while_an_export_is_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_work: Path, _key: str, _exported: Exported) -> Path:
        raise OSError("No space left on device")

    monkeypatch.setattr(onnx_cache, "_keep", full)
    made = make("a", exporting())
    assert made.model.read_text() == "a model"
    assert made.not_kept == "the cache cannot be written: No space left on device"
    made.close()
    assert list(cache.iterdir()) == []


def test_what_has_no_key_is_not_kept(cache: Path) -> None:
    made = make(None, exporting(), "it draws random numbers")
    assert made.not_kept == "it draws random numbers"
    assert not cache.exists()
    made.close()
    assert not made.folder.exists()


def test_an_export_that_fails_leaves_nothing(cache: Path) -> None:
    def fails(folder: Path) -> Exported:
        (folder / "model.onnx").write_text("half a mod")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make("a", fails)
    assert list(cache.iterdir()) == []


def test_beyond_the_limit_the_longest_unused_go(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age, key in enumerate("abc"):
        record = make(key, exporting("m" * 1000)).folder / "export.json"
        os.utime(record, (1000 + age, 1000 + age))
    assert find("a") is not None  # used just now
    monkeypatch.setattr(onnx_cache, "LIMIT_BYTES", 3000)
    make("d", exporting("m" * 1000))
    assert {path.name for path in cache.iterdir()} == {"a", "d"}
    monkeypatch.setattr(onnx_cache, "LIMIT_BYTES", 1)
    make("e", exporting())
    assert {path.name for path in cache.iterdir()} == {"e"}  # whatever its size


def test_what_a_killed_process_began_goes_after_a_day(cache: Path) -> None:
    old, new = cache / ".unfinished-old", cache / ".unfinished-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_text("half")
    before = time.time() - 2 * 24 * 3600
    os.utime(old, (before, before))
    make("a", exporting())
    assert {path.name for path in cache.iterdir()} == {"a", new.name}


EXPORTS = """
import sys, time
from pathlib import Path
from ftax_micro.modes.onnx_cache import make
from ftax_micro.modes.onnx_export import Exported

def export(folder):
    (folder / "model.onnx").write_text("a model")
    Path(sys.argv[1]).touch()
    while not Path(sys.argv[2]).exists():
        time.sleep(0.01)
    return Exported(exporter="dynamo", opset=20, nodes=3)

made = make("a", export)
print(made.folder, made.not_kept, made.model.read_text())
"""


def test_two_processes_that_export_the_same_at_once(cache: Path, tmp_path: Path) -> None:
    marks = [str(tmp_path / "one"), str(tmp_path / "two")]
    running = [
        subprocess.Popen([sys.executable, "-c", EXPORTS, *order], stdout=subprocess.PIPE, text=True)
        for order in (marks, marks[::-1])
    ]
    said = [process.communicate(timeout=60)[0].strip() for process in running]
    assert said == [f"{cache / 'a'} None a model"] * 2
    assert [path.name for path in cache.iterdir()] == ["a"]
    assert find("a") is not None
