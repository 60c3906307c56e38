"""Runs of the command in which the driver fails, hangs or is interrupted: nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_command import TINY, environment, launch_floor, run, settings
from cuda_rows import ILLEGAL_ADDRESS, LAUNCH_FAILED

from ftax_micro import _core
from ftax_micro.records import Measurement
from ftax_micro.results import Result, load_result

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")

Library = Callable[[str], Path]


FORK = """
import os, sys
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.orchestration.point.measure import measure_point
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


def driver_rows(result: Result) -> list[Measurement]:
    """The rows that need neither a runtime nor a tracer."""
    rows = [m for m in result.measurements if m.setting.get("api") != "runtime"]
    return [m for m in rows if "tracer" not in m.setting]


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
    rows = driver_rows(load_result(path))
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
    rows = driver_rows(load_result(path))
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
    rows = driver_rows(result)
    assert [m.status for m in rows] == ["ok", "failed", "failed", "failed"]
    assert all("answer" in str(m.reason) for m in rows[1:])
    assert (status, errors) == (1, [f"saved {path}", "ftax-micro: 3 of 6 rows failed"])


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
    fake = settings(slow="cuStreamSynchronize:0:2000000")
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
    assert errors == [f"saved {path}", "ftax-micro: stopped by SIGINT; 2 rows measured"]
