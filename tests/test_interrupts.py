"""Ctrl-C and SIGTERM, in a process of their own where one of them may end it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_in import OLD_RESULT, TINY, messages, script

from ftax_micro.errors import Interrupted
from ftax_micro.orchestration.interrupts import Interrupts, catch_signals
from ftax_micro.results import load_result

BOTH = pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])


@pytest.fixture(autouse=True)
def handlers_are_put_back() -> Iterator[None]:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    yield
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@BOTH
def test_a_signal_raises_where_a_row_is_sampled(number: int, code: int) -> None:
    with catch_signals() as interrupts:
        with pytest.raises(Interrupted) as caught, interrupts.raised():
            send(number)
        assert interrupts.pending is caught.value
    assert caught.value.exit_code == code
    assert str(caught.value) == f"stopped by {signal.Signals(number).name}"


@BOTH
def test_elsewhere_it_is_only_noted_and_raised_at_the_next_row(number: int, code: int) -> None:
    with catch_signals() as interrupts:
        send(number)
        entered = False
        with pytest.raises(Interrupted) as caught, interrupts.raised():
            entered = True
    assert not entered
    assert caught.value.exit_code == code


def test_the_second_signal_changes_nothing() -> None:
    with catch_signals() as interrupts:
        with pytest.raises(Interrupted), interrupts.raised():
            send(signal.SIGINT)
        send(signal.SIGTERM)
    assert interrupts.pending is not None
    assert interrupts.pending.exit_code == 130


def test_the_third_leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr("os._exit", left.append)
    interrupts = Interrupts()
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
        assert left == []
        interrupts.handle(number, None)
    assert left == [143]


def test_an_ignored_signal_stays_ignored() -> None:
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with catch_signals() as interrupts:
            send(signal.SIGINT)
        assert interrupts.pending is None
    finally:
        signal.signal(signal.SIGINT, former)


def test_a_thread_leaves_signals_alone() -> None:
    seen: list[object] = []

    def catch() -> None:
        with catch_signals() as interrupts:
            seen.extend([signal.getsignal(signal.SIGINT), interrupts.pending])

    thread = threading.Thread(target=catch)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT), None]


# A real run of two rows: the first is done when the signal comes, the second is being sampled.
RUN = """
import os, signal, sys
import msgspec
import ftax_micro.results
from ftax_micro import cli, launch_floor
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.measurement import measure_shots
from ftax_micro.orchestration import floor
from stand_in import StandIn, row

number, writing = int(sys.argv[1]), int(sys.argv[2])
shots = []

def shot(count):
    shots.append(count)
    if len(shots) == 5:
        os.kill(os.getpid(), number)
    return [1e-5] * count

def sampled(setting, plan):
    plan = msgspec.structs.replace(plan, warmup_time_s=0)  # one call of shot, then the samples
    return Outcome(measure_shots(shot, plan, device.clock))

def fsync(handle, really=os.fsync):
    for _ in range(writing):
        os.kill(os.getpid(), number)
    really(handle)

device = StandIn(row("done"), FloorRow("sampled", "", sampled), row("later"))
floor.open_device = device.open
ftax_micro.results.os.fsync = fsync
sys.exit(cli.run(launch_floor.command, sys.argv[3:]))
"""


def run(path: Path, number: int, writing: int = 0, *more: str) -> tuple[int, str, str]:
    options = ("--device", "cpu", "--format", "csv", "--min-time", "60", "--timeout", "60")
    return script(RUN, str(int(number)), str(writing), *options, "-o", str(path), *more)


@BOTH
def test_what_was_measured_is_saved_and_shown(tmp_path: Path, number: int, code: int) -> None:
    path = tmp_path / "result.json"
    status, out, err = run(path, number)
    assert status == code
    result = load_result(path)
    assert [(m.name, m.data and m.data.stop_reason) for m in result.measurements] == [
        ("done", "interval"),
        ("sampled", "interrupted"),
    ]
    assert not result.complete
    assert result.incomplete_reason == f"stopped by {signal.Signals(number).name}"
    assert [line.split(",")[1] for line in out.splitlines()] == ["name", "done", "sampled"]
    assert messages(err) == [
        f"saved {path}",
        f"ftax-micro: stopped by {signal.Signals(number).name}; 2 rows measured",
    ]


def test_a_second_signal_while_saving_does_not_lose_the_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    status, _, _ = run(path, signal.SIGINT, writing=1)
    assert status == 130
    assert [m.name for m in load_result(path).measurements] == ["done", "sampled"]


def test_a_third_leaves_without_saving_and_without_harm(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(OLD_RESULT.read_bytes())
    status, _, _ = run(path, signal.SIGINT, 2, "--force")
    assert status == 130
    assert path.read_bytes() == OLD_RESULT.read_bytes()


def test_a_signal_that_comes_when_all_is_done_costs_nothing(tmp_path: Path) -> None:
    text = RUN.replace("len(shots) == 5", "False").replace("range(writing)", "range(1)")
    path = tmp_path / "result.json"
    arguments = ("--device", "cpu", *TINY, "-o", str(path))
    status, _, err = script(text, str(int(signal.SIGTERM)), "0", *arguments)
    assert status == 143
    assert load_result(path).complete
    assert len(load_result(path).measurements) == 3
    assert messages(err)[-1] == "ftax-micro: stopped by SIGTERM; 3 rows measured"
