"""The cuda device on a fake driver: its rows measured one at a time, and what each leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from cuda_command import CHEAP
from fake_cuda import FakeCuda

from ftax_micro import _core
from ftax_micro.devices.cuda import CudaDevice, loops
from ftax_micro.errors import FtaxError
from ftax_micro.orchestration.point.measure import measure_point
from ftax_micro.records import Measurement, Plan, Setting

UNKNOWN, ILLEGAL_ADDRESS, LAUNCH_FAILED, OUT_OF_MEMORY = 999, 700, 719, 2
PLAN = Plan(
    min_samples=2, max_samples=4, min_time_s=0, timeout_s=0, warmup_time_s=0, half_width=0.5
)
# Giving up a capture whose branches cannot be joined any more is what the driver calls misuse.
UNJOINED = "cuStreamEndCapture: a forked stream was not joined"
# What the runtime asks the driver first, in order to unload, is no release: failing, it holds on.
HELD = "cuDevicePrimaryCtxRelease_v2: 1 live objects went with the context"
# So late that a preempted thread still sees it start: else there is nothing to sample.
LATE = {"start_ns": 2_000_000, "start_active_ns": 2_000_000}
# What is called until something has happened: how often is the scheduler's affair.
POLLED = {"cuStreamQuery", "cuEventQuery"}
# Each row of the device, which lists them only when it is open.
ROWS = (
    *("submit", "to_start", "spacing", "launch_sync", "launch_rate", "queue_knee", "round_trip"),
    *("sync", "graph_launch", "graph_node", "graph_create", "first_launch"),
    *("memcpy_h2d", "memcpy_d2h", "memset", "event_record"),
    *("stream_sync_idle", "stream_query_idle", "gap"),
)
Open = Callable[..., CudaDevice]
Point = tuple[str, Setting]


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
    """One row in one setting, with the least samples."""
    row = next(row for row in device.rows() if row.name == name)
    return measure_point((device, row, setting), PLAN)


def called_since(fake: FakeCuda, before: dict[str, int]) -> dict[str, int]:
    """How often each driver function was called since `before`."""
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


def assert_tidy(fake: FakeCuda, what: str, *excused: str) -> None:
    """Nothing leaked and nothing was used wrongly."""
    assert fake.leaks() == [], what
    assert set(fake.misuse()) <= {UNJOINED, *excused}, what


def calls_of(fresh: Open, fake: FakeCuda, point: Point) -> dict[str, int]:
    """How often each driver function is called by a point that goes well; none if it is skipped."""
    device = fresh(**costs_of(point))
    before = fake.all_calls()
    clean = measured(device, *point)
    calls = called_since(fake, before)
    device.close()
    assert clean.status in {"ok", "skipped"}, f"{point}: {clean.reason}"
    assert clean.verdicts == []
    assert_tidy(fake, str(point))
    return calls if clean.status == "ok" else {}


def fail_each(fresh: Open, fake: FakeCuda, point: Point, calls: Mapping[str, int]) -> None:
    """Fails each of `calls` in turn: the first, the second, and one in the middle of many."""
    for function, count in calls.items():
        for nth in (1, 2, *(() if function in POLLED else (17,))):
            # How often a loop runs depends on the time it takes: not on half of its calls.
            if nth <= (count if nth <= 2 else count // 2):
                fail_once(fresh(**costs_of(point)), fake, point, function, nth)


def fail_once(device: CudaDevice, fake: FakeCuda, point: Point, function: str, nth: int) -> None:
    """One error that names the call, or a verdict where it only gives back; nothing is left."""
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
    assert "\n" not in said, f"{what}: {said}"
    # The runtime tells what the driver told it, but not which call that was.
    assert function in said or point[1].get("api") == "runtime", f"{what}: {said}"
    complaint(device.close)
    assert_tidy(fake, what, *([HELD] if "cudaLibraryUnload failed" in said else []))


def costs_of(point: Point) -> dict[str, int]:
    """What the fake charges for a point beside `CHEAP`."""
    return LATE if point[0] == "to_start" else {}
