"""Each driver call of each row, of opening and of closing fails in turn: a clear error, no leak."""

from __future__ import annotations

import pytest
from cuda_rows import UNKNOWN, Open, assert_tidy, called_since, complaint, measured
from fake_cuda import FakeCuda

from ftax_micro import _core
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.errors import FtaxError
from ftax_micro.records import Setting

# So late that a preempted thread still sees it start: else there is nothing to sample.
LATE = {"start_ns": 2_000_000, "start_active_ns": 2_000_000}

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")


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
