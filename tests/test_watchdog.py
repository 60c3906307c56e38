"""A device that never answers: what was measured is kept, and nobody waits."""

from __future__ import annotations

import threading
from pathlib import Path

from stand_in import messages, script

from ftax_micro.orchestration.watchdog import Watchdog
from ftax_micro.results import load_result

NEVER_S = 3600.0


def test_a_step_that_hangs_is_told_once_by_its_name() -> None:
    told: list[str] = []
    called = threading.Event()

    def on_hang(what: str) -> None:
        told.append(what)
        called.set()

    with Watchdog(on_hang, limit_s=0.01).guard("cuda:0 submit"):
        assert called.wait(60)
    assert told == ["cuda:0 submit"]


def test_a_step_that_ends_is_not_told() -> None:
    before = threading.active_count()
    told: list[str] = []
    watchdog = Watchdog(told.append, NEVER_S)
    for _ in range(3):
        with watchdog.guard("cuda:0 submit"):
            assert threading.active_count() == before + 1
        # A cancelled timer ends by itself; it must not be left waiting for its hour.
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join(60)
    assert threading.active_count() == before
    assert told == []


def test_a_step_that_fails_is_not_told_later() -> None:
    told: list[str] = []
    try:
        with Watchdog(told.append, NEVER_S).guard("cuda:0 submit"):
            raise RuntimeError
    except RuntimeError:
        pass
    timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    for timer in timers:
        timer.join(60)
    assert not any(timer.is_alive() for timer in timers)
    assert told == []


HANG = """
import sys, time
from ftax_micro import cli, launch_floor
from ftax_micro.orchestration import floor
from stand_in import StandIn, row

def hang():
    time.sleep(3600)

where = sys.argv[1]
device = StandIn(
    row("first"),
    row("stuck", hang if where == "row" else lambda: None),
    close=hang if where == "closing" else lambda: None,
)

def open_device(name):
    if where == "opening":
        hang()
    return device

floor.open_device = open_device
arguments = ["--device", "cpu", "--min-time", "0", "--timeout", "0.1", "--watchdog", "100ms"]
sys.exit(cli.run(launch_floor.command, arguments + sys.argv[2:]))
"""


def test_a_row_that_never_ends_is_saved_shown_and_left(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    status, out, err = script(HANG, "row", "-o", str(path), "--format", "csv")
    assert status == 1
    result = load_result(path)
    reason = "cpu stuck did not end: the device hangs"
    assert [(m.name, m.status, m.reason) for m in result.measurements] == [
        ("first", "ok", None),
        ("stuck", "failed", reason),
    ]
    assert (result.complete, result.incomplete_reason) == (False, reason)
    assert [line.split(",")[1] for line in out.splitlines()] == ["name", "first", "stuck"]
    error = f"ftax-micro: error: {reason}; leaving without waiting for it"
    assert messages(err) == [error, f"saved {path}"]


def test_without_a_file_the_table_is_still_shown() -> None:
    status, out, _ = script(HANG, "row")
    assert status == 1
    assert "first" in out
    assert "cpu stuck : failed" in out.replace("stuck:", "stuck :")


def test_a_device_that_hangs_while_it_is_opened_is_left() -> None:
    status, _, err = script(HANG, "opening")
    assert status == 1
    assert "opening cpu did not end: the device hangs" in err


def test_a_device_that_hangs_while_it_is_closed_costs_no_row(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    status, _, err = script(HANG, "closing", "-o", str(path))
    assert status == 1
    assert [m.status for m in load_result(path).measurements] == ["ok", "ok"]
    assert "closing cpu did not end: the device hangs" in err


def test_a_result_that_cannot_be_saved_either_has_its_own_code() -> None:
    status, out, err = script(HANG, "row", "-o", "/dev/full", "--force")
    assert status == 4
    assert "first" in out
    assert "cannot write /dev/full" in err
