"""A trace is read as what it is, and what is none is refused in one line that says why."""

from __future__ import annotations

import contextlib
import gzip
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nsight_exports import Export, export_of
from profiler_traces import annotation, launched, trace_text

from ftax_micro import cli
from ftax_micro.analysis.traces import sqlite_file
from ftax_micro.analysis.traces.formats import read_trace
from ftax_micro.analysis.traces.steps import analyse_steps, whole
from ftax_micro.bound_analysis import build_parser, command
from ftax_micro.errors import UnreadableTraceError

EVENTS = [annotation("ProfilerStep#1", 0, 100), *launched(1, 10, 5, 20, 30)]
# More than a page of rows, so that some of them can be cut off.
MANY = [event for i in range(200) for event in launched(i + 1, 10 * i, 5, 10 * i + 6, 3)]


@pytest.mark.parametrize("name", ["a.sqlite", "a.json", "a.nsys-rep"])
def test_the_content_decides_not_the_name(name: str, tmp_path: Path) -> None:
    assert len(read_trace(export_of(EVENTS, tmp_path / name)).operations) == 1


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.sqlite"])
def test_pytorch_traces_are_read_as_such(name: str, tmp_path: Path) -> None:
    text = trace_text(EVENTS)
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert len(read_trace(tmp_path / name).operations) == 1


def a_report(path: Path) -> Path:
    path = path.with_suffix(".nsys-rep")
    path.write_bytes(b"\x0a\x1bNVIDIA Tegra Profiler Report")
    return path


def hdf5(path: Path) -> Path:
    path.write_bytes(b"\x89HDF\r\n\x1a\n\0\0")
    return path


def compressed(path: Path) -> Path:
    path.write_bytes(gzip.compress(export_of(EVENTS, path.with_name("b")).read_bytes()))
    return path


def truncated(path: Path) -> Path:
    path.write_bytes(export_of(MANY, path).read_bytes()[:-5000])
    return path


def within_the_header(path: Path) -> Path:
    path.write_bytes(export_of(EVENTS, path).read_bytes()[:50])
    return path


def damaged(path: Path) -> Path:
    raw = bytearray(export_of(MANY, path).read_bytes())
    raw[100:4000] = b"\xff" * 3900
    path.write_bytes(raw)
    return path


def another_database(path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE moz_places (id INTEGER)")
    return path


def of_nvprof(path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE StringTable (_id_ INTEGER, value TEXT)")
    return path


def without_times(path: Path) -> Path:
    export = Export().add_events(EVENTS)
    export.schema = {**export.schema, "CUPTI_ACTIVITY_KIND_KERNEL": "begin INTEGER"}
    return export.write(path)


def text_for_numbers(path: Path) -> Path:
    export = Export().add_events(EVENTS)
    export.add("CUPTI_ACTIVITY_KIND_KERNEL", start="soon", end=b"later", deviceId=0, contextId=0)
    export.rows["CUPTI_ACTIVITY_KIND_KERNEL"][1] |= {"streamId": 1, "demangledName": 1}
    export.rows["CUPTI_ACTIVITY_KIND_KERNEL"][1] |= {"shortName": 1}
    return export.write(path)


def text_for_the_time_of_a_range(path: Path) -> Path:
    export = Export().add_events(EVENTS)
    export.add("NVTX_EVENTS", start="soon", end="later", eventType=59)
    return export.write(path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (a_report, "run `nsys export --type sqlite a.nsys-rep`"),
        (hdf5, "is HDF5, not SQLite: export with `nsys export --type sqlite`"),
        (compressed, "is a compressed SQLite file: unpack it first"),
        (truncated, "is truncated: it has "),
        (within_the_header, "ends within the header of SQLite"),
        (damaged, "is a damaged SQLite file"),
        (another_database, "no export of Nsight Systems"),
        (of_nvprof, "an export of nvprof"),
        (without_times, "its table CUPTI_ACTIVITY_KIND_KERNEL has no times"),
        (text_for_numbers, "a number in CUPTI_ACTIVITY_KIND_KERNEL is none"),
        (text_for_the_time_of_a_range, "a number in NVTX_EVENTS is none"),
        (lambda path: Export().write(path), "neither CUDA activity nor NVTX ranges"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_2(
    make: Callable[[Path], Path], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "a.sqlite")
    code = cli.run(command, [str(path)])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert path.name in err


def test_a_locked_export_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_TIMEOUT_S", 0.01)
    path = export_of(EVENTS, tmp_path / "a.sqlite")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnreadableTraceError, match="is locked: another program is writing it"):
            read_trace(path)
        writer.execute("ROLLBACK")
    assert len(read_trace(path).operations) == 1


def test_an_export_that_was_cut_off_while_written_is_told(tmp_path: Path) -> None:
    path = export_of(EVENTS, tmp_path / "a.sqlite")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_spill = 1")
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN")
        writer.executemany(
            "INSERT INTO StringIds VALUES (?, ?)", ((i, "x" * 999) for i in range(50, 99))
        )
        copy = tmp_path / "b.sqlite"
        copy.write_bytes(path.read_bytes())
        copy.with_name("b.sqlite-journal").write_bytes(Path(f"{path}-journal").read_bytes())
        writer.execute("ROLLBACK")
    with pytest.raises(UnreadableTraceError, match="was not written to its end"):
        read_trace(copy)


def test_nothing_is_written_beside_an_export(tmp_path: Path) -> None:
    path = export_of(EVENTS, tmp_path / "a #1?%41.sqlite")
    before = path.read_bytes()
    read_trace(path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_a_path_that_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTraceError, match="cannot read"):
        read_trace(tmp_path)


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_of(MANY[:40], tmp_path_factory.mktemp("damaged") / "a.sqlite")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 255)), min_size=1, max_size=20))
def test_damage_never_is_more_than_one_clear_error(
    export: Path, changes: list[tuple[int, int]]
) -> None:
    raw = bytearray(export.read_bytes())
    for place, value in changes:
        raw[100 + place % (len(raw) - 100)] = value
    path = export.with_name("b.sqlite")
    path.write_bytes(raw)
    try:
        trace = read_trace(path)
    except UnreadableTraceError as error:
        message = str(error)
    else:
        message = ""
        analyse_steps(trace, whole(trace))
    assert "\n" not in message


def test_the_steps_of_an_export_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = export_of(EVENTS, tmp_path / "a.sqlite")
    assert cli.run(command, [str(path)]) == 0
    assert "ProfilerStep#1 cuda:0" in capsys.readouterr().out
    assert "nsys export --type sqlite" in " ".join(build_parser().format_help().split())


def test_an_export_without_device_activity_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = export_of(EVENTS[:1], tmp_path / "a.sqlite")
    assert cli.run(command, [str(path)]) == 0
    assert "no device activity" in capsys.readouterr().out
