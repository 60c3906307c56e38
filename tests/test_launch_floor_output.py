"""``launch_floor -o``: files that exist, places that cannot be written, full disks."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from floor_command import PutInPlace, RunFloor
from stand_in import TINY, launch_floor, messages, row, script

from ftax_micro.results import load_result


def test_an_existing_file_is_refused_before_anything_is_measured(
    run_floor: RunFloor, stand_in: PutInPlace, tmp_path: Path
) -> None:
    made = stand_in(row("submit"))
    path = tmp_path / "floor.json"
    path.write_text("mine")
    code, out, err = run_floor("--device", "cpu", *TINY, "-o", str(path))
    assert (code, out) == (2, "")
    assert err == f"ftax-micro: error: {path} exists already; --force replaces it\n"
    assert (path.read_text(), made.opened) == ("mine", 0)
    code, _, err = run_floor("--device", "cpu", *TINY, "-o", str(path), "--force")
    assert (code, messages(err)) == (0, [f"saved {path}"])
    assert load_result(path).measurements[0].name == "submit"


@pytest.mark.parametrize("place", ["file/x.json", "absent/x.json", "/proc/x.json"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(
    run_floor: RunFloor, stand_in: PutInPlace, tmp_path: Path, place: str
) -> None:
    made = stand_in(row("submit"))
    (tmp_path / "file").touch()
    code, out, err = run_floor("--device", "cpu", *TINY, "-o", str(tmp_path / place))
    assert (code, out, made.opened) == (4, "", 0)
    assert err.startswith(f"ftax-micro: error: cannot write {tmp_path / place}: ")
    assert len(err.splitlines()) == 1


def test_a_folder_is_refused_as_output(run_floor: RunFloor, tmp_path: Path) -> None:
    code, _, err = run_floor("--device", "cpu", "-o", str(tmp_path), "--force")
    assert (code, err) == (2, f"ftax-micro: error: {tmp_path} is a folder; name a file\n")


def rescued(err: str) -> Path:
    (line,) = (line for line in messages(err) if "was kept in" in line)
    return Path(line.removeprefix("ftax-micro: the result was kept in "))


def test_a_disk_that_is_full_in_the_end_costs_neither_table_nor_result(
    run_floor: RunFloor, stand_in: PutInPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(row("submit"))
    path = tmp_path / "floor.json"
    path.write_text("old")
    fsync = os.fsync

    def full_once(handle: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full_once)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, out, err = run_floor("--device", "cpu", *TINY, "-o", str(path), "--force")
    assert code == 4
    assert messages(err)[0] == f"ftax-micro: error: cannot write {path}: No space left on device"
    assert path.read_text() == "old"
    assert "submit" in out
    assert load_result(rescued(err)).measurements[0].name == "submit"


def test_a_disk_that_is_full_everywhere_still_shows_the_table(
    run_floor: RunFloor, stand_in: PutInPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    stand_in(row("submit"))
    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "floor.json"
    code, out, err = run_floor("--device", "cpu", *TINY, "-o", str(path))
    assert (code, len(messages(err))) == (4, 1)
    assert "submit" in out
    assert not path.exists()


def test_a_file_that_came_meanwhile_is_kept_and_so_is_the_result(
    run_floor: RunFloor, stand_in: PutInPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "floor.json"
    stand_in(row("submit", lambda: path.write_text("another's")))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, _, err = run_floor("--device", "cpu", *TINY, "-o", str(path))
    assert code == 2
    assert path.read_text() == "another's"
    assert load_result(rescued(err)).complete


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_real_full_disk_keeps_the_result_elsewhere() -> None:
    code, out, err = launch_floor(
        *("--device", "cpu", "--probe", "call_direct", *TINY, "-o", "/dev/full", "--force")
    )
    assert code == 4
    assert messages(err)[0] == (
        "ftax-micro: error: cannot write /dev/full: No space left on device"
    )
    assert "call_direct" in out
    kept = rescued(err)
    assert [m.name for m in load_result(kept).measurements] == ["call_direct"]
    kept.unlink()
    kept.parent.rmdir()


def test_a_file_that_may_grow_no_further_leaves_no_part_of_itself(tmp_path: Path) -> None:
    text = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from ftax_micro import cli, launch_floor
sys.exit(cli.run(launch_floor.command, sys.argv[1:]))
"""
    path = tmp_path / "floor.json"
    options = ("--device", "cpu", "--probe", "call_direct", *TINY, "-o", str(path))
    code, out, err = script(text, *options)
    assert code == 4
    assert f"cannot write {path}: File too large" in err
    assert "call_direct" in out
    assert list(tmp_path.iterdir()) == []
