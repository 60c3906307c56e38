from __future__ import annotations

import sys

import pytest
from fake_nvml import MIG_UUID, SECOND_UUID, UUID, FakeNvml, NVMLError

from ftax_micro.fact_reader import Unreadable
from ftax_micro.gpu.nvml import Nvml, event_reasons, text_of, uuid_texts


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0, []),
        (0x1, ["gpu_idle"]),
        (0x28, ["hw_slowdown", "sw_thermal"]),
        (0x1004, ["sw_power_cap", "bit_0x1000"]),
    ],
)
def test_event_reasons(bits: int, names: list[str]) -> None:
    assert event_reasons(bits) == names


def test_event_reasons_are_those_of_the_binding() -> None:
    pynvml = pytest.importorskip("pynvml")
    for name, bit in vars(pynvml).items():
        if name.startswith("nvmlClocksEventReason") and name[21:] not in ("None", "All"):
            assert not event_reasons(bit)[0].startswith("bit_"), name


@pytest.mark.parametrize(
    "uuid",
    [
        bytes.fromhex("00112233445566778899aabbccddeeff"),
        "00112233445566778899AABBCCDDEEFF",
        "00112233-4455-6677-8899-aabbccddeeff",
        UUID,
    ],
)
def test_spellings_of_a_uuid(uuid: str | bytes) -> None:
    assert uuid_texts(uuid)[0] == UUID


@pytest.mark.parametrize("uuid", ["", "GPU", "0011", b"\x00" * 15, "g" * 32])
def test_what_is_no_uuid(uuid: str | bytes) -> None:
    with pytest.raises(Unreadable, match="not a GPU's UUID"):
        uuid_texts(uuid)


def test_handles() -> None:
    with Nvml(FakeNvml()) as nvml:
        assert nvml.handle(uuid=SECOND_UUID, index=0) == "gpu1"
        assert nvml.handle(pci_bus_id="0000:3b:00.0") == "gpu0"
        assert nvml.handle(index=1) == "gpu1"
        assert nvml.handle() == "gpu0"
        # A slice has no clocks of its own: its GPU answers, however CUDA spells the slice.
        assert nvml.handle(uuid=MIG_UUID) == "gpu0"
        assert nvml.handle(uuid=bytes.fromhex("0123456789abcdef0123456789abcdef")) == "gpu0"
        with pytest.raises(Unreadable, match="no GPU with UUID"):
            nvml.handle(uuid="GPU-deadbeef")


def test_a_binding_without_mig_still_finds_gpus() -> None:
    module = FakeNvml(nvmlDeviceIsMigDeviceHandle=NVMLError("Not Supported"))
    with Nvml(module) as nvml:
        assert nvml.handle(uuid=UUID) == "gpu0"


def test_sessions_are_closed_once_even_if_the_driver_went() -> None:
    module = FakeNvml(nvmlShutdown=NVMLError("Uninitialized"))
    nvml = Nvml(module)
    nvml.close()
    nvml.close()
    assert module.calls == ["nvmlInit", "nvmlShutdown"]


def test_a_missing_binding_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(Unreadable, match="nvidia-ml-py cannot be imported"):
        Nvml()


def test_text() -> None:
    assert text_of(b"x") == text_of("x") == "x"
    with pytest.raises(Unreadable):
        text_of("")
