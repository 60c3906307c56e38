"""Each driver call of each row, of opening and of closing fails in turn: a clear error, no leak."""

from __future__ import annotations

import pytest
from cuda_rows import (
    ROWS,
    UNKNOWN,
    Open,
    assert_tidy,
    called_since,
    calls_of,
    complaint,
    fail_each,
)
from fake_cuda import FakeCuda

from ftax_micro import _core
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.errors import FtaxError

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")


# Only in a process of its own: see test_traced_floor.
TRACED = {"begin_to_begin", "kernel_duration"}


def test_every_row_is_tested_below(fresh: Open) -> None:
    device = fresh()
    assert {row.name for row in device.rows()} == {*ROWS, *TRACED}
    device.close()


@pytest.mark.parametrize("name", ROWS)
def test_each_driver_call_of_a_row_may_fail(name: str, fresh: Open, fake_cuda: FakeCuda) -> None:
    device = fresh()
    points = next(list(row.settings) for row in device.rows() if row.name == name)
    device.close()
    for setting in points:
        if "tracer" in setting:
            continue
        calls = calls_of(fresh, fake_cuda, (name, setting))
        fail_each(fresh, fake_cuda, (name, setting), calls)


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
