from __future__ import annotations

from fake_nvml import SECOND_UUID, UUID, FakeNvml, NVMLError

from ftax_micro.gpu.monitor import GpuMonitor, gpu_state
from ftax_micro.records import DeviceState

IDLE = DeviceState(sm_clock_hz=1980e6, throttle_reasons=["gpu_idle"], temperature_c=31.0)
FIELDS = {"sm_clock_hz", "throttle_reasons", "temperature_c"}


def test_one_session_for_many_states() -> None:
    module = FakeNvml()
    with GpuMonitor(uuid=UUID, module=module) as monitor:
        assert monitor.state() == monitor.state() == IDLE
        assert monitor.reason is None
        assert monitor.unknown == {}
    assert module.calls.count("nvmlInit") == 1
    assert module.calls.count("nvmlDeviceGetHandleByUUID") == 1
    assert module.sessions == 0


def test_the_gpu_is_found_by_uuid_not_by_order() -> None:
    assert gpu_state(uuid=SECOND_UUID, index=0, module=FakeNvml()).sm_clock_hz == 1970e6


def test_a_changing_gpu_is_seen_and_a_refusal_explained() -> None:
    module = FakeNvml()
    with GpuMonitor(index=0, module=module) as monitor:
        monitor.state()
        module.answers["nvmlDeviceGetClockInfo"] = 990
        module.answers["nvmlDeviceGetCurrentClocksEventReasons"] = 0x40
        module.answers["nvmlDeviceGetTemperatureV"] = NVMLError("Not Supported")
        assert monitor.state() == DeviceState(sm_clock_hz=990e6, throttle_reasons=["hw_thermal"])
        assert set(monitor.unknown) == {"temperature_c"}
        module.answers["nvmlDeviceGetTemperatureV"] = 55
        assert monitor.state().temperature_c == 55
        assert monitor.unknown == {}


def test_without_nvml_the_monitor_works_and_says_why() -> None:
    module = FakeNvml(nvmlInit=NVMLError("Driver Not Loaded"))
    with GpuMonitor(uuid=UUID, module=module) as monitor:
        assert monitor.reason == "NVML: Driver Not Loaded"
        assert monitor.state() == DeviceState()
        assert monitor.unknown == dict.fromkeys(FIELDS, "NVML: Driver Not Loaded")


def test_a_gpu_nvml_does_not_know_leaves_no_session_open() -> None:
    module = FakeNvml()
    monitor = GpuMonitor(uuid="GPU-nowhere", module=module)
    assert "no GPU with UUID GPU-nowhere" in (monitor.reason or "")
    assert module.sessions == 0
    assert monitor.state() == DeviceState()


def test_a_closed_monitor_stays_quiet() -> None:
    monitor = GpuMonitor(index=0, module=FakeNvml())
    monitor.close()
    monitor.close()
    assert monitor.state() == DeviceState()
    assert set(monitor.unknown.values()) == {"the monitor is closed"}
