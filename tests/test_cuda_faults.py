"""The driver runs out of memory, hangs or is used by others: what becomes of a row and the next."""

from __future__ import annotations

import threading
import time

import pytest
from cuda_command import CHEAP
from cuda_rows import OUT_OF_MEMORY, Open, measured
from fake_cuda import FakeCuda
from fake_cuda.client import Client

from ftax_micro import _core
from ftax_micro.devices.cuda import CudaDevice, loops
from ftax_micro.errors import DeviceUnavailableError
from ftax_micro.records import Measurement, Setting

YIELD_FLAG = 2

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")


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
