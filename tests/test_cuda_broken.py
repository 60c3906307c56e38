"""A device that breaks, hangs or cannot be opened: said once, and nothing else lost."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_command import TINY, launch_floor, settings
from cuda_rows import LAUNCH_FAILED, UNKNOWN, Open, fresh, measured
from fake_cuda import FakeCuda

from ftax_micro import measure_launch_floor
from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda import loops
from ftax_micro.errors import DeviceUnavailableError, FtaxError
from ftax_micro.records import Plan
from ftax_micro.results import load_result

__all__ = ["fresh"]
pytestmark = pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")

Library = Callable[[str], Path]
QUICK = Plan(min_samples=2, max_samples=4, min_time_s=0, timeout_s=0, warmup_time_s=0)
OUT_OF_MEMORY = 2


def current(fake: FakeCuda) -> int | None:
    """The context that is current in this thread."""
    context = ctypes.c_void_p()
    assert fake.driver.cuCtxGetCurrent(ctypes.byref(context)) == 0
    return context.value


def test_a_session_abandoned_after_a_hang_is_current_no_more(
    fresh: Open, fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "DEADLINE_S", 0.2)
    device = fresh()
    before = current(fake_cuda)
    fake_cuda.hang("ftax_round_trip")
    assert "in vain" in str(measured(device, "round_trip", {}).reason)
    assert current(fake_cuda) == before
    device.close()
    assert current(fake_cuda) == before


def test_a_session_abandoned_while_it_is_opened_is_current_no_more(
    fresh: Open, fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh().close()
    before = current(fake_cuda)
    fake_cuda.hang()
    with pytest.raises(core().cuda.CudaTimeout):
        core().cuda.Session(deadline_s=0.2)
    assert current(fake_cuda) == before


def test_an_error_that_lasts_is_said_by_the_rows_and_not_again(
    fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    fake = settings(fail=f"cuStreamSynchronize:1:{LAUNCH_FAILED}:sticky")
    probe = ("--probe", "launch_sync,round_trip")
    status, out, errors = launch_floor(
        fake_cuda_path("13.0"), "--device", "cuda", *probe, *TINY, "-o", str(path), fake=fake
    )
    result = load_result(path)
    assert status == 1
    assert (result.complete, result.incomplete_reason) == (True, None)
    assert not any("could not be closed" in line for line in errors)
    failed = [m for m in result.measurements if m.status == "failed"]
    assert out.count("CUDA_ERROR_LAUNCH_FAILED") == len(failed) > 0


def test_an_error_in_giving_back_that_no_row_told_is_told(fresh: Open, fake_cuda: FakeCuda) -> None:
    device = fresh()
    fake_cuda.fail("cuMemAlloc_v2", 1, UNKNOWN)
    assert measured(device, "memset", {"part": "submit"}).status == "failed"
    fake_cuda.fail("cuModuleUnload", 1, UNKNOWN)
    with pytest.raises(FtaxError, match="cuModuleUnload failed: CUDA_ERROR_UNKNOWN"):
        device.close()


def test_with_all_a_device_that_cannot_be_opened_is_skipped_and_kept(
    fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    # The first device opens with the first retain.
    fake = settings(devices=2, fail=f"cuDevicePrimaryCtxRetain:2:{OUT_OF_MEMORY}")
    status, out, errors = launch_floor(
        *(fake_cuda_path("13.0"), "--device", "all", "--probe", "queue_knee", *TINY),
        *("-o", str(path)),
        fake=fake,
    )
    assert status == 0, errors
    result = load_result(path)
    assert [device.name for device in result.devices] == ["cuda:1", "cpu", "cuda:0"]
    (skipped,) = (m for m in result.measurements if m.device == "cuda:1")
    assert skipped.status == "skipped"
    assert "cuda:1 is not available: " in str(skipped.reason)
    assert "CUDA_ERROR_OUT_OF_MEMORY" in str(skipped.reason)
    assert {m.device for m in result.measurements if m.status == "ok"} == {"cpu", "cuda:0"}
    assert "cuda:1 every row: skipped" in out


def test_a_device_asked_for_by_name_is_an_error_still(
    fake_cuda_path: Library, tmp_path: Path
) -> None:
    path = tmp_path / "floor.json"
    fake = settings(fail=f"cuDevicePrimaryCtxRetain:1:{OUT_OF_MEMORY}")
    status, _, errors = launch_floor(
        *(fake_cuda_path("13.0"), "--device", "cuda", *TINY, "-o", str(path)), fake=fake
    )
    assert status == 3
    assert "CUDA_ERROR_OUT_OF_MEMORY" in errors[-1]
    assert not path.exists()


def test_the_library_call_knows_the_difference_too(
    fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    fake_cuda.fail("cuDevicePrimaryCtxRetain", 0, OUT_OF_MEMORY)
    result = measure_launch_floor("all", probes=["call_direct"], plan=QUICK)
    assert {m.device: m.status for m in result.measurements} == {"cuda:0": "skipped", "cpu": "ok"}
    with pytest.raises(DeviceUnavailableError):
        measure_launch_floor("cuda", probes=["submit"], plan=QUICK)
