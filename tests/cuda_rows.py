"""The cuda device on a fake driver: its rows measured one at a time, and what each leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cuda_command import CHEAP
from fake_cuda import FakeCuda

from ftax_micro import _core
from ftax_micro.devices.cuda import CudaDevice, loops
from ftax_micro.errors import FtaxError
from ftax_micro.orchestration.points import measure_point
from ftax_micro.records import Measurement, Plan, Setting

UNKNOWN, ILLEGAL_ADDRESS, LAUNCH_FAILED, OUT_OF_MEMORY = 999, 700, 719, 2
PLAN = Plan(
    min_samples=2, max_samples=4, min_time_s=0, timeout_s=0, warmup_time_s=0, half_width=0.5
)
# Giving up a capture whose branches cannot be joined any more is what the driver calls misuse.
UNJOINED = "cuStreamEndCapture: a forked stream was not joined"
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


def assert_tidy(fake: FakeCuda, what: str) -> None:
    """Nothing leaked and nothing was used wrongly."""
    assert fake.leaks() == [], what
    assert set(fake.misuse()) <= {UNJOINED}, what
