"""Result files: what was written is read back, and nothing else is accepted."""

from __future__ import annotations

import copy
import errno
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stand_in import OLD_RESULT

from ftax_micro.analysis.floor.view import floor_view
from ftax_micro.errors import OutputError, UnreadableResultError, UsageError
from ftax_micro.records import Correction, Data, DeviceState, Level, Measurement, Plan, Verdict
from ftax_micro.reporters import FLOOR_REPORTERS
from ftax_micro.results import (
    SCHEMA_VERSION,
    Result,
    check_output,
    decode_result,
    encode_result,
    load_result,
    rescue_result,
    save_result,
)

OLD = load_result(OLD_RESULT)
RAW: dict[str, Any] = json.loads(OLD_RESULT.read_bytes())

seconds = st.floats(1e-10, 1e3)
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
samples = st.lists(seconds, min_size=1, max_size=20)
slopes = st.lists(st.integers(1, 4096), min_size=2, max_size=5, unique=True).flatmap(
    lambda counts: st.tuples(
        *(st.builds(Level, count=st.just(n), samples_s=samples) for n in counts)
    )
)
data = st.one_of(
    st.builds(
        Data,
        estimate=st.just("median"),
        samples=samples,
        warmup=st.lists(seconds, max_size=3),
        unit=st.sampled_from(["s", "count"]),
        stop_reason=st.sampled_from(["interval", "timeout", "fixed_count"]),
    ),
    st.builds(
        Data,
        estimate=st.sampled_from(["slope", "intercept"]),
        levels=slopes.map(list),
        stop_reason=st.just("noise_stable"),
    ),
)
corrections = st.builds(
    Correction, name=words, value_s=seconds, low_s=seconds, high_s=seconds, source=words
)
states = st.none() | st.builds(DeviceState, sm_clock_hz=st.none() | st.floats(1e6, 1e10))
settings_ = st.dictionaries(words, st.integers(0, 2**40) | words | seconds, max_size=2)
rows = st.one_of(
    st.builds(
        Measurement,
        device=st.just("cpu"),
        name=words,
        status=st.just("ok"),
        setting=settings_,
        data=data,
        corrections=st.lists(corrections, max_size=2),
        verdicts=st.lists(st.builds(Verdict, code=words, sentence=words), max_size=2),
        facts=st.dictionaries(words, st.none() | st.booleans() | seconds | words, max_size=2),
        state_before=states,
        state_after=states,
    ),
    st.builds(
        Measurement,
        device=st.just("cpu"),
        name=words,
        status=st.sampled_from(["skipped", "failed"]),
        setting=settings_,
        reason=words,
    ),
)
results = st.builds(
    lambda measurements, reason: msgspec.structs.replace(
        OLD, measurements=measurements, complete=reason is None, incomplete_reason=reason
    ),
    st.lists(rows, max_size=4),
    st.none() | words,
)


def changed(path: list[str | int], value: object) -> bytes:
    raw = copy.deepcopy(RAW)
    place: Any = raw
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(raw).encode()


def test_the_first_version_s_file_is_still_read() -> None:
    assert RAW["schema_version"] == 1
    assert OLD.schema_version == SCHEMA_VERSION
    assert OLD.environment.hostname == "host"
    assert {m.status for m in OLD.measurements} == {"ok", "skipped"}
    knee = next(m for m in OLD.measurements if m.name == "queue_knee")
    assert knee.data is not None
    assert knee.data.samples == [1024.0] * 5


def test_a_saved_result_is_loaded_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    save_result(OLD, path)
    assert load_result(path) == OLD
    assert load_result(str(path)) == OLD
    saved = json.loads(path.read_bytes())["measurements"]
    later = [row["data"].pop("core_speeds") for row in saved if row["data"]]
    assert later == [None] * len(later)
    polled = [row["facts"].pop("worker", None) for row in saved]
    assert sum(each == "polling" for each in polled) == 2  # where `submit` has a value
    assert saved == RAW["measurements"]


@given(results)
@settings(max_examples=50)
def test_any_result_survives_the_file_and_every_format_shows_it(result: Result) -> None:
    again = decode_result(encode_result(result))
    assert again == result
    for form in FLOOR_REPORTERS:
        text = FLOOR_REPORTERS.open(form)(floor_view(again))
        assert text.endswith("\n")


@pytest.mark.parametrize("keep", [0.001, 0.1, 0.5, 0.9, 0.9999])
def test_a_truncated_file_is_refused(tmp_path: Path, keep: float) -> None:
    whole = OLD_RESULT.read_bytes().rstrip()
    path = tmp_path / "cut.json"
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(UnreadableResultError, match=r"cut\.json: is not complete JSON"):
        load_result(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"launch floor: 2.4 us", "is not complete JSON"),
        (b"\xff\xfe\x00", "is not complete JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"schema_version":' * 100_000, "nested too deeply"),
        (b"[]", "no field `schema_version`"),
        (b"null", "no field `schema_version`"),
        (b'{"rows": 1}', "no field `schema_version`"),
        (b'{"schema_version": 1}', r"missing required field `tool_version`"),
        (b'{"schema_version": 1e3}', r"no schema version - at `\$\.schema_version`"),
        (b'{"schema_version": true}', r"no schema version - at `\$\.schema_version`"),
        (b'{"schema_version": 0}', r"no schema version - at `\$\.schema_version`"),
        (b'{"schema_version": "1"}', r"no schema version - at `\$\.schema_version`"),
        (
            b'{"schema_version": %d, "and": "more"}' % (SCHEMA_VERSION + 1),
            rf"newer than this program's {SCHEMA_VERSION}: upgrade ftax-micro",
        ),
        (b'{"schema_version": 1%s}' % (b"0" * 300), "newer than this program"),
        (OLD_RESULT.read_bytes().replace(b"4.063e-6", b"NaN"), "is not complete JSON"),
        (OLD_RESULT.read_bytes().replace(b"4.063e-6", b"1e999"), "out of range"),
    ],
)
def test_what_is_no_result_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(UnreadableResultError, match=f"^floor.json: .*{words}") as caught:
        decode_result(content, "floor.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (["plan", "min_samples"], "many", "plan.min_samples"),
        (["plan", "confidence"], 95, "plan.confidence"),
        (["plan", "speed"], 1, "plan"),
        (["environment", "host", "affinity"], {}, "environment.host.affinity"),
        (["devices"], [], "measurements[0].device"),
        (["measurements", 0, "status"], "good", "measurements[0].status"),
        (["measurements", 0, "status"], "failed", "measurements[0].data"),
        (["measurements", 0, "data"], None, "measurements[0].data"),
        (["measurements", 1, "reason"], "", "measurements[1].reason"),
        (["measurements", 0, "data", "levels"], [], "measurements[0].data.levels"),
        (["measurements", 0, "data", "levels", 1, "samples_s"], [], "levels[1].samples_s"),
        (["measurements", 0, "data", "levels", 1, "samples_s", 0], None, "[1].samples_s[0]"),
        (["measurements", 0, "data", "levels", 1, "count"], 10**400, "levels[1].count"),
        (["measurements", 0, "data", "warmup", 0], -1e300, "measurements[0].data.warmup"),
        (["measurements", 0, "data", "estimate"], "median", "measurements[0].data.samples"),
        (["measurements", 0, "setting", "wait"], [], "measurements[0].setting"),
    ],
)
def test_a_wrong_field_is_named(path: list[str | int], value: object, field: str) -> None:
    with pytest.raises(
        UnreadableResultError, match=r"^floor\.json: not a valid result: "
    ) as caught:
        decode_result(changed(path, value), "floor.json")
    assert field in str(caught.value)


JUNK: list[Any] = [None, "", "x", -1, 0, 2**63, 10**30, 1e300, -0.0, True, [], {}, [None], [[0]]]


@given(st.data())
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_a_changed_file_is_refused_or_shown_and_never_ends_in_a_traceback(
    draw: st.DataObject,
) -> None:
    path: list[str | int] = []
    place: Any = RAW
    while isinstance(place, dict | list) and place:
        keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.draw(st.sampled_from(keys))
        path.append(key)
        place = place[key]
        if draw.draw(st.integers(0, 5)) == 0:
            break
    try:
        result = decode_result(changed(path, draw.draw(st.sampled_from(JUNK))))
    except UnreadableResultError:
        return
    for form in FLOOR_REPORTERS:
        assert FLOOR_REPORTERS.open(form)(floor_view(result))


@pytest.mark.parametrize("name", ["absent.json", "folder", "null\0character"])
def test_what_cannot_be_opened_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnreadableResultError, match=name):
        load_result(tmp_path / name)


@pytest.mark.parametrize(
    "nonsense",
    [
        Data(estimate="median", stop_reason="interval", samples=[1e-6, float("nan")]),
        Data(estimate="median", stop_reason="interval", samples=[float("inf")]),
        Data(estimate="median", stop_reason="interval", samples=[]),
        Data(estimate="slope", stop_reason="interval", levels=[Level(count=1, samples_s=[1.0])]),
    ],
)
def test_nonsense_is_not_written(tmp_path: Path, nonsense: Data) -> None:
    wrong = Measurement(device="cpu", name="submit", status="ok", data=nonsense)
    with pytest.raises(OutputError, match=r"measurements\[0\]\.data"):
        save_result(msgspec.structs.replace(OLD, measurements=[wrong]), tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_not_utf8_are_written_as_escapes(tmp_path: Path) -> None:
    command = ["ftax-micro", os.fsdecode(b"\xff.json")]
    environment = msgspec.structs.replace(OLD.environment, command=command)
    save_result(msgspec.structs.replace(OLD, environment=environment), tmp_path / "x.json")
    assert load_result(tmp_path / "x.json").environment.command[1] == "\\udcff.json"


def test_an_existing_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("mine")
    with pytest.raises(UsageError, match="--force"):
        save_result(OLD, path)
    with pytest.raises(UsageError, match="--force"):
        check_output(path, force=False)
    assert path.read_text() == "mine"
    check_output(path, force=True)
    assert path.read_text() == "mine"
    save_result(OLD, path, force=True)
    assert load_result(path) == OLD


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_part_of_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "result.json"
    path.write_text("old")
    monkeypatch.setattr(os if function == "fsync" else Path, function, full)
    with pytest.raises(OutputError, match=r"cannot write .*result\.json: No space left on device"):
        save_result(OLD, path, force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]
    assert path.read_text() == "old"


def test_an_interruption_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "result.json"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_result(OLD, path, force=True)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("write", [partial(check_output, force=False), partial(save_result, OLD)])
@pytest.mark.parametrize("name", ["file/x.json", "absent/x.json", "n" * 300, "null\0character"])
def test_a_place_that_cannot_be_written(
    tmp_path: Path, write: Callable[[Path], None], name: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"^cannot write"):
        write(tmp_path / name)


def test_a_folder_is_no_place_for_a_result(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path, force=True)


def test_checking_leaves_nothing_behind(tmp_path: Path) -> None:
    check_output(tmp_path / "x.json", force=False)
    assert list(tmp_path.iterdir()) == []


def test_the_file_has_the_permissions_of_any_output(tmp_path: Path) -> None:
    (tmp_path / "any").touch()
    save_result(OLD, tmp_path / "x.json")
    assert (tmp_path / "x.json").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_the_file_behind_a_link_is_replaced_not_the_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link, file = tmp_path / "x.json", tmp_path / "disk" / "x.json"
    file.write_text("old")
    link.symlink_to(file)
    save_result(OLD, link, force=True)
    assert link.is_symlink()
    assert load_result(file) == OLD


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_device_file_is_written_in_place() -> None:
    check_output(Path("/dev/full"), force=True)
    with pytest.raises(OutputError, match="No space left on device"):
        save_result(OLD, "/dev/full", force=True)
    save_result(OLD, "/dev/null", force=True)
    assert not Path("/dev/null").is_file()


def test_a_result_is_rescued_into_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = rescue_result(OLD), rescue_result(OLD)
    assert first != second
    assert load_result(first) == load_result(second) == OLD


def test_a_rescue_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    with pytest.raises(OutputError):
        rescue_result(OLD)


def test_the_plan_is_kept(tmp_path: Path) -> None:
    plan = Plan(min_samples=7, half_width=0.02)
    save_result(msgspec.structs.replace(OLD, plan=plan), tmp_path / "x.json")
    assert load_result(tmp_path / "x.json").plan == plan
