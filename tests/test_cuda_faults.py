"""The driver fails, hangs, forks and is interrupted: one clear error, nothing lost or held.

What a failing call does to one loop of the extension is tested beside that loop; here it is what
becomes of rows, of the run and of its result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cuda_command import CHEAP, TINY, environment, launch_floor, run, settings
from fake_cuda import FakeCuda
from fake_cuda.client import Client

from ftax_micro import _core
from ftax_micro.devices.cuda import CudaDevice, loops
from ftax_micro.errors import DeviceUnavailableError, FtaxError
from ftax_micro.orchestration.points import measure_point
from ftax_micro.records import Measurement, Plan, Setting
from ftax_micro.results import load_result

UNKNOWN, ILLEGAL_ADDRESS, LAUNCH_FAILED, OUT_OF_MEMORY = 999, 700, 719, 2
YIELD_FLAG = 2
PLAN = Plan(
    min_samples=2, max_samples=4, min_time_s=0, timeout_s=0, warmup_time_s=0, half_width=0.5
)
# So late that a preempted thread still sees it start: else there is nothing to sample.
LATE = {"start_ns": 2_000_000, "start_active_ns": 2_000_000}
# Giving up a capture whose branches cannot be joined any more is what the driver calls misuse.
UNJOINED = "cuStreamEndCapture: a forked stream was not joined"

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")

Library = Callable[[str], Path]
Open = Callable[..., CudaDevice]


@pytest.fixture
def fresh(
    fake_cuda: FakeCuda, fake_cuda_runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    """Opens the device on a driver that has forgotten all before."""
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    monkeypatch.setenv("FTAX_MICRO_CUDA_RUNTIME", str(fake_cuda_runtime))
    monkeypatch.setattr(loops.Loops, "knee", lambda _: CHEAP["knee"])

    def open_device(**more: int) -> CudaDevice:
        fake_cuda.reset()
        fake_cuda.configure(**{**CHEAP, **more})
        return CudaDevice(0)

    yield open_device
    # A session that gave up leaves its context current in this thread.
    fake_cuda.driver.cuCtxSetCurrent(None)
    fake_cuda.reset()


def measured(device: CudaDevice, name: str, setting: Setting) -> Measurement:
    row = next(row for row in device.rows() if row.name == name)
    return measure_point((device, row, setting), PLAN)


def called_since(fake: FakeCuda, before: dict[str, int]) -> dict[str, int]:
    calls = {name: count - before.get(name, 0) for name, count in fake.all_calls().items()}
    return {name: count for name, count in calls.items() if count > 0}


def complaint(call: Callable[[], object]) -> str:
    """What a call raises, or else what a destructor reported meanwhile; "" where all is well."""
    before = _core.cuda.cleanup_errors().count
    try:
        call()
    except (FtaxError, _core.cuda.CudaError) as error:
        return str(error)
    errors = _core.cuda.cleanup_errors()
    return str(errors.last) if errors.count > before else ""


def assert_tidy(fake: FakeCuda, what: str) -> None:
    assert fake.leaks() == [], what
    assert set(fake.misuse()) <= {UNJOINED}, what


# Each row with all the settings of a default run. The device lists them when it is open.
ROWS = (
    *("submit", "to_start", "spacing", "launch_sync", "launch_rate", "queue_knee", "round_trip"),
    *("sync", "graph_launch", "graph_node", "graph_create", "first_launch"),
    *("memcpy_h2d", "memcpy_d2h", "memset", "event_record"),
    *("stream_sync_idle", "stream_query_idle"),
)


def test_every_row_is_tested_below(fresh: Open) -> None:
    device = fresh()
    assert {row.name for row in device.rows()} == set(ROWS)
    device.close()


@pytest.mark.parametrize("name", ROWS)
def test_each_driver_call_of_a_row_may_fail(name: str, fresh: Open, fake_cuda: FakeCuda) -> None:
    costs = LATE if name == "to_start" else {}
    device = fresh()
    points = next(list(row.settings) for row in device.rows() if row.name == name)
    device.close()
    for setting in points:
        device = fresh(**costs)
        before = fake_cuda.all_calls()
        clean = measured(device, name, setting)
        calls = called_since(fake_cuda, before)
        device.close()
        assert clean.status == "ok", clean.reason
        assert clean.verdicts == []
        assert_tidy(fake_cuda, name)
        for function, count in calls.items():
            for nth in range(1, min(count, 2) + 1):
                fail_once(fresh(**costs), fake_cuda, (name, setting), function, nth)


def fail_once(
    device: CudaDevice, fake: FakeCuda, point: tuple[str, Setting], function: str, nth: int
) -> None:
    what = f"{point} with {function} failing at call {nth}"
    fake.fail(function, nth, UNKNOWN)
    row = measured(device, *point)
    if row.status == "ok":  # what only gives back cannot cost the row its value
        assert [verdict.code for verdict in row.verdicts] == ["clean_up_failed"], what
        said = row.verdicts[0].sentence
    else:
        assert row.status == "failed", what
        said = str(row.reason)
    assert "CUDA_ERROR_UNKNOWN" in said, f"{what}: {said}"
    # The runtime tells what the driver told it, but not which call that was.
    assert function in said or point[1].get("api") == "runtime", f"{what}: {said}"
    complaint(device.close)
    assert_tidy(fake, what)


def test_each_driver_call_of_opening_may_fail(fresh: Open, fake_cuda: FakeCuda) -> None:
    fresh().close()  # what is asked once in a process is tested with the poses
    device = fresh()
    calls = fake_cuda.all_calls()
    device.close()
    for function, count in calls.items():
        for nth in range(1, min(count, 2) + 1):
            fresh().close()  # resets
            fake_cuda.fail(function, nth, UNKNOWN)
            what = f"{function} failing at call {nth}"
            said = complaint(lambda: CudaDevice(0).close())
            assert function in said, f"{what}: {said}"
            assert "CUDA_ERROR_UNKNOWN" in said, f"{what}: {said}"
            assert_tidy(fake_cuda, what)


def test_each_driver_call_of_closing_may_fail(fresh: Open, fake_cuda: FakeCuda) -> None:
    device = fresh()
    before = fake_cuda.all_calls()
    device.close()
    for function, count in called_since(fake_cuda, before).items():
        for nth in range(1, min(count, 2) + 1):
            device = fresh()
            fake_cuda.fail(function, nth, UNKNOWN)
            with pytest.raises((FtaxError, _core.cuda.CudaError), match="CUDA_ERROR_UNKNOWN"):
                device.close()
            device.close()
            assert_tidy(fake_cuda, f"{function} failing at call {nth}")


def test_out_of_memory_fails_the_row_and_not_the_next(fresh: Open, fake_cuda: FakeCuda) -> None:
    device = fresh()
    fake_cuda.fail("cuMemAlloc_v2", 1, OUT_OF_MEMORY)
    row = measured(device, "memset", {"part": "submit"})
    assert row.status == "failed"
    assert "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2)" in str(row.reason)
    assert measured(device, "memset", {"part": "submit"}).status == "ok"
    device.close()


def test_a_device_that_did_not_answer_is_not_asked_again(
    fresh: Open, fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "DEADLINE_S", 0.2)
    device = fresh()
    fake_cuda.hang("ftax_round_trip")
    row = measured(device, "round_trip", {})
    assert row.status == "failed"
    assert "waited 0.2 s in vain" in str(row.reason)
    before = fake_cuda.calls()
    # One that uses the session, one that would need another.
    points: list[tuple[str, Setting]] = [("submit", {}), ("launch_sync", {"wait": "blocking"})]
    for name, setting in points:
        row = measured(device, name, setting)
        assert row.status == "failed"
        assert "the device did not answer" in str(row.reason)
    device.close()
    assert fake_cuda.calls() == before
    fake_cuda.reset()  # what hangs was left alone


def test_a_device_that_hangs_while_it_is_opened_is_unavailable(
    fresh: Open, fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh().close()
    monkeypatch.setattr(loops, "DEADLINE_S", 0.2)
    fake_cuda.hang()
    with pytest.raises(DeviceUnavailableError, match=r"waited 0\.2 s in vain"):
        CudaDevice(0)
    fake_cuda.reset()


@pytest.mark.parametrize("fake_cuda", ["12.0"], indirect=True)
def test_a_wait_style_that_cannot_be_had_is_skipped_each_time(
    fresh: Open, fake_cuda: FakeCuda
) -> None:
    fresh().close()
    other = Client(fake_cuda, flags=YIELD_FLAG)  # another user of the primary context
    device = CudaDevice(0)
    assert device.describe().facts["wait_style"] == "yield"
    for _ in range(2):
        row = measured(device, "launch_sync", {"wait": "spin"})
        assert row.status == "skipped"
        assert "the context waits by yield and cannot be changed" in str(row.reason)
    assert measured(device, "sync", {"wait": "yield"}).status == "ok"
    assert measured(device, "submit", {}).status == "ok"
    device.close()
    other.close()


def test_two_threads_do_not_measure_on_one_device(fresh: Open, fake_cuda: FakeCuda) -> None:
    device = fresh()
    fake_cuda.slow("cuStreamSynchronize", 0, 20_000_000)
    setting: Setting = {"wait": "spin"}
    first: list[Measurement] = []
    thread = threading.Thread(target=lambda: first.append(measured(device, "launch_sync", setting)))
    thread.start()
    while not fake_cuda.calls("cuStreamSynchronize"):
        time.sleep(1e-3)
    second = measured(device, "submit", {})
    thread.join()
    assert second.status == "failed"
    assert "another thread of this process is measuring" in str(second.reason)
    assert [row.status for row in first] == ["ok"]
    device.close()


FORK = """
import os, sys
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.orchestration.points import measure_point
from ftax_micro.records import Plan

plan = Plan(min_samples=2, min_time_s=0, timeout_s=0, warmup_time_s=0)
device = CudaDevice(0)
row = next(row for row in device.rows() if row.name == "round_trip")
child = os.fork()
if child == 0:
    try:
        done = measure_point((device, row, {}), plan)
        print(done.status, done.reason, flush=True)
        device.close()
        print("closed", flush=True)
    finally:
        os._exit(0)
os.waitpid(child, 0)
print(measure_point((device, row, {}), plan).status)
device.close()
"""


def test_a_forked_child_is_told_and_does_no_harm(fake_cuda_path: Library) -> None:
    status, out, errors = run(
        ["-W", "ignore", "-c", FORK], environment(fake_cuda_path("13.0"), settings())
    )
    assert (status, errors) == (0, [])
    failed, closed, parents = out.splitlines()
    assert failed.startswith("failed ")
    assert "this process was forked from one that uses CUDA" in failed
    assert (closed, parents) == ("closed", "ok")


def test_a_driver_error_in_the_middle_keeps_what_was_measured(
    fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    # Only rows from launch_sync on wait by this call.
    fake = settings(fail=f"cuStreamSynchronize:1:{LAUNCH_FAILED}:sticky")
    probe = ("--probe", "submit,launch_sync,round_trip,memset")
    status, out, errors = launch_floor(
        fake_cuda_path("13.0"), "--device", "cuda", *probe, *TINY, "-o", str(path), fake=fake
    )
    rows = [m for m in load_result(path).measurements if m.setting.get("api") != "runtime"]
    assert [(m.name, m.status) for m in rows] == [
        ("submit", "ok"),
        *(("launch_sync", "failed"), ("round_trip", "failed")),
        *(("memset", "failed"), ("memset", "failed")),
    ]
    assert all("CUDA_ERROR_LAUNCH_FAILED" in str(m.reason) for m in rows[1:])
    assert status == 1
    assert f"saved {path}" in errors
    assert "CUDA_ERROR_LAUNCH_FAILED" in out


@pytest.mark.parametrize("function", ["cuLaunchKernel", "cuStreamQuery"])
def test_an_error_before_the_first_row_fails_the_rows(
    function: str, fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    # Opening launches three kernels and waits once or more; looking for the knee comes after.
    fake = settings(slow="cuStreamQuery:1:50000000", fail=f"{function}:4:{ILLEGAL_ADDRESS}:sticky")
    probe = ("--probe", "submit,round_trip")
    status, _, errors = launch_floor(
        fake_cuda_path("13.0"), "--device", "cuda", *probe, *TINY, "-o", str(path), fake=fake
    )
    assert status == 1, errors
    assert not any("Traceback" in line for line in errors)
    rows = [m for m in load_result(path).measurements if m.setting.get("api") != "runtime"]
    assert [(m.name, m.status) for m in rows] == [("submit", "failed"), ("round_trip", "failed")]
    assert all("CUDA_ERROR_ILLEGAL_ADDRESS" in str(m.reason) for m in rows)


@pytest.mark.parametrize(
    ("kernel", "hung", "measured_before"),
    [
        # Its wait is the driver's own: only a watchdog sees it.
        ("ftax_hold:2", "cuda:0 sync", ["submit", "round_trip"]),
        # Behind one of these the queue is full, so that a launch blocks for ever.
        ("ftax_spin_ns:2", "describing cuda:0", []),
    ],
)
def test_a_call_that_never_returns_is_left_by_the_watchdog(
    kernel: str, hung: str, measured_before: list[str], fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    arguments = ("--device", "cuda", "--probe", "submit,round_trip,sync", *TINY)
    status, _, errors = launch_floor(
        fake_cuda_path("13.0"),
        *(*arguments, "--watchdog", "2", "-o", str(path)),
        fake=settings(hang=kernel),
    )
    reason = f"{hung} did not end: the device hangs"
    result = load_result(path)
    assert [m.name for m in result.measurements if m.status == "ok"] == measured_before
    assert (result.complete, result.incomplete_reason) == (False, reason)
    error = f"ftax-micro: error: {reason}; leaving without waiting for it"
    assert (status, errors) == (1, [error, f"saved {path}"])


OWN_DEADLINE = """
import sys
from ftax_micro import cli, launch_floor
from ftax_micro.devices.cuda import loops
loops.DEADLINE_S = 2.5
sys.exit(cli.run(launch_floor.command))
"""


def test_a_kernel_that_never_ends_fails_the_rest_by_our_own_deadline(
    fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    arguments = ["--device", "cuda", "--probe", "submit,round_trip,memset", *TINY, "-o", str(path)]
    status, _, errors = run(
        ["-c", OWN_DEADLINE, *arguments],
        environment(fake_cuda_path("13.0"), settings(hang="ftax_round_trip", report=0)),
    )
    result = load_result(path)
    rows = [m for m in result.measurements if m.setting.get("api") != "runtime"]
    assert [m.status for m in rows] == ["ok", "failed", "failed", "failed"]
    assert all("answer" in str(m.reason) for m in rows[1:])
    assert (status, errors) == (1, [f"saved {path}", "ftax-micro: 3 of 5 rows failed"])


INTERRUPTED = """
import os, signal, sys, threading, time
from pathlib import Path
from fake_cuda import FakeCuda
from ftax_micro import cli, launch_floor
fake = FakeCuda(Path(os.environ["FTAX_MICRO_CUDA_DRIVER"]))

def interrupt():
    # Well after the warm-up.
    while fake.calls("cuStreamSynchronize") < 200:
        time.sleep(1e-3)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
sys.exit(cli.run(launch_floor.command))
"""


def test_an_interruption_inside_a_loop_keeps_what_was_measured(
    fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    arguments = ["--device", "cuda", "--probe", "submit,launch_sync,round_trip"]
    arguments += ["--min-samples", "2000", "--min-time", "0", "--timeout", "600"]
    fake = settings(slow="cuStreamSynchronize:0:5000000")
    driver = fake_cuda_path("13.0")
    status, _, errors = run(
        ["-c", INTERRUPTED, *arguments, "-o", str(path)], environment(driver, fake)
    )
    result = load_result(path)
    assert status == 130
    assert result.incomplete_reason == "stopped by SIGINT"
    rows = [m for m in result.measurements if m.status != "skipped"]
    assert [m.name for m in rows] == ["submit", "launch_sync"]
    assert rows[1].data is not None
    assert rows[1].data.stop_reason == "interrupted"
    assert errors == [f"saved {path}", "ftax-micro: stopped by SIGINT; 3 rows measured"]


def test_a_launch_that_was_preempted_is_not_taken_for_the_knee(
    fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    fake_cuda.configure(**CHEAP)
    device = CudaDevice(0)
    # The fourth launch behind the first spinning kernel blocks for once, as if preempted.
    fake_cuda.slow("cuLaunchKernel", 6, 20_000_000)
    assert device.describe().facts["queue_knee"] == CHEAP["knee"]
    device.close()
