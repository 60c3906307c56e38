"""Repeating a run in fresh processes, which may fail, end early or be told to."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from stand_in import OLD_RESULT, TINY, finish, launch_floor, messages, start

from ftax_micro.errors import Interrupted
from ftax_micro.orchestration import processes
from ftax_micro.orchestration.interrupts import catch_signals
from ftax_micro.orchestration.processes import ChildError, run_in_processes
from ftax_micro.results import Result, load_result, save_result

OLD = load_result(OLD_RESULT)
CUT = msgspec.structs.replace(OLD, complete=False, incomplete_reason="stopped by SIGTERM")

Child = Callable[[Path], tuple[int, str]]


def saves(result: Result, code: int = 0) -> Child:
    def child(target: Path) -> tuple[int, str]:
        save_result(result, target)
        return code, ""

    return child


def fails(code: int, *lines: str) -> Child:
    return lambda _: (code, "\n".join(lines))


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[Child]:
    """What the next processes do instead of measuring."""
    waiting: list[Child] = []

    def run_child(arguments: Sequence[str], _: object) -> tuple[int, str]:
        assert arguments[-2] == "-o"
        return waiting.pop(0)(Path(arguments[-1]))

    monkeypatch.setattr(processes, "_run_child", run_child)
    return waiting


def test_rows_are_joined_and_know_their_process(children: list[Child]) -> None:
    children += [saves(OLD)] * 3
    begun: list[tuple[int, int]] = []
    result = run_in_processes([], 3, on_process=lambda *index: begun.append(index))
    assert begun == [(0, 3), (1, 3), (2, 3)]
    assert result.processes == 3
    assert result.complete
    number = len(OLD.measurements)
    assert [m.process for m in result.measurements] == [0] * number + [1] * number + [2] * number
    assert {m.name for m in result.measurements} == {m.name for m in OLD.measurements}


@pytest.mark.parametrize(
    ("child", "words", "code"),
    [
        (
            fails(2, "warning: noisy", "ftax-micro: error: unknown probe 'x'"),
            "unknown probe 'x'",
            2,
        ),
        (fails(3, "ftax-micro: error: cuda:1 is not available"), "cuda:1 is not available", 3),
        (fails(-signal.SIGSEGV), "a process was killed by signal 11 and left no result", 1),
        (fails(7), "a process ended with 7, no result", 7),
        (fails(0), "a process ended with 0, no result", 1),
    ],
)
def test_a_first_child_without_a_result_says_why(
    children: list[Child], child: Child, words: str, code: int
) -> None:
    children += [child]
    with pytest.raises(ChildError) as caught:
        run_in_processes([], 5)
    assert str(caught.value) == words
    assert caught.value.exit_code == code


def test_a_later_one_ends_the_series_and_leaves_what_there_is(children: list[Child]) -> None:
    children += [saves(OLD), saves(OLD), fails(1, "ftax-micro: error: out of memory")]
    result = run_in_processes([], 5)
    assert result.processes == 2
    assert len(result.measurements) == 2 * len(OLD.measurements)
    assert (result.complete, result.incomplete_reason) == (False, "out of memory")


def test_one_that_hung_ends_the_series(children: list[Child]) -> None:
    hung = msgspec.structs.replace(CUT, incomplete_reason="cuda:0 sync did not end")
    children += [saves(OLD), saves(hung, 1)]
    result = run_in_processes([], 5)
    assert result.processes == 2
    assert result.incomplete_reason == "cuda:0 sync did not end"


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")]
)
def test_a_signal_keeps_the_rows_of_the_child_it_ended(
    children: list[Child], number: int, name: str
) -> None:
    def ended(target: Path) -> tuple[int, str]:
        os.kill(os.getpid(), number)
        return saves(CUT, 143)(target)

    children += [saves(OLD), ended]
    with catch_signals() as interrupts:
        result = run_in_processes([], 5, interrupts)
    assert len(result.measurements) == 2 * len(OLD.measurements)
    assert result.incomplete_reason == f"stopped by {name}"


def test_a_signal_between_two_children_starts_no_other(children: list[Child]) -> None:
    def begins(index: int, _: int) -> None:
        if index == 1:
            os.kill(os.getpid(), signal.SIGINT)

    children += [saves(OLD)]
    with catch_signals() as interrupts:
        result = run_in_processes([], 5, interrupts, begins)
    assert (result.processes, result.incomplete_reason) == (1, "stopped by SIGINT")


def test_a_signal_before_anything_is_measured(children: list[Child]) -> None:
    def ended(_: Path) -> tuple[int, str]:
        os.kill(os.getpid(), signal.SIGINT)
        return -signal.SIGTERM, ""

    children += [ended]
    with catch_signals() as interrupts, pytest.raises(Interrupted, match="SIGINT"):
        run_in_processes([], 5, interrupts)


def test_a_real_series(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    arguments = ("--device", "cpu", "--probe", "call_direct", *TINY, "--processes", "2")
    code, out, err = launch_floor(*arguments, "--format", "csv", "-o", str(path))
    assert code == 0
    assert messages(err) == [f"saved {path}"]
    assert len(out.splitlines()) == 2
    result = load_result(path)
    assert result.processes == 2
    assert [(m.name, m.process) for m in result.measurements] == [
        ("call_direct", 0),
        ("call_direct", 1),
    ]
    # The command line is the user's, not a child's.
    program = ["python", "-m", "ftax_micro.launch_floor"]
    typed = [*program, *arguments, "--format", "csv", "-o", str(path)]
    assert result.environment.command == typed


def test_a_wrong_name_is_the_same_error_as_in_one_process() -> None:
    code, out, err = launch_floor("--device", "cpu", "--probe", "submitt", "--processes", "2")
    assert (code, out) == (2, "")
    assert messages(err) == ["ftax-micro: error: unknown probe 'submitt'; did you mean submit?"]


def catching_child(parent: int) -> int | None:
    """The child of `parent` that handles SIGTERM by now; None before there is one.

    Until it executes its own program a child is a copy of its parent, handlers and all.
    """
    own = Path(f"/proc/{parent}/cmdline").read_bytes()
    for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        if Path(f"/proc/{pid}/cmdline").read_bytes() in {own, b""}:
            continue
        status = Path(f"/proc/{pid}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1):
            return int(pid)
    return None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_real_child_is_told_and_saves(tmp_path: Path, number: int, code: int) -> None:
    path = tmp_path / "result.json"
    endless = ("--min-time", "1000", "--timeout", "1000", "--probe", "call_direct,submit")
    child = start(
        *("-m", "ftax_micro.launch_floor", "--device", "cpu", *endless, "--processes", "3"),
        *("-o", str(path)),
    )
    try:
        until = time.monotonic() + 60
        while catching_child(child.pid) is None and time.monotonic() < until:
            time.sleep(0.01)
        measuring = catching_child(child.pid)
        assert measuring is not None
        child.send_signal(number)
    finally:
        status, _, err = finish(child)
    assert status == code
    result = load_result(path)
    assert result.incomplete_reason == f"stopped by {signal.Signals(number).name}"
    assert messages(err)[0] == f"saved {path}"
    assert not Path(f"/proc/{measuring}").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_a_child_ends_with_its_parent() -> None:
    long = ["--probe", "call_direct", "--min-time", "100", "--timeout", "200", "--processes", "2"]
    with start("-m", "ftax_micro.launch_floor", "--device", "cpu", *long) as parent:
        try:
            wait_for(lambda: measuring_children(parent.pid))
            (child,) = measuring_children(parent.pid)
        finally:
            parent.kill()
            finish(parent)
    wait_for(lambda: not child.exists())


def measuring_children(parent: int) -> list[Path]:
    told = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    found = []
    for process in [Path("/proc") / number for number in told]:
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes()
            found += [process] if b"orchestration.with_parent" in command else []
    return found


def wait_for(met: Callable[[], object]) -> None:
    limit_s = time.monotonic() + 60
    while not met():
        assert time.monotonic() < limit_s
        time.sleep(0.05)
