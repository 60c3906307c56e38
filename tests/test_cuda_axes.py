"""Every value of the launch axes recovers what the fake driver charges for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_cuda import FakeCuda
from known_costs import SHORT_QUEUE, assert_recovers, measured, us

from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.records import Setting

pytestmark = pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")

STREAMS = {"own": 0, "legacy": 12_000, "per_thread": 19_000}
APIS = {
    "kernel": "submit_ns",
    "kernel_ex": "submit_ex_ns",
    "cooperative": "submit_cooperative_ns",
    "dependent": "submit_dependent_ns",
    "runtime": "submit_runtime_ns",
}

FUNCTIONS = {"kernel_ex": "cuLaunchKernelEx", "runtime": "fake_cuda_runtime_launch"}


@pytest.fixture
def device(
    fake_cuda: FakeCuda, fake_cuda_runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CudaDevice]:
    """The device on the fake driver, with the fake runtime beside it."""
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    monkeypatch.setenv("FTAX_MICRO_CUDA_RUNTIME", str(fake_cuda_runtime))
    fake_cuda.configure(knee=SHORT_QUEUE)
    opened = CudaDevice(0)
    yield opened
    opened.close()


def charge_streams(fake: FakeCuda) -> None:
    fake.configure(legacy_ns=STREAMS["legacy"], per_thread_ns=STREAMS["per_thread"])


def half_trip_s(fake: FakeCuda) -> float:
    """What `to_start` subtracts; the fake charges the other leg."""
    return us(fake.cost("round_trip_ns")) / 2


@pytest.mark.parametrize("stream", STREAMS)
def test_submit_costs_what_its_stream_costs(
    device: CudaDevice, fake_cuda: FakeCuda, stream: str
) -> None:
    charge_streams(fake_cuda)
    wanted = [fake_cuda.cost("submit_ns"), STREAMS[stream]]
    assert_recovers(device, "submit", {"stream": stream}, us(*wanted))


@pytest.mark.parametrize("stream", ["legacy", "per_thread"])
def test_launch_and_wait_stay_in_one_stream(
    device: CudaDevice, fake_cuda: FakeCuda, stream: str
) -> None:
    charge_streams(fake_cuda)
    parts = ("submit_ns", "start_active_ns", "body_ns", "sync_spin_ns")
    wanted = [*map(fake_cuda.cost, parts), STREAMS[stream]]
    assert_recovers(device, "launch_sync", {"wait": "spin", "stream": stream}, us(*wanted))


@pytest.mark.parametrize("stream", ["legacy", "per_thread"])
def test_to_start_sees_a_kernel_of_a_default_stream(
    device: CudaDevice, fake_cuda: FakeCuda, stream: str
) -> None:
    charge_streams(fake_cuda)
    wanted = [*map(fake_cuda.cost, ("submit_ns", "start_active_ns", "d2h_ns")), STREAMS[stream]]
    setting: Setting = {"idle_ns": 0, "stream": stream}
    assert_recovers(device, "to_start", setting, us(*wanted) - half_trip_s(fake_cuda))


@pytest.mark.parametrize("setting", [{"stream": "legacy"}, {"api": "runtime"}])
def test_the_devices_own_spacing_is_the_same_however_kernels_came(
    device: CudaDevice, fake_cuda: FakeCuda, setting: Setting
) -> None:
    charge_streams(fake_cuda)
    assert_recovers(device, "spacing", setting, us(fake_cuda.cost("spacing_ns")))


@pytest.mark.parametrize("api", APIS)
def test_to_start_begins_with_the_call_of_each_api(
    device: CudaDevice, fake_cuda: FakeCuda, api: str
) -> None:
    wanted = [*map(fake_cuda.cost, (APIS[api], "start_active_ns", "d2h_ns"))]
    setting: Setting = {"idle_ns": 0, "api": api}
    assert_recovers(device, "to_start", setting, us(*wanted) - half_trip_s(fake_cuda))


@pytest.mark.parametrize("api", ["kernel_ex", "runtime"])
def test_the_rate_is_that_of_the_api(device: CudaDevice, fake_cuda: FakeCuda, api: str) -> None:
    """10,000 launches are never left alone by a scheduler, but none is cheaper than it is."""
    fake_cuda.configure(body_ns=0, gap_ns=0)
    before = fake_cuda.calls(FUNCTIONS[api])
    found = measured(device, "launch_rate", {"api": api})
    assert found.data is not None, found.reason
    assert min(found.data.samples) >= fake_cuda.cost(APIS[api]) * 1e-9
    launches = 10_000 * (len(found.data.samples) + len(found.data.warmup))
    assert fake_cuda.calls(FUNCTIONS[api]) - before >= launches


@pytest.mark.parametrize("api", ["kernel_ex", "runtime"])
def test_the_knee_is_found_through_each_api(
    device: CudaDevice, fake_cuda: FakeCuda, api: str
) -> None:
    fake_cuda.configure(knee=160)
    found = measured(device, "queue_knee", {"api": api})
    assert found.data is not None, found.reason
    assert max(found.data.samples) == 160


def test_bursts_of_large_arguments_stay_below_their_own_knee(
    device: CudaDevice, fake_cuda: FakeCuda
) -> None:
    """40 launches of 4 KiB fill this queue: longer bursts would time the device."""
    fake_cuda.configure(knee=512, knee_bytes=40 * 4096, submit_kib_ns=5_000)
    setting: Setting = {"argument_bytes": 4096}
    assert_recovers(device, "submit", setting, us(fake_cuda.cost("submit_ns"), 20_000))
    found = measured(device, "submit", setting)
    assert found.data is not None
    assert max(level.count for level in found.data.levels) <= 20
    assert_recovers(device, "spacing", setting, us(fake_cuda.cost("spacing_ns")))


@pytest.mark.parametrize(
    ("part", "keys"),
    [
        ("submit", ["h2d_submit_ns", "pageable_h2d_ns"]),
        ("end_to_end", ["h2d_submit_ns", "pageable_h2d_ns", "start_active_ns", "h2d_copy_ns"]),
    ],
)
def test_pageable_copies_are_apart(
    device: CudaDevice, fake_cuda: FakeCuda, part: str, keys: list[str]
) -> None:
    waited = [fake_cuda.cost("sync_spin_ns")] if part == "end_to_end" else []
    wanted = [*map(fake_cuda.cost, keys), *waited]
    assert_recovers(device, "memcpy_h2d", {"part": part, "memory": "pageable"}, us(*wanted))


def test_the_drivers_compiler_is_timed_apart_from_loading(
    device: CudaDevice, fake_cuda: FakeCuda
) -> None:
    setting: Setting = {"step": "compile", "image": "ptx"}
    assert_recovers(device, "first_launch", setting, us(fake_cuda.cost("jit_ns")))
