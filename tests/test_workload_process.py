"""A workload measured in other processes, whatever becomes of them; a script stands for the child.

The script reads its job as the real one does and tells what `FTAX_TEST_PLAY` says.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from stand_in import start

from ftax_micro.errors import Interrupted
from ftax_micro.models.request import ModelRequest, own_spec
from ftax_micro.orchestration.interrupts import Interrupts, catch_signals
from ftax_micro.orchestration.workload import process as workload_process
from ftax_micro.orchestration.workload.journal import Journal
from ftax_micro.orchestration.workload.process import WorkloadProcess
from ftax_micro.orchestration.workload.request import WorkloadRequest
from ftax_micro.records import Case, Plan
from ftax_micro.result_rules import check_case

PLAN = Plan(min_samples=4, min_time_s=0.0, timeout_s=5.0, half_width=100.0, quick=True)
FULL = Plan(min_samples=4, min_time_s=0.0, timeout_s=5.0, half_width=100.0)

# The steps of a mode, in order, and at which of them it does what; one line of the log per process.
CHILD = """
import json, os, signal, sys, time
from pathlib import Path
from ftax_micro.interleaving import Block
from ftax_micro.orchestration.child_process import end_with_parent
from ftax_micro.orchestration.workload.job import *
from ftax_micro.orchestration.workload.job import read_job
from ftax_micro.records import Data

folder, pipe = Path(sys.argv[1]), int(sys.argv[2])
end_with_parent(lambda: os._exit(1))
job, play = read_job(folder), json.loads(os.environ["FTAX_TEST_PLAY"])

def tell(message): os.write(pipe, encode_message(message))

def step(phase, mode=None):
    tell(Stands(phase=phase, mode=mode, said=os.fstat(2).st_size))
    what = play.get(f"{job.part} {mode} {phase}") or play.get(f"{mode} {phase}")
    if what == "kill": os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit": print("  the last word\\n--\\n", file=sys.stderr, flush=True); os._exit(7)
    if what == "hang": time.sleep(3600)
    if what == "garble": os.write(pipe, b"\\x01\\0\\0\\0\\xc1")
    if what == "skip": tell(Absent(mode=mode, status="skipped", reason="not here")); return True
    if what == "mark":
        Path(os.environ["FTAX_TEST_MARK"]).write_text(str(os.getpid())); time.sleep(3600)
    if what == "end": sys.exit(0)

if "FTAX_TEST_LOG" in os.environ:
    with open(os.environ["FTAX_TEST_LOG"], "a") as log:
        known = {mode: len(blocks) for mode, blocks in job.known.items() if blocks}
        log.write(json.dumps([job.part, job.modes, known]) + "\\n")
step("build")
tell(Built(parameters=3, weight_bytes=12))
if job.part == "solo":
    (mode,) = job.modes
    if step("prepare", mode): sys.exit()
    step("time", mode)
    data = Data(estimate="median", stop_reason="interval", samples=[2.0])
    tell(Alone(mode=mode, costs_s={"trace": 9.0}, latency=data, peak_memory_bytes=5))
    step("count", mode)
    tell(Counted(mode=mode, executed={"add": 2}))
    sys.exit()
ready = []
for mode in dict.fromkeys(["eager", *job.modes]):
    if step("prepare", mode): continue
    step("check", mode)
    tell(Ready(mode=mode, costs_s={"trace": 1.0}, facts={}, relative_norm=0, largest_difference=0))
    ready.append(mode)
for _ in range(2):
    for mode in ready:
        if mode not in job.modes or len(job.known.get(mode, [])) >= 2: continue
        step("time", mode)
        block = Block(latency=[1.0, 1.0], pipelined=1.0, elapsed_s=4.0)
        tell(Taken(mode=mode, block=block))
        job.known.setdefault(mode, []).append(block)
        if len(job.known[mode]) == 2: tell(Timed(mode=mode, reason="interval"))
if job.count:
    for mode in ready:
        step("count", mode)
        tell(Counted(mode=mode, executed={"add": 2}))
step("facts")
tell(Facts(macs=7, activation_bytes=8))
"""
MODES = ("eager", "second", "third")


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Temporary files in a folder of the test's own, which is empty afterwards."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    return folder


def journal(plan: Plan = PLAN) -> Journal:
    model = ModelRequest("mine", own_spec("mine", lambda: (None, None)))
    why = "not measured in a quick run" if plan.quick else None
    return Journal(WorkloadRequest(model, model.spec.shape), MODES, plan, not_alone=why)


def played(
    monkeypatch: pytest.MonkeyPatch,
    play: dict[str, str],
    *,
    plan: Plan = PLAN,
    limit_s: float = 60.0,
    command: Sequence[str] = (sys.executable, "-c", CHILD),
    **more: Any,
) -> dict[str, Case]:
    """The cases that come of it, by mode; every mode has one."""
    monkeypatch.setenv("FTAX_TEST_PLAY", json.dumps(play))
    told = journal(plan)
    WorkloadProcess(limit_s, command=command, patience_s=0.0, **more).measure(told)
    assert told.undone() == []
    cases = told.cases()
    for case in cases:
        check_case(case)
        assert case.measured_at
        assert case.tool_version
    assert [case.mode for case in cases] == list(MODES)
    return {case.mode: case for case in cases}


def states(cases: dict[str, Case]) -> dict[str, str]:
    return {mode: case.status for mode, case in cases.items()}


def log_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "log"
    monkeypatch.setenv("FTAX_TEST_LOG", str(path))
    return path


def processes(log: Path) -> list[Any]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_quick_run_is_one_process_for_all_modes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nothing_is_left: Path
) -> None:
    log = log_of(monkeypatch, tmp_path)
    cases = played(monkeypatch, {})
    assert processes(log) == [["timing", list(MODES), {}]]
    for case in cases.values():
        assert case.status == "ok"
        assert case.blocks == [2, 2]
        assert case.latency is not None
        assert case.latency.elapsed_s == 8.0
        assert (case.parameters, case.macs, case.executed) == (3, 7, {"add": 2})
        assert (case.solo, case.costs_s) == (None, {"trace": 1.0})
        assert case.reasons["solo"] == "not measured in a quick run"
    assert list(nothing_is_left.iterdir()) == []


def test_a_full_run_measures_each_mode_by_itself_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = log_of(monkeypatch, tmp_path)
    cases = played(monkeypatch, {}, plan=FULL)
    assert processes(log)[:3] == [["solo", [mode], {}] for mode in MODES]
    assert len(processes(log)) == 4
    for case in cases.values():
        assert case.solo is not None
        assert (case.peak_memory_bytes, case.costs_s) == (5, {"trace": 9.0})
        assert (case.executed, case.reasons) == ({"add": 2}, {})


def test_a_mode_that_goes_wrong_by_itself_is_not_timed_with_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = log_of(monkeypatch, tmp_path)
    play = {"solo second prepare": "kill", "solo third prepare": "skip"}
    cases = played(monkeypatch, play, plan=FULL)
    assert processes(log)[-1] == ["timing", ["eager"], {}]
    assert states(cases) == {"eager": "ok", "second": "failed", "third": "skipped"}
    reason = "its process was killed by signal 9 (SIGKILL) while making it ready"
    assert cases["second"].reason == reason


@pytest.mark.parametrize(
    ("what", "phase", "reason"),
    [
        ("kill", "prepare", "its process was killed by signal 9 (SIGKILL) while making it ready"),
        (
            "exit",
            "check",
            "its process ended with 7 before it had a result: the last word while comparing it "
            "with eager",
        ),
        ("end", "prepare", "its process ended before it had a result"),
    ],
)
def test_a_process_that_dies_costs_the_mode_that_it_was_at(
    monkeypatch: pytest.MonkeyPatch, what: str, phase: str, reason: str
) -> None:
    cases = played(monkeypatch, {f"second {phase}": what})
    assert states(cases) == {"eager": "ok", "second": "failed", "third": "ok"}
    assert cases["second"].reason == reason


def test_a_process_killed_while_timing_keeps_the_others_blocks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = log_of(monkeypatch, tmp_path)
    cases = played(monkeypatch, {"second time": "kill"})
    assert processes(log)[1] == ["timing", ["eager", "third"], {"eager": 1}]
    assert states(cases) == {"eager": "ok", "second": "failed", "third": "ok"}
    assert "SIGKILL) while timing it" in str(cases["second"].reason)
    assert cases["eager"].blocks == [2, 2]


def test_the_kernel_s_word_is_what_makes_it_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    kills = iter([3, 4, 4, 4])
    monkeypatch.setattr(workload_process, "memory_kills", lambda: next(kills))
    reason = str(played(monkeypatch, {"second time": "kill"})["second"].reason)
    assert "the kernel ended a process for want of memory meanwhile: out of memory" in reason


@pytest.mark.parametrize("what", ["hang", "garble"])
def test_a_process_that_does_not_answer_or_talks_nonsense_is_ended(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    cases = played(monkeypatch, {"second prepare": what}, limit_s=1.5)
    assert states(cases) == {"eager": "ok", "second": "failed", "third": "ok"}
    expected = "did not answer for 1.5 s" if what == "hang" else "told what is no result"
    assert expected in str(cases["second"].reason)


def test_without_eager_there_is_nothing_to_compare_with(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = played(monkeypatch, {"eager check": "kill"})
    assert states(cases) == {"eager": "failed", "second": "skipped", "third": "skipped"}
    assert "nothing to compare with" in str(cases["third"].reason)


def test_eager_that_dies_while_it_is_timed_is_still_compared_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = played(monkeypatch, {"eager time": "kill"})
    assert states(cases) == {"eager": "failed", "second": "ok", "third": "ok"}


@pytest.mark.parametrize("command", [None, ("/nonexistent/python",)])
def test_where_no_process_gets_anywhere_every_mode_fails_once(
    monkeypatch: pytest.MonkeyPatch, command: Sequence[str] | None
) -> None:
    ways = {"command": command} if command else {}
    cases = played(monkeypatch, {"None build": "kill"}, **ways)  # type: ignore[arg-type]
    expected = "could not be started" if command else "killed by signal 9 (SIGKILL) while building"
    assert all(expected in str(case.reason) for case in cases.values())


@pytest.mark.parametrize("plan", [PLAN, FULL])
def test_dying_while_operations_are_counted_costs_the_count_alone(
    monkeypatch: pytest.MonkeyPatch, plan: Plan
) -> None:
    cases = played(monkeypatch, {"second count": "kill"}, plan=plan)
    assert set(states(cases).values()) == {"ok"}
    assert "SIGKILL" in cases["second"].reasons["executed"]
    assert cases["second"].executed == {}
    assert cases["eager"].executed == {"add": 2}


def test_what_processes_say_is_kept_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    played(monkeypatch, {"second check": "exit", "third check": "exit"}, log=said)
    assert said.read_text().count("the last word") == 2


def wait_for(mark: Path) -> int:
    while not (mark.exists() and mark.read_text()):  # the test's own timeout ends this
        time.sleep(0.01)
    return int(mark.read_text())


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_process_and_keeps_its_blocks(
    number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nothing_is_left: Path
) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv("FTAX_TEST_MARK", str(mark))
    monkeypatch.setenv("FTAX_TEST_PLAY", json.dumps({"second time": "mark"}))
    pids: list[int] = []

    def interrupt() -> None:
        pids.append(wait_for(mark))
        os.kill(os.getpid(), number)

    told = journal()
    with catch_signals() as interrupts:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(Interrupted):
            process(interrupts).measure(told)
        thread.join(60)
    assert not is_alive(pids[0])
    (case,) = told.cases()
    assert (case.mode, case.blocks) == ("eager", [2])
    assert case.latency is not None
    assert case.latency.stop_reason == "interrupted"
    assert list(nothing_is_left.iterdir()) == []


def process(interrupts: Interrupts | None = None) -> WorkloadProcess:
    return WorkloadProcess(60.0, interrupts, command=(sys.executable, "-c", CHILD))


PARENT = """
from test_workload_process import journal, process
process().measure(journal())
"""


def test_no_process_outlives_the_one_that_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv("FTAX_TEST_MARK", str(mark))
    monkeypatch.setenv("FTAX_TEST_PLAY", json.dumps({"eager prepare": "mark"}))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    parent = start("-c", PARENT)
    try:
        while not (mark.exists() and mark.read_text()):
            assert parent.poll() is None, "it ended before its child was there"
            time.sleep(0.01)
        child = int(mark.read_text())
        parent.kill()
        parent.communicate(timeout=60)
        while is_alive(child):
            time.sleep(0.01)
    finally:
        parent.kill()
        parent.communicate()
