"""The cpu device: every row really runs, briefly, and says why where it cannot.

No value is compared with a time: a loaded machine is slow, not wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftax_micro.devices import cpu, open_device
from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow
from ftax_micro.devices.cpu import CpuDevice, handoff
from ftax_micro.devices.cpu.calls import call_rows
from ftax_micro.devices.cpu.cores import Topology, parse_core_list
from ftax_micro.devices.cpu.handoff import RING_CAPACITY, handoff_rows
from ftax_micro.devices.cpu.parallel import parallel_rows
from ftax_micro.errors import Skip
from ftax_micro.measurement import ResolutionError
from ftax_micro.records import ClockFacts, Data, Plan, Setting

ROOT = Path(__file__).resolve().parent.parent
TINY = Plan(min_samples=5, min_time_s=0.0, timeout_s=0.5, half_width=10.0, warmup_time_s=0.0)
CLOCK = ClockFacts(name="test", tick_s=1e-9, read_cost_s=20e-9)
ROWS = [
    "call_direct",
    "call_extension",
    "call_python",
    "submit",
    "to_start",
    "spacing",
    "sync",
    "launch_sync",
    "launch_rate",
    "queue_knee",
    "parallel_region",
]
LEVELLED = {"call_extension", "call_python", "submit", "spacing"}
ALONE = {"call_direct", "call_extension", "call_python"}


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    opened = CpuDevice()
    yield opened
    opened.close()


@pytest.fixture
def two_cores(device: CpuDevice) -> Topology:
    """This machine's topology; skips the test where two threads would share a core."""
    if len(device.topology.one_per_physical_core()) == 1:
        pytest.skip("this machine has one physical core to use")
    return device.topology


def row_of(device: CpuDevice, name: str) -> FloorRow:
    return next(row for row in device.rows() if row.name == name)


def assert_measured(row: FloorRow, data: Data) -> None:
    """Values are there, of the kind the row promises, and positive."""
    if row.name in LEVELLED and data.estimate != "median":  # submit wakes a blocking worker alone
        assert data.estimate == "slope"
        assert len(data.levels) >= 2
        values = [value for level in data.levels for value in level.samples_s]
        assert all(level.samples_s for level in data.levels)
    else:
        assert data.estimate == "median"
        assert row.name in {"submit"} or row.name not in LEVELLED
        values = data.samples
    assert values
    assert min(values) > 0
    assert data.stop_reason in {"interval", "timeout", "fixed_count"}
    assert data.unit == ("count" if row.name == "queue_knee" else "s")
    assert data.censored == 0 or row.name == "queue_knee"


# The device


def test_the_device_opens_by_name_and_closes_twice() -> None:
    opened = open_device("cpu")
    assert isinstance(opened, CpuDevice)
    opened.close()
    opened.close()


def test_facts_say_what_was_measured(device: CpuDevice) -> None:
    facts = device.describe()
    assert (facts.name, facts.kind) == ("cpu", "cpu")
    assert facts.facts["ring_capacity"] == RING_CAPACITY
    assert parse_core_list(str(facts.facts["allowed_cores"])) == list(device.topology.cores)
    state = device.state()
    assert state is not None
    assert state.fixed_work_s is not None
    # Of a thread that cannot be pinned nobody knows its core.
    assert {int(core) for core in state.fixed_work_s} <= set(device.topology.cores or (-1,))
    assert all(work_s > 0 for work_s in state.fixed_work_s.values())


def test_the_clock_is_measured(device: CpuDevice) -> None:
    assert device.clock.tick_s > 0
    assert device.clock.read_cost_s > 0
    # Seconds, not nanoseconds.
    assert device.clock.tick_s < 1
    assert device.clock.read_cost_s < 1


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity calls here")
def test_the_topology_has_the_cores_this_process_may_use(device: CpuDevice) -> None:
    assert set(device.topology.cores) == os.sched_getaffinity(0)


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("processor\t: 0\nmodel name\t: A Processor: 9000\nflags : x\n", "A Processor: 9000"),
        ("processor : 0\nHardware : board\nModel : A Board\n", "A Board"),
        ("processor : 0\n", None),
    ],
)
def test_the_model_is_read_from_cpuinfo(tmp_path: Path, text: str, model: str | None) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert cpu._cpu_model(tmp_path / "cpuinfo") == model
    assert cpu._cpu_model(tmp_path / "missing") is None


def test_all_rows_of_the_anatomy_are_there(device: CpuDevice) -> None:
    assert [row.name for row in device.rows()] == ROWS
    for row in device.rows():
        assert row.summary
        for settings in (row.settings, *row.axes.values()):
            texts = [str(sorted(setting.items())) for setting in settings]
            assert len(texts) == len(set(texts)), row.name


# Every row runs


def known_rows() -> list[FloorRow]:
    """The rows of a machine with two cores, without opening anything."""
    pair = Topology((0, 1))
    return [*call_rows(CLOCK, None), *handoff_rows(CLOCK, pair), *parallel_rows(CLOCK, pair)]


def default_points() -> list[tuple[str, Setting]]:
    return [(row.name, setting) for row in known_rows() for setting in row.settings]


def axis_points() -> list[tuple[str, Setting]]:
    """The points of every axis, without those that idle long."""
    points = [
        (row.name, setting)
        for row in known_rows()
        for axis in row.axes.values()
        for setting in axis
    ]
    return [(name, setting) for name, setting in points if int(setting.get("idle_ns", 0)) <= 10**6]


def point_id(value: object) -> str | None:
    return "-".join(map(str, value.values())) if isinstance(value, dict) else None


@pytest.mark.parametrize(("name", "setting"), default_points(), ids=point_id)
def test_every_row_measures_something(device: CpuDevice, name: str, setting: Setting) -> None:
    row = row_of(device, name)
    if name not in ALONE and len(device.topology.one_per_physical_core()) == 1:
        with pytest.raises(Skip):
            row.measure(setting, TINY)
        return
    assert_measured(row, row.measure(setting, TINY).data)


@pytest.mark.parametrize(("name", "setting"), axis_points(), ids=point_id)
def test_every_point_of_an_axis_measures_or_says_why_not(
    device: CpuDevice, name: str, setting: Setting
) -> None:
    row = row_of(device, name)
    try:
        device.topology.pair(str(setting.get("placement", "other_core")))
    except Skip:
        with pytest.raises(Skip):
            row.measure(setting, TINY)
        return
    assert_measured(row, row.measure(setting, TINY).data)


def test_the_knee_is_the_size_of_the_ring(device: CpuDevice, two_cores: Topology) -> None:
    data = row_of(device, "queue_knee").measure({"wait": "spin"}, TINY).data
    # The best of five: a thread that loses its core in the middle finds the queue full too early.
    assert max(data.samples) == RING_CAPACITY


def test_hand_offs_leave_the_affinity_as_it_was(device: CpuDevice, two_cores: Topology) -> None:
    allowed = core().host.allowed_cores()
    for name in ("submit", "sync", "parallel_region"):
        row_of(device, name).measure({"wait": "block"}, TINY)
    assert core().host.allowed_cores() == allowed


def test_hand_offs_end_their_threads(device: CpuDevice, two_cores: Topology) -> None:
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        pytest.skip("threads cannot be counted here")
    before = len(list(tasks.iterdir()))
    row_of(device, "launch_sync").measure({"wait": "block"}, TINY)
    row_of(device, "parallel_region").measure({"wait": "block"}, TINY)
    # A thread that was joined may be listed for a moment longer.
    until = time.monotonic() + 10.0
    while len(list(tasks.iterdir())) > before and time.monotonic() < until:
        time.sleep(0.001)
    assert len(list(tasks.iterdir())) <= before


def test_other_threads_run_while_a_loop_is_timed(two_cores: Topology) -> None:
    # The loop lasts as long as its task holds the worker. If it kept the interpreter's lock, the
    # other thread could not have run by the time the call returns.
    worker = core().host.HandOff(-1, -1, core().host.Wait.block, 16)
    begun, ran = threading.Event(), threading.Event()

    def other() -> None:
        begun.wait()
        ran.set()

    thread = threading.Thread(target=other)
    former = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)  # no forced hand-over of the lock: only released counts
    try:
        thread.start()
        begun.set()
        worker.queue_knee(500_000_000)
        seen = ran.is_set()
    finally:
        sys.setswitchinterval(former)
        thread.join()
    assert seen


# What a row concludes, on a worker that is told what to find


class ToldWorker:
    """Stands for the extension's HandOff."""

    def __init__(self, knee: int = RING_CAPACITY, stalls: int = 0) -> None:
        self._knee, self._stalls = knee, stalls

    def queue_knee(self, hold_ns: int) -> int:
        return self._knee

    def launch_rate(self, count: int) -> Any:
        return SimpleNamespace(total_s=count * 1e-6, stalls=self._stalls)

    def glance(self) -> Any:
        return SimpleNamespace(host_work_s=1e-9, worker_work_s=1e-9, hop_s=1e-7)


def told_row(monkeypatch: pytest.MonkeyPatch, name: str, worker: ToldWorker) -> FloorRow:
    host = SimpleNamespace(HandOff=lambda *_: worker, Wait=SimpleNamespace(spin=0, block=2))
    monkeypatch.setattr(handoff, "core", lambda: SimpleNamespace(host=host))
    rows = handoff_rows(CLOCK, Topology((0, 1)))
    return next(row for row in rows if row.name == name)


def test_a_knee_off_the_ring_is_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    good = told_row(monkeypatch, "queue_knee", ToldWorker()).measure({}, TINY)
    assert (good.verdicts, good.data.samples) == ([], [1024.0] * 5)
    bad = told_row(monkeypatch, "queue_knee", ToldWorker(knee=1000)).measure({}, TINY)
    assert [verdict.code for verdict in bad.verdicts] == ["self_check"]
    assert "1024 tasks, but blocked after [1000" in bad.verdicts[0].sentence


def test_a_queue_that_never_blocks_has_no_knee(monkeypatch: pytest.MonkeyPatch) -> None:
    row = told_row(monkeypatch, "queue_knee", ToldWorker(knee=-1))
    with pytest.raises(ResolutionError, match="none of 5 counts"):
        row.measure({}, TINY)


@pytest.mark.parametrize(("stalls", "side"), [(0, "host"), (100, "host"), (5000, "worker")])
def test_the_rate_says_which_side_limits_it(
    monkeypatch: pytest.MonkeyPatch, stalls: int, side: str
) -> None:
    row = told_row(monkeypatch, "launch_rate", ToldWorker(stalls=stalls))
    outcome = row.measure({"wait": "spin"}, TINY)
    assert outcome.data.loops == 10_000
    assert outcome.facts == {"limited_by": side, "stalled_share": stalls / 10_000}
    assert outcome.data.samples[0] == pytest.approx(1e-6)


def test_draws_with_long_pauses_are_small() -> None:
    assert [handoff._shots(ns) for ns in (0, 10_000, 1_000_000, 10**9)] == [32, 32, 10, 1]


# Machines with too few cores


@pytest.mark.parametrize("name", [name for name in ROWS if name not in ALONE])
def test_one_core_skips_what_needs_two_with_a_reason(name: str) -> None:
    lonely = CpuDevice()
    lonely.topology = Topology((0,))
    row = row_of(lonely, name)
    for setting in row.settings:
        with pytest.raises(Skip, match="one core only"):
            row.measure(setting, TINY)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity calls here")
def test_a_process_confined_to_one_core_skips_too() -> None:
    script = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from ftax_micro.devices.cpu import CpuDevice
from ftax_micro.errors import Skip
from ftax_micro.records import Plan
plan = Plan(min_samples=5, min_time_s=0.0, timeout_s=0.5, half_width=10.0, warmup_time_s=0.0)
for row in CpuDevice().rows():
    try:
        row.measure(row.settings[0], plan)
        print(row.name)
    except Skip as reason:
        assert "one core only" in str(reason)
"""
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["call_direct", "call_extension", "call_python"]


@pytest.mark.parametrize(
    ("cores", "threads"), [(1, []), (2, [2]), (3, [2, 3]), (4, [2, 4]), (6, [2, 4, 6])]
)
def test_the_threads_axis_doubles_up_to_all_cores(cores: int, threads: list[int]) -> None:
    (row,) = parallel_rows(CLOCK, Topology(tuple(range(cores))))
    assert [setting["threads"] for setting in row.axes["threads"]] == threads


def test_a_parallel_region_says_how_many_threads_it_had(
    device: CpuDevice, two_cores: Topology
) -> None:
    outcome = row_of(device, "parallel_region").measure({"wait": "block"}, TINY)
    assert outcome.facts == {"threads": len(two_cores.one_per_physical_core()) or 2}


# Wrong use of the extension


def test_wrong_use_is_an_error_not_a_hang() -> None:
    host = core().host
    with pytest.raises(ValueError, match="power of two"):
        host.HandOff(-1, -1, host.Wait.spin, 1000)
    with pytest.raises(ValueError, match="power of two"):
        host.HandOff(-1, -1, host.Wait.spin, 0)
    with pytest.raises(ValueError, match="two cores"):
        host.Team([0], host.Wait.spin)
    worker = host.HandOff(-1, -1, host.Wait.block, 16)
    with pytest.raises(ValueError, match="would block"):
        worker.submit_burst(17)
    with pytest.raises(ValueError, match="would block"):
        worker.spacing_burst(14)
    assert worker.submit_burst(16) > 0
