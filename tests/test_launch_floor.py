"""The ``launch_floor`` command: arguments, exit codes, what goes where."""

from __future__ import annotations

import csv
import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_in import (
    NO_CUDA,
    OLD_RESULT,
    TINY,
    StandIn,
    environment_warnings,
    launch_floor,
    messages,
    row,
)

from ftax_micro import cli
from ftax_micro.devices.cpu import CpuDevice
from ftax_micro.errors import Skip
from ftax_micro.launch_floor import command
from ftax_micro.orchestration import floor
from ftax_micro.results import decode_result, load_result, save_result

COLUMNS = [
    *("device", "name", "setting", "median_s", "ci_low_s", "ci_high_s", "p5_s", "p95_s", "min_s"),
    *("samples", "stop_reason", "status", "reason"),
]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command as the console calls it, in this process: exit code, stdout, stderr."""
    for name, value in NO_CUDA.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = cli.run(command, list(arguments))
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Callable[..., StandIn]:
    """Puts a stand-in with these rows in the place of the cpu."""

    def device(*rows: Any) -> StandIn:
        made = StandIn(*rows)
        monkeypatch.setattr(floor, "open_device", made.open)
        return made

    return device


def raises(error: Exception) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


# Real runs, as a user starts them.


def test_the_main_job(tmp_path: Path) -> None:
    path = tmp_path / "floor.json"
    rows = "call_direct,call_extension,call_python,submit,to_start,sync,queue_knee,parallel_region"
    code, out, err = launch_floor("--device", "cpu", *TINY, "--probe", rows, "-o", str(path))
    assert code == 0
    assert messages(err) == [f"saved {path}"]
    assert out.startswith("Launch anatomy of cpu")
    assert "\x1b" not in out + err
    result = load_result(path)
    assert result.complete
    assert {m.name for m in result.measurements} == set(rows.split(","))
    assert not [m for m in result.measurements if m.status == "failed"]
    for name in rows.split(","):
        assert f"\n {name}" in out or f"cpu {name}" in out
    # What was shown is what was saved.
    shown, again, warned = launch_floor("--show", str(path))
    assert (shown, again) == (0, out)
    assert environment_warnings(warned) == environment_warnings(err)


def test_auto_falls_back_to_the_cpu_and_says_why() -> None:
    code, out, err = launch_floor("--probe", "call_direct", *TINY, "--format", "csv")
    assert code == 0
    assert out.splitlines()[1].startswith("cpu,call_direct,,")
    assert len(messages(err)) == 1
    assert messages(err)[0].startswith("ftax-micro: measuring the cpu alone: ")


# Wrong usage: one line, exit code 2, nothing measured.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--probe submitt", "unknown probe 'submitt'; did you mean submit?"),
        ("--probe x", "unknown probe 'x'; known: call_direct, "),
        ("--probe submit,,sync", "'submit,,sync' has an empty name"),
        ("--probe=", "'' has an empty name"),
        ("--axis placment", "unknown axis 'placment'; did you mean placement?"),
        ("--axis idle --probe call_direct", "none of these rows varies by idle"),
        ("--device gpu", "unknown device 'gpu'; did you mean cpu?"),
        ("--device cuda:x", "unknown device 'cuda:x'; did you mean cuda"),
        ("--device cuda:-1", "unknown device"),
        ("--format cvs", "unknown format 'cvs'; did you mean csv?"),
        ("--min-samples 0", "--min-samples: 0 is not between 1 and"),
        ("--min-samples -1", "--min-samples: -1 is not between 1 and"),
        ("--min-samples 1000000000", "is not between 1 and"),
        ("--min-samples 1e9", "--min-samples: '1e9' is no whole number"),
        ("--min-samples abc", "'abc' is no whole number"),
        ("--min-samples", "expected one argument"),
        ("--processes 0", "--processes: 0 is not between 1 and"),
        ("--processes 100000", "is not between 1 and"),
        ("--min-time -1", "--min-time: '-1' is no time"),
        ("--min-time 1h", "'1h' is no time; write 0.5, 200ms or 1s"),
        ("--min-time 1e300", "longer than a day"),
        ("--timeout inf", "'inf' is no time"),
        ("--timeout nan", "'nan' is no time"),
        ("--timeout 0.1", "--timeout (0.1 s) is below --min-time (0.5 s)"),
        ("--timeout 1s --min-time 2s", "--timeout (1 s) is below --min-time (2 s)"),
        ("--quick --min-time 2s", "--timeout (1 s) is below --min-time (2 s)"),
        ("--watchdog -5", "--watchdog: '-5' is no time"),
        ("--confidence 1.0", "'1.0' is not between 0.5 and 1"),
        ("--confidence 0", "'0' is not between 0.5 and 1"),
        ("--confidence -0.95", "is not between 0.5 and 1"),
        ("--confidence 100%", "is not between 0.5 and 1"),
        ("--confidence nan", "is not between 0.5 and 1"),
        ("--confidence inf", "is not between 0.5 and 1"),
        ("--confidence high", "'high' is no confidence"),
        ("--prob submit --nonsense", "unrecognized arguments: --nonsense"),
        ("submit", "unrecognized arguments: submit"),
        ("--list -o x.json", "-o saves what is measured"),
        (f"--show {OLD_RESULT} -o x.json", "-o saves what is measured"),
    ],
)
def test_wrong_usage(run: Run, monkeypatch: pytest.MonkeyPatch, arguments: str, words: str) -> None:
    def measured(*_: object) -> None:
        raise AssertionError("it was measured")

    monkeypatch.setattr(floor, "measure_point", measured)
    more = [] if "--device" in arguments else ["--device", "cpu"]
    code, out, err = run(*arguments.split(), *more)
    assert (code, out) == (2, "")
    assert err.startswith("ftax-micro: error: ")
    assert len(err.splitlines()) == 1
    assert words in err


@pytest.mark.parametrize("request_", ["cuda", "cuda:0", "cuda:7", "cuda:99999999999999999999"])
def test_a_device_asked_for_by_name_that_is_not_there(run: Run, request_: str) -> None:
    for more in ([], ["--processes", "2"], ["--list"]):
        code, out, err = run("--device", request_, *more)
        assert (code, out) == (3, "")
        assert len(err.splitlines()) == 1
        assert err.startswith(f"ftax-micro: error: {request_} is not available: ")


# Showing a saved result.


def test_a_saved_result_in_every_format(run: Run) -> None:
    code, out, _ = run("--show", str(OLD_RESULT))
    assert code == 0
    assert out.startswith("Launch anatomy of cpu: Intel(R) Xeon(R)")
    assert "cpu submit wait=spin placement=sibling: skipped, no two allowed cores" in out
    assert "90 % interval" in out

    code, out, _ = run("--show", str(OLD_RESULT), "--format", "markdown")
    assert code == 0
    assert "| row | setting | median | 90 % interval |" in out
    assert "| submit | wait=spin placement=other_core | " in out

    code, out, _ = run("--show", str(OLD_RESULT), "--format", "json")
    assert code == 0
    assert decode_result(out.encode()) == load_result(OLD_RESULT)


def test_csv_has_a_row_per_measurement_and_the_promised_columns(run: Run) -> None:
    code, out, _ = run("--show", str(OLD_RESULT), "--format", "csv")
    assert code == 0
    table = list(csv.DictReader(io.StringIO(out)))
    assert list(table[0])[: len(COLUMNS)] == COLUMNS
    measurements = load_result(OLD_RESULT).measurements
    assert [(r["device"], r["name"], r["status"]) for r in table] == [
        (m.device, m.name, m.status) for m in measurements
    ]
    for line in table:
        times = [line[name] for name in COLUMNS if name.endswith("_s")]
        if line["status"] == "skipped":
            assert line["reason"]
            assert set(times) == {""} == {line["samples"]} | {line["stop_reason"]}
            continue
        assert line["reason"] == ""
        assert int(line["samples"]) > 0
        assert line["stop_reason"] in {"max_samples", "fixed_count"}
        if line["name"] == "queue_knee":  # a count has no seconds
            assert set(times) == {""}
            assert line["count"] == "1024"
            continue
        assert float(line["ci_low_s"]) <= float(line["median_s"]) <= float(line["ci_high_s"])
        # A slope has no single samples whose least could be told.
        assert (line["min_s"] == "") == (line["name"] in {"submit", "spacing"})
        assert line["p5_s"] == line["p95_s"] == ""  # undefined under 100 samples


def test_commas_and_quotes_in_reasons_survive_csv(run: Run, device: Callable[..., Any]) -> None:
    device(row("submit", raises(Skip('one "core", only\nhere'))))
    code, out, _ = run("--device", "cpu", *TINY, "--format", "csv")
    assert code == 0
    (line,) = csv.DictReader(io.StringIO(out))
    assert line["reason"] == 'one "core", only here'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (OLD_RESULT.read_bytes()[:5000], "is not complete JSON"),
        (b"", "is empty"),
        (b"# Launch anatomy", "is not complete JSON"),
        (OLD_RESULT.read_bytes().replace(b'_version": 1', b'_version": 2', 1), "is newer than"),
        (OLD_RESULT.read_bytes().replace(b'"wait": "spin"', b'"wait": [1]', 1), "setting"),
        (
            OLD_RESULT.read_bytes().replace(b'"count": 64', b'"count": "64"', 1),
            "Expected `int`, got `str` - at `$.measurements[0].data.levels[0].count`",
        ),
        (OLD_RESULT.read_bytes().replace(b"4.063e-6", b"NaN", 1), "is not complete JSON"),
        (b"[" * 1_000_000, "nested too deeply"),
        (None, "No such file or directory"),
    ],
)
def test_an_unreadable_result(run: Run, tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "floor.json"
    if content is not None:
        path.write_bytes(content)
    code, out, err = run("--show", str(path))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith(f"ftax-micro: error: {path}: ")
    assert words in err


def test_a_folder_is_no_result(run: Run, tmp_path: Path) -> None:
    code, _, err = run("--show", str(tmp_path))
    assert (code, err) == (2, f"ftax-micro: error: {tmp_path}: Is a directory\n")


# Listing.


def test_list_names_rows_settings_and_axes_and_measures_nothing(run: Run) -> None:
    code, out, err = run("--list", "--device", "cpu")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for each in CpuDevice().rows():
        assert f"cpu {each.name}: {each.summary}" in lines
    assert "    settings: binding=noargs | binding=pybind11" in lines
    assert any(line.startswith("    --axis placement: ") for line in lines)


# Output files.


def test_an_existing_file_is_refused_before_anything_is_measured(
    run: Run, device: Callable[..., StandIn], tmp_path: Path
) -> None:
    made = device(row("submit"))
    path = tmp_path / "floor.json"
    path.write_text("mine")
    code, out, err = run("--device", "cpu", *TINY, "-o", str(path))
    assert (code, out) == (2, "")
    assert err == f"ftax-micro: error: {path} exists already; --force replaces it\n"
    assert (path.read_text(), made.opened) == ("mine", 0)
    code, _, err = run("--device", "cpu", *TINY, "-o", str(path), "--force")
    assert (code, messages(err)) == (0, [f"saved {path}"])
    assert load_result(path).measurements[0].name == "submit"


@pytest.mark.parametrize("place", ["file/x.json", "absent/x.json", "/proc/x.json"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(
    run: Run, device: Callable[..., StandIn], tmp_path: Path, place: str
) -> None:
    made = device(row("submit"))
    (tmp_path / "file").touch()
    code, out, err = run("--device", "cpu", *TINY, "-o", str(tmp_path / place))
    assert (code, out, made.opened) == (4, "", 0)
    assert err.startswith(f"ftax-micro: error: cannot write {tmp_path / place}: ")
    assert len(err.splitlines()) == 1


def test_a_folder_is_refused_as_output(run: Run, tmp_path: Path) -> None:
    code, _, err = run("--device", "cpu", "-o", str(tmp_path), "--force")
    assert (code, err) == (2, f"ftax-micro: error: {tmp_path} is a folder; name a file\n")


def rescued(err: str) -> Path:
    (line,) = (line for line in messages(err) if "was kept in" in line)
    return Path(line.removeprefix("ftax-micro: the result was kept in "))


def test_a_disk_that_is_full_in_the_end_costs_neither_table_nor_result(
    run: Run, device: Callable[..., StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device(row("submit"))
    path = tmp_path / "floor.json"
    path.write_text("old")
    fsync = os.fsync

    def full_once(handle: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full_once)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, out, err = run("--device", "cpu", *TINY, "-o", str(path), "--force")
    assert code == 4
    assert messages(err)[0] == f"ftax-micro: error: cannot write {path}: No space left on device"
    assert path.read_text() == "old"
    assert "submit" in out
    assert load_result(rescued(err)).measurements[0].name == "submit"


def test_a_disk_that_is_full_everywhere_still_shows_the_table(
    run: Run, device: Callable[..., StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    device(row("submit"))
    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "floor.json"
    code, out, err = run("--device", "cpu", *TINY, "-o", str(path))
    assert (code, len(messages(err))) == (4, 1)
    assert "submit" in out
    assert not path.exists()


def test_a_file_that_came_meanwhile_is_kept_and_so_is_the_result(
    run: Run, device: Callable[..., StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "floor.json"
    device(row("submit", lambda: path.write_text("another's")))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, _, err = run("--device", "cpu", *TINY, "-o", str(path))
    assert code == 2
    assert path.read_text() == "another's"
    assert load_result(rescued(err)).complete


# Failures.


def test_a_failed_row_ends_with_one_and_the_rest_is_there(
    run: Run, device: Callable[..., StandIn], tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    device(row("first"), row("second", raises(RuntimeError("CUDA_ERROR_X"))), row("third"))
    code, out, err = run("--device", "cpu", *TINY, "-o", str(path))
    assert code == 1
    assert messages(err) == [f"saved {path}", "ftax-micro: 1 of 3 rows failed"]
    assert "cpu second: failed, RuntimeError: CUDA_ERROR_X" in out
    assert [m.status for m in load_result(path).measurements] == ["ok", "failed", "ok"]
    code, again, err = run("--show", str(path))
    assert (code, again) == (1, out)


def test_a_skipped_row_is_no_failure(run: Run, device: Callable[..., StandIn]) -> None:
    device(row("first"), row("second", raises(Skip("needs driver 12.3"))))
    code, out, err = run("--device", "cpu", *TINY)
    assert (code, messages(err)) == (0, [])
    assert "cpu second: skipped, needs driver 12.3" in out


def test_a_run_that_is_not_complete_ends_with_one(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def close() -> None:
        raise RuntimeError("sticky")

    made = StandIn(row("submit"), close=close)
    monkeypatch.setattr(floor, "open_device", made.open)
    path = tmp_path / "floor.json"
    code, out, err = run("--device", "cpu", *TINY, "-o", str(path))
    assert code == 1
    reason = "cpu could not be closed: RuntimeError: sticky"
    assert messages(err) == [f"saved {path}", f"ftax-micro: error: {reason}"]
    assert f"incomplete: {reason}" in out
    assert load_result(path).incomplete_reason == reason
    assert run("--show", str(path))[0] == 0  # it was shown, which is all that was asked


def test_settings_reach_the_plan(run: Run, device: Callable[..., StandIn], tmp_path: Path) -> None:
    device(row("submit"))
    path = tmp_path / "floor.json"
    options = [
        "--min-samples",
        "30000",
        "--min-time",
        "20ms",
        "--timeout",
        "3s",
        "--confidence",
        "99%",
    ]
    code, _, _ = run("--device", "cpu", *options, "-o", str(path))
    assert code == 0
    plan = load_result(path).plan
    assert (plan.min_samples, plan.max_samples, plan.confidence) == (30000, 30000, 0.99)
    assert (plan.min_time_s, plan.timeout_s) == (0.02, 3.0)


def test_a_result_of_untrusted_numbers_is_refused_unless_asked_for(
    run: Run, device: Callable[..., StandIn], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import ftax_micro.launch_floor as module
    from ftax_micro import trust

    warning = trust.TrustWarning(code="x", severity="refuse", sentence="a tracer is attached")
    monkeypatch.setattr(trust, "trust_warnings", lambda *_, **__: [warning])
    made = device(row("submit"))
    code, out, err = run("--device", "cpu", *TINY)
    assert (code, out, made.opened) == (2, "", 0)
    assert "a tracer is attached (--allow-untrusted measures all the same)" in err
    assert module.command(["--device", "cpu", *TINY, "--allow-untrusted"]) == 0


def test_saving_what_was_shown_as_json(run: Run, tmp_path: Path) -> None:
    result = load_result(OLD_RESULT)
    _, out, _ = run("--show", str(OLD_RESULT), "--format", "json")
    save_result(result, tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text() == out
