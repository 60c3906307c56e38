"""Points measured in a process of their own, whatever becomes of that process."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from stand_in import start

from ftax_micro.errors import Interrupted
from ftax_micro.orchestration.interrupts import Interrupts, catch_signals
from ftax_micro.orchestration.point.job import PointJob, PointName
from ftax_micro.orchestration.point.process import PointProcess, Task
from ftax_micro.records import Measurement, Plan

PLAN = Plan(min_samples=5, min_time_s=0.0, timeout_s=0.2)
NEVER_S = 3600.0

# A child whose device is a stand-in; its rows do what their names say.
CHILD = """
import os, signal, sys, time
from ftax_micro.errors import NeedsOwnProcess
from ftax_micro.orchestration.point import child as point_child
from stand_in import StandIn, row

def crash(): os.kill(os.getpid(), signal.SIGSEGV)
def leave(): sys.stderr.write("all is lost\\n"); os._exit(7)
def hang(): time.sleep(3600)
def fail(): raise ValueError("no luck")
def refuse(): raise NeedsOwnProcess("not even here")
def whine(): print("not a result" * 10000)
def garble():
    from pathlib import Path
    measured = point_child.write_point
    def write(folder, index, measurement):
        Path(folder, str(index)).write_bytes(b"nonsense")
    point_child.write_point = write
def lose(): point_child.write_point = lambda *_: None
def told():
    mark = os.environ["FTAX_TEST_MARK"]
    with open(mark + ".part", "w") as stream:
        stream.write(str(os.getpid()))
    os.replace(mark + ".part", mark)
    time.sleep(3600)

names = dict(crash=crash, leave=leave, hang=hang, fail=fail, refuse=refuse, whine=whine,
             garble=garble, lose=lose, told=told)
rows = [row(n) for n in ("first", "second", "third")] + [row(n, f) for n, f in names.items()]

def open_device(name, tracer):
    if name == "gone":
        raise RuntimeError("the device is gone")
    if name == "mute":
        os._exit(3)
    note("opens " + name)
    return StandIn(*rows)

def note(text):
    if "FTAX_TEST_LOG" in os.environ:
        with open(os.environ["FTAX_TEST_LOG"], "a") as log:
            log.write(text + "\\n")

def load(job):
    if job.device == "slow":
        note("never loads")
        time.sleep(3600)
    if job.device == "dying":
        os._exit(5)
    if job.device == "broken":
        raise ImportError("no such package")
    note("has loaded")

point_child.open_device = open_device
sys.exit(point_child.main(sys.argv[1:], loader=load))
"""


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Temporary files in a folder of the test's own, and the tests' helpers for the children."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    return folder


def job(*names: str, device: str = "cpu") -> PointJob:
    points = [PointName(name=name, setting={"n": i}) for i, name in enumerate(names)]
    return PointJob(device=device, points=points, plan=PLAN, process=2)


def measured(
    wanted: PointJob,
    *,
    limit_s: float = 60.0,
    command: Sequence[str] = (sys.executable, "-c", CHILD),
    interrupts: Interrupts | None = None,
    into: list[Measurement] | None = None,
) -> list[Measurement]:
    """The measurements of all points; each began before, in their order."""
    begun: list[int] = []
    found: list[Measurement] = [] if into is None else into

    def ends(index: int, measurement: Measurement) -> None:
        assert begun[-1] == index == len(found)
        found.append(measurement)

    process = PointProcess(limit_s, interrupts, command, start_s=60.0, grace_s=10.0)
    process.measure(wanted, begun.append, ends)
    assert begun == list(range(len(wanted.points)))
    return found


def states(found: Sequence[Measurement]) -> list[tuple[str, str, str | None]]:
    return [(m.name, m.status, m.reason) for m in found]


def test_points_come_back_with_their_samples(nothing_is_left: Path) -> None:
    found = measured(job("first", "whine", "third"))
    assert states(found) == [("first", "ok", None), ("whine", "ok", None), ("third", "ok", None)]
    assert [(m.setting, m.process, m.device) for m in found] == [
        ({"n": n}, 2, "cpu") for n in range(3)
    ]
    assert found[0].data is not None
    assert found[0].data.samples == [1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6, 7e-6]
    assert found[0].facts["own_process"] is True
    assert list(nothing_is_left.iterdir()) == []


def test_why_is_a_fact() -> None:
    named = PointName(name="first", setting={}, why="the context waits by yield")
    (found,) = measured(PointJob(device="cpu", points=[named], plan=PLAN))
    assert found.facts["own_process"] == "the context waits by yield"


def test_a_row_that_goes_wrong_there_is_a_record_as_it_is_here() -> None:
    assert states(measured(job("fail", "refuse", "unheard_of", "first"))) == [
        ("fail", "failed", "ValueError: no luck"),
        ("refuse", "skipped", "not even here"),
        ("unheard_of", "failed", "cpu has no such row"),
        ("first", "ok", None),
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crash", "its process was killed by signal 11 (SIGSEGV)"),
        ("leave", "its process ended with 7 before it had a result: all is lost"),
        ("lose", "its process left no result"),
    ],
)
def test_a_process_that_dies_costs_one_point(name: str, reason: str) -> None:
    found = measured(job("first", name, "third"))
    assert states(found)[:2] == [("first", "ok", None), (name, "failed", reason)]
    assert found[2].name == "third"
    assert (found[2].status == "ok") == (name != "lose")


def test_what_is_no_result_is_one_failure() -> None:
    (found,) = measured(job("garble"))
    assert found.status == "failed"
    assert str(found.reason).startswith("its process left what is no result:")


def test_a_process_that_does_not_answer_is_ended_and_nobody_tries_again() -> None:
    found = measured(job("first", "hang", "third", "second"), limit_s=0.5)
    after = "the device did not answer in a row before this one"
    assert states(found) == [
        ("first", "ok", None),
        ("hang", "failed", "its process did not answer for 0.5 s: the device hangs"),
        ("third", "failed", after),
        ("second", "failed", after),
    ]


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("gone", "RuntimeError: the device is gone"),
        ("mute", "its process ended with 3 before it had a result: it said nothing"),
    ],
)
def test_a_device_that_cannot_be_opened_there_fails_all_points(device: str, reason: str) -> None:
    found = measured(job("first", "second", device=device))
    assert [(m.status, m.reason) for m in found] == [("failed", reason)] * 2


def test_a_process_that_cannot_start_fails_all_points() -> None:
    found = measured(job("first", "second"), command=["/nonexistent/python"])
    assert [m.status for m in found] == ["failed"] * 2
    assert str(found[0].reason).startswith("its process could not be started: ")


def test_a_point_that_is_not_traced_is_refused_where_a_tracer_is() -> None:
    wanted = PointJob(
        device="cpu", points=[PointName(name="first", setting={})], plan=PLAN, tracer="cupti"
    )
    (found,) = measured(wanted)
    assert found.status == "failed"
    assert "first must not be measured in a process that is traced" in str(found.reason)


# Several jobs, each in a process of its own


def measured_all(
    *jobs: PointJob, interrupts: Interrupts | None = None
) -> list[tuple[int, Measurement]]:
    """The measurements of all points, with the number of their job."""
    found: list[tuple[int, Measurement]] = []

    def task(number: int, each: PointJob) -> Task:
        return each, lambda _: None, lambda _, measurement: found.append((number, measurement))

    process = PointProcess(60.0, interrupts, (sys.executable, "-c", CHILD))
    process.measure_all([task(number, each) for number, each in enumerate(jobs)])
    return found


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What the children do, line by line."""
    path = tmp_path / "log"
    monkeypatch.setenv("FTAX_TEST_LOG", str(path))
    return path


def test_all_processes_have_loaded_before_the_first_opens_its_device(
    log: Path, nothing_is_left: Path
) -> None:
    found = measured_all(job("first", "second"), job("third", device="other"), job("first"))
    told = [(number, m.name, m.status) for number, m in found]
    assert told == [
        (0, "first", "ok"),
        (0, "second", "ok"),
        (1, "third", "ok"),
        (2, "first", "ok"),
    ]
    opened = ["opens cpu", "opens other", "opens cpu"]
    assert log.read_text().splitlines() == ["has loaded"] * 3 + opened
    assert list(nothing_is_left.iterdir()) == []


def test_after_a_crash_the_rest_of_a_job_comes_before_the_next_job(log: Path) -> None:
    found = measured_all(job("crash", "second"), job("third", device="other"))
    assert [(number, m.status) for number, m in found] == [(0, "failed"), (0, "ok"), (1, "ok")]
    opened = ["opens cpu", "opens cpu", "opens other"]
    assert log.read_text().splitlines() == ["has loaded"] * 2 + opened


def test_a_process_that_goes_while_it_loads_costs_its_own_points() -> None:
    found = measured_all(job("first", "second", device="dying"), job("third"))
    gone = "its process ended with 5 before it had a result: it said nothing"
    assert [(number, m.status, m.reason) for number, m in found] == [
        (0, "failed", gone),
        (0, "failed", gone),
        (1, "ok", None),
    ]


def test_what_cannot_be_loaded_is_left_to_the_point_that_needs_it() -> None:
    ((_, found),) = measured_all(job("first", device="broken"))
    assert (found.status, found.reason) == ("ok", None)


def test_processes_that_cannot_start_fail_their_points() -> None:
    found: list[Measurement] = []
    process = PointProcess(60.0, command=["/nonexistent/python"])
    each = job("first", "second")
    process.measure_all([(each, lambda _: None, lambda _, m: found.append(m))] * 2)
    assert [m.status for m in found] == ["failed"] * 4
    assert str(found[0].reason).startswith("its process could not be started: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_while_they_load_ends_all(
    number: int, log: Path, nothing_is_left: Path
) -> None:
    def interrupt() -> None:
        while not log.exists() or log.read_text().count("\n") < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt, daemon=True)
    with catch_signals() as interrupts:
        thread.start()
        with pytest.raises(Interrupted):
            measured_all(job("first"), job("second", device="slow"), interrupts=interrupts)
        thread.join(60)
    assert sorted(log.read_text().splitlines()) == ["has loaded", "never loads"]
    assert list(nothing_is_left.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_process_and_keeps_what_is_done(
    number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nothing_is_left: Path
) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv("FTAX_TEST_MARK", str(mark))

    def interrupt() -> None:
        while not mark.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    found: list[Measurement] = []
    thread = threading.Thread(target=interrupt)
    with catch_signals() as interrupts:
        thread.start()
        with pytest.raises(Interrupted):
            measured(job("first", "told", "third"), interrupts=interrupts, into=found)
        thread.join(60)
    assert states(found) == [("first", "ok", None)]
    assert list(nothing_is_left.iterdir()) == []


def test_an_interruption_before_is_no_reason_to_start() -> None:
    with catch_signals() as interrupts:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Interrupted):
            measured(job("first"), interrupts=interrupts, command=["/nonexistent/python"])


PARENT = """
import sys
from ftax_micro.orchestration.point.process import PointProcess
from test_point_process import CHILD, NEVER_S, job

command = [sys.executable, "-c", CHILD]
PointProcess(NEVER_S, command=command).measure(job("told"), print, print)
"""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_outlives_the_one_that_waits_for_it(
    number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv("FTAX_TEST_MARK", str(mark))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    parent = start("-c", PARENT)
    try:
        while not mark.exists():
            assert parent.poll() is None
            time.sleep(0.01)
        child = int(mark.read_text())
        assert is_alive(child)
        parent.send_signal(number)
        parent.communicate(timeout=60)
        while is_alive(child):  # the test's own timeout ends this
            time.sleep(0.01)
    finally:
        parent.kill()
