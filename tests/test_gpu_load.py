"""Energy and SM shares over seconds of forwards, from a stand-in for NVML and for time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fake_nvml import UUID, FakeNvml, NVMLError

from ftax_micro.gpu.load import measure_gpu_load
from ftax_micro.records import GpuLoad

FORWARD_S, BUSY_W, IDLE_W = 0.01, 500.0, 75.0


class Gpu(FakeNvml):
    """A GPU whose energy counter follows a clock that forwards and sleeps move."""

    NVML_GPM_METRICS_GET_VERSION = 1

    def __init__(self, **changes: Any) -> None:
        self.now_s = self.energy_j = 0.0
        self.allocated = 0
        super().__init__(
            nvmlDeviceGetTotalEnergyConsumption=lambda _handle: round(self.energy_j * 1e3),
            nvmlGpmQueryDeviceSupport=SimpleNamespace(isSupportedDevice=1),
            nvmlGpmSampleAlloc=self._allocate,
            nvmlGpmSampleFree=self._free,
            nvmlGpmSampleGet=lambda _handle, sample: sample.update(seen=self.now_s),
            nvmlGpmMetricsGet=self._metrics,
            **changes,
        )

    def pass_(self, seconds: float, watts: float) -> None:
        self.now_s += seconds
        self.energy_j += seconds * watts

    def c_nvmlGpmMetricsGet_t(self) -> SimpleNamespace:  # noqa: N802 - the binding's name
        return SimpleNamespace(metrics=[SimpleNamespace(nvmlReturn=0) for _ in range(4)])

    def _allocate(self) -> dict[str, float]:
        self.allocated += 1
        return {}

    def _free(self, _sample: object) -> None:
        self.allocated -= 1

    def _metrics(self, request: SimpleNamespace) -> None:
        assert request.sample2["seen"] > request.sample1["seen"]
        assert (request.version, request.numMetrics) == (1, 2)
        for metric in request.metrics[:2]:
            metric.value = {2: 40.0, 3: 12.5}[metric.metricId]


def measured(monkeypatch: pytest.MonkeyPatch, gpu: Gpu, uuid: str = UUID) -> GpuLoad:
    clock = SimpleNamespace(
        perf_counter=lambda: gpu.now_s, sleep=lambda seconds: gpu.pass_(seconds, IDLE_W)
    )
    monkeypatch.setattr("ftax_micro.gpu.load.time", clock)
    waits: list[float] = []
    load = measure_gpu_load(
        lambda: gpu.pass_(FORWARD_S, BUSY_W),
        lambda: waits.append(gpu.now_s),
        uuid=uuid,
        module=gpu,
    )
    assert waits[-1] == gpu.now_s  # the last forward is waited for before the counter is read
    assert gpu.sessions == gpu.allocated == 0
    return load


def test_energy_is_that_of_seconds_of_forwards_and_rest_stands_beside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load = measured(monkeypatch, Gpu())
    assert load.seconds >= 2.0
    assert load.seconds == pytest.approx(load.forwards * FORWARD_S)
    assert load.energy_j == pytest.approx(load.seconds * BUSY_W, rel=1e-3)
    assert load.idle_power_w == pytest.approx(IDLE_W, rel=1e-3)
    assert (load.sm_activity, load.sm_occupancy) == (0.4, 0.125)
    assert load.reasons == {}


def test_what_the_gpu_does_not_tell_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu()
    gpu.answers["nvmlDeviceGetTotalEnergyConsumption"] = NVMLError("Not Supported")
    gpu.answers["nvmlGpmQueryDeviceSupport"] = SimpleNamespace(isSupportedDevice=0)
    load = measured(monkeypatch, gpu)
    assert load.forwards > 0
    assert (load.energy_j, load.idle_power_w, load.sm_activity) == (None, None, None)
    assert load.reasons["energy_j"] == load.reasons["idle_power_w"] == "NVML: Not Supported"
    assert "Hopper and later" in load.reasons["sm_occupancy"]


@pytest.mark.parametrize("name", ["nvmlGpmSampleAlloc", "nvmlGpmSampleGet", "nvmlGpmMetricsGet"])
def test_counters_that_fail_are_a_reason_and_nothing_leaks(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    gpu = Gpu()
    gpu.answers[name] = NVMLError("Insufficient Permissions")
    load = measured(monkeypatch, gpu)
    assert load.energy_j is not None
    assert load.reasons == dict.fromkeys(
        ("sm_activity", "sm_occupancy"), "NVML: Insufficient Permissions"
    )


def test_without_nvml_the_forwards_are_still_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = measured(monkeypatch, Gpu(), uuid="GPU-00000000-0000-0000-0000-000000000000")
    assert set(gone.reasons) == {"energy_j", "idle_power_w", "sm_activity", "sm_occupancy"}
    assert all("no GPU with UUID" in reason for reason in gone.reasons.values())
    gpu = Gpu()
    gpu.answers["nvmlInit"] = NVMLError("NVML Shared Library Not Found")
    clock = SimpleNamespace(perf_counter=lambda: gpu.now_s, sleep=None)
    monkeypatch.setattr("ftax_micro.gpu.load.time", clock)
    load = measure_gpu_load(
        lambda: gpu.pass_(FORWARD_S, BUSY_W), lambda: None, uuid=UUID, module=gpu
    )
    assert load.forwards >= 200
    assert "Library Not Found" in load.reasons["energy_j"]
