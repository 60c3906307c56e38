"""What a machine and a user do to a run: closed pipes, forks, one core, no /sys, a terminal."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stand_in import NO_CUDA, OLD_RESULT, TINY, finish, launch_floor, messages, script, start

from ftax_micro.devices.cpu.cores import Topology
from ftax_micro.devices.cpu.parallel import parallel_rows
from ftax_micro.errors import Skip
from ftax_micro.records import ClockFacts, Plan
from ftax_micro.results import load_result

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")
MODULE = ("-m", "ftax_micro.launch_floor")
ONE_ROW = ("--device", "cpu", "--probe", "call_direct", *TINY)


# Where the output goes.


def test_a_reader_that_has_gone_is_no_error() -> None:
    child = start(*MODULE, "--list", "--device", "cpu")
    assert child.stdout is not None
    child.stdout.close()  # before the command has written anything
    child.stdout = None
    assert finish(child) == (0, "", "")


def test_a_reader_of_messages_that_has_gone_is_none_either() -> None:
    child = start(*MODULE, *ONE_ROW, "--format", "csv")
    assert child.stderr is not None
    child.stderr.close()
    child.stderr = None
    code, out, _ = finish(child)
    assert (code, len(out.splitlines())) == (0, 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_stdout_is_told_and_costs_no_saved_result(tmp_path: Path) -> None:
    path = tmp_path / "floor.json"
    with Path("/dev/full").open("w") as full:
        child = subprocess.run(
            [sys.executable, *MODULE, *ONE_ROW, "-o", str(path)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env={**os.environ, **NO_CUDA},
        )
    assert child.returncode == 4
    assert messages(child.stderr) == [
        f"saved {path}",
        "ftax-micro: error: cannot write to stdout: No space left on device",
    ]
    assert load_result(path).complete


def test_closed_outputs_are_silence() -> None:
    text = """
import os, sys
os.close(1); os.close(2)
sys.stdout = sys.stderr = None
from ftax_micro import cli, launch_floor
sys.exit(cli.run(launch_floor.command, sys.argv[1:]))
"""
    assert script(text, *ONE_ROW) == (0, "", "")


def test_a_terminal_without_these_letters_shows_escapes() -> None:
    text = """
import os, sys
os.environ["PYTHONIOENCODING"] = "ascii"
os.execv(sys.executable, [sys.executable, "-m", "ftax_micro.launch_floor", *sys.argv[1:]])
"""
    code, out, _ = script(text, "--show", str(OLD_RESULT))
    assert code == 0
    assert "submit" in out
    assert out.isascii()


# Progress, and Ctrl-C while it is shown.


@LINUX
def test_a_terminal_shows_progress_and_ctrl_c_keeps_the_rows(tmp_path: Path) -> None:
    import pty

    path = tmp_path / "floor.json"
    ours, theirs = pty.openpty()
    options = ("--device", "cpu", "--probe", "call_direct,submit", "--format", "csv")
    child = start(
        *MODULE, *options, "--min-time", "500", "--timeout", "500", "-o", str(path), stderr=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        while b"call_direct" not in shown:
            shown += os.read(ours, 4096)
        child.send_signal(signal.SIGINT)
        while piece := read_terminal(ours):
            shown += piece
    finally:
        code, out, _ = finish(child)
        os.close(ours)
    assert code == 130
    assert out.startswith("device,name,")
    assert "\x1b" not in out
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h") > 0  # the cursor is back
    result = load_result(path)
    assert result.incomplete_reason == "stopped by SIGINT"
    assert [m.name for m in result.measurements] in ([], ["call_direct"])


def read_terminal(descriptor: int) -> bytes:
    """What a terminal has; nothing at its end, which Linux reports as an error."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


# Forks.


def test_a_child_forked_while_another_thread_measures_can_measure() -> None:
    text = """
import os, sys, threading
from ftax_micro import measure_launch_floor
from ftax_micro.orchestration.exclusive import exclusive
from ftax_micro.records import Plan

plan = Plan(min_samples=5, min_time_s=0, timeout_s=0.2, warmup_time_s=0)
measuring, enough = threading.Event(), threading.Event()

def measure():
    with exclusive():
        measuring.set()
        enough.wait()

thread = threading.Thread(target=measure)
thread.start()
measuring.wait()
child = os.fork()
if child == 0:
    rows = measure_launch_floor("cpu", probes=["call_direct", "submit"], plan=plan).measurements
    os._exit(0 if [m.status for m in rows if m.status == "failed"] == [] != rows else 9)
_, status = os.waitpid(child, 0)
enough.set()
thread.join()
assert measure_launch_floor("cpu", probes=["call_direct"], plan=plan).complete
sys.exit(os.waitstatus_to_exitcode(status))
"""
    code, _, err = script(text)
    assert code == 0, err


def test_a_child_forked_inside_a_measurement_can_measure_and_unwind() -> None:
    text = """
import os, sys
from ftax_micro import measure_launch_floor
from ftax_micro.records import Plan

plan = Plan(min_samples=5, min_time_s=0, timeout_s=0.2, warmup_time_s=0)

class Forks:
    child = None
    def row_begins(self, *_):
        self.child = os.fork()
        if self.child == 0:
            rows = measure_launch_floor("cpu", probes=["submit"], plan=plan).measurements
            sys.exit(7 if all(m.status != "failed" for m in rows) else 9)
    def row_ends(self, _):
        pass

forks = Forks()
assert measure_launch_floor("cpu", probes=["call_direct"], plan=plan, progress=forks).complete
_, status = os.waitpid(forks.child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""
    code, _, err = script(text)
    assert code == 7, err


# Machines with little.


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_one_core_measures_what_needs_one_and_says_what_needs_two() -> None:
    text = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from ftax_micro import cli, launch_floor
sys.exit(cli.run(launch_floor.command, sys.argv[1:]))
"""
    code, out, err = script(text, "--device", "cpu", *TINY, "--format", "csv")
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    measured = {row["name"] for row in rows if row["status"] == "ok"}
    skipped = [row for row in rows if row["status"] == "skipped"]
    assert measured == {"call_direct", "call_extension", "call_python"}
    assert {row["name"] for row in skipped} >= {"submit", "sync", "queue_knee", "parallel_region"}
    assert len(skipped) + 4 == len(rows)
    assert {row["reason"].partition(":")[0] for row in skipped} == {"one core only"}


def test_without_sys_every_core_counts_as_its_own(tmp_path: Path) -> None:
    topology = Topology.read([2, 5], sys_root=tmp_path / "absent")
    assert topology == Topology(cores=(2, 5))
    assert topology.pair() == (2, 5)
    assert topology.one_per_physical_core() == [2, 5]
    with pytest.raises(Skip, match="'sibling'"):
        topology.pair("sibling")
    clock = ClockFacts(name="none", tick_s=1e-9, read_cost_s=2e-8)
    (region,) = parallel_rows(clock, Topology.read([2], sys_root=tmp_path))
    with pytest.raises(Skip, match="one core only"):
        region.measure({"wait": "spin"}, Plan())


@LINUX
def test_a_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"floor-\xff.json")
    code, _, err = launch_floor(*ONE_ROW, "-o", str(path))
    assert code == 0
    assert messages(err) == [f"saved {tmp_path}/floor-\\udcff.json"]
    assert load_result(path).complete


def test_a_python_that_cannot_find_the_extension_says_what_to_do() -> None:
    text = """
import sys
sys.modules["ftax_micro._core"] = None
from ftax_micro import cli, launch_floor
sys.exit(cli.run(launch_floor.command, ["--device", "cpu"]))
"""
    code, out, err = script(text)
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert "compiled extension of ftax_micro cannot be loaded" in err
    assert "pip install" in err
