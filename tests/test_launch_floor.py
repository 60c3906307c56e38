"""The ``launch_floor`` command: what runs, what goes where, and what a failure ends with."""

from __future__ import annotations

from pathlib import Path

import pytest
from floor_command import PutInPlace, RunFloor, raises
from stand_in import OLD_RESULT, TINY, StandIn, environment_warnings, launch_floor, messages, row

from ftax_micro.devices.cpu import CpuDevice
from ftax_micro.errors import Skip
from ftax_micro.orchestration import floor
from ftax_micro.results import load_result, save_result

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
        assert f"\n{name} " in out or f"cpu {name}" in out
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


# Listing.


def test_list_names_rows_settings_and_axes_and_measures_nothing(run_floor: RunFloor) -> None:
    code, out, err = run_floor("--list", "--device", "cpu")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for each in CpuDevice().rows():
        assert f"cpu {each.name}: {each.summary}" in lines
    assert "    settings: binding=noargs | binding=pybind11" in lines
    assert any(line.startswith("    --axis placement: ") for line in lines)
    times = "0|10µs|100µs|1ms|10ms|100ms|1s"
    assert f"    --axis idle: wait=spin|block idle={times} (14 points)" in lines


# Failures.


def test_a_failed_row_ends_with_one_and_the_rest_is_there(
    run_floor: RunFloor, stand_in: PutInPlace, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    stand_in(row("first"), row("second", raises(RuntimeError("CUDA_ERROR_X"))), row("third"))
    code, out, err = run_floor("--device", "cpu", *TINY, "-o", str(path))
    assert code == 1
    assert messages(err) == [f"saved {path}", "ftax-micro: 1 of 3 rows failed"]
    assert "cpu second: failed, RuntimeError: CUDA_ERROR_X" in out
    assert [m.status for m in load_result(path).measurements] == ["ok", "failed", "ok"]
    code, again, err = run_floor("--show", str(path))
    assert (code, again) == (1, out)


def test_a_skipped_row_is_no_failure(run_floor: RunFloor, stand_in: PutInPlace) -> None:
    stand_in(row("first"), row("second", raises(Skip("needs driver 12.3"))))
    code, out, err = run_floor("--device", "cpu", *TINY)
    assert (code, messages(err)) == (0, [])
    assert "cpu second: skipped, needs driver 12.3" in out


def test_a_run_that_is_not_complete_ends_with_one(
    run_floor: RunFloor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def close() -> None:
        raise RuntimeError("sticky")

    made = StandIn(row("submit"), close=close)
    monkeypatch.setattr(floor, "open_device", made.open)
    path = tmp_path / "floor.json"
    code, out, err = run_floor("--device", "cpu", *TINY, "-o", str(path))
    assert code == 1
    reason = "cpu could not be closed: RuntimeError: sticky"
    assert messages(err) == [f"saved {path}", f"ftax-micro: error: {reason}"]
    assert f"incomplete: {reason}" in out
    assert load_result(path).incomplete_reason == reason
    assert run_floor("--show", str(path))[0] == 0  # it was shown, which is all that was asked


def test_settings_reach_the_plan(run_floor: RunFloor, stand_in: PutInPlace, tmp_path: Path) -> None:
    stand_in(row("submit"))
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
    code, _, _ = run_floor("--device", "cpu", *options, "-o", str(path))
    assert code == 0
    plan = load_result(path).plan
    assert (plan.min_samples, plan.max_samples, plan.confidence) == (30000, 30000, 0.99)
    assert (plan.min_time_s, plan.timeout_s) == (0.02, 3.0)


def test_a_result_of_untrusted_numbers_is_refused_unless_asked_for(
    run_floor: RunFloor, stand_in: PutInPlace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import ftax_micro.launch_floor as module
    from ftax_micro import trust

    warning = trust.TrustWarning(code="x", severity="refuse", sentence="a tracer is attached")
    monkeypatch.setattr(trust, "trust_warnings", lambda *_, **__: [warning])
    made = stand_in(row("submit"))
    code, out, err = run_floor("--device", "cpu", *TINY)
    assert (code, out, made.opened) == (2, "", 0)
    assert "a tracer is attached (--allow-untrusted measures all the same)" in err
    assert module.command(["--device", "cpu", *TINY, "--allow-untrusted"]) == 0


def test_saving_what_was_shown_as_json(run_floor: RunFloor, tmp_path: Path) -> None:
    result = load_result(OLD_RESULT)
    _, out, _ = run_floor("--show", str(OLD_RESULT), "--format", "json")
    save_result(result, tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text() == out
