"""NVIDIA's management library (NVML) through nvidia-ml-py, opened lazily and asked tolerantly."""

from __future__ import annotations

import importlib
from types import TracebackType
from typing import Any

from ftax_micro.fact_reader import Unreadable, reason_of

# Bits of NVML's clocks event (formerly throttle) reasons, nvml.h; the highest two of old drivers.
_EVENT_REASONS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal",
    0x040: "hw_thermal",
    0x080: "hw_power_brake",
    0x100: "display_clock",
    0x200: "board_limit",
    0x400: "reliability",
}

_CLOCK_SM = 1  # nvml.h
_TEMPERATURE_GPU = 0


class Nvml:
    """An open NVML session. Use as a context manager; sessions nest (NVML counts them).

    `module` is the ``pynvml`` module, or what stands for it in a test. Raises `Unreadable` with the
    reason if NVML is not there.
    """

    def __init__(self, module: Any = None) -> None:
        try:
            self.module: Any = importlib.import_module("pynvml") if module is None else module
        except ImportError as error:
            raise Unreadable(f"nvidia-ml-py cannot be imported: {reason_of(error)}") from error
        try:
            self.module.nvmlInit()
        except Exception as error:  # the binding's own classes are not known before it is imported
            raise Unreadable(_nvml_reason(error)) from error
        self._open = True

    def __enter__(self) -> Nvml:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session; safe to call twice, and when the driver is gone."""
        if self._open:
            self._open = False
            try:
                self.module.nvmlShutdown()
            except Exception:  # nothing is lost: the session only read
                return

    def ask(self, names: str | tuple[str, ...], *args: Any) -> Any:
        """The answer of the first of `names` that gives one; `Unreadable` with the last reason."""
        reason = ""
        for name in (names,) if isinstance(names, str) else names:
            function = getattr(self.module, name, None)
            if function is None:
                reason = reason or f"nvidia-ml-py has no {name}"
                continue
            try:
                return function(*args)
            except Exception as error:  # NVMLError of any kind, and odd ctypes failures
                reason = _nvml_reason(error)
        raise Unreadable(reason)

    def handle(
        self,
        *,
        uuid: str | bytes | None = None,
        pci_bus_id: str | None = None,
        index: int | None = None,
    ) -> Any:
        """The GPU's handle by the first of the three that is given; `Unreadable` if none matches.

        `uuid` may be CUDA's 16 bytes, bare hexadecimal, or text with its ``GPU-`` or ``MIG-``. For
        a slice of a MIG GPU the handle is of the whole GPU, which is what has clocks. Prefer `uuid`
        or `pci_bus_id`: CUDA's index follows `CUDA_VISIBLE_DEVICES`, NVML's does not.
        """
        if uuid is not None:
            return self._whole_gpu(self._by_uuid(uuid_texts(uuid)))
        if pci_bus_id is not None:
            return self.ask("nvmlDeviceGetHandleByPciBusId", pci_bus_id)
        return self.ask("nvmlDeviceGetHandleByIndex", 0 if index is None else index)

    def _by_uuid(self, texts: list[str]) -> Any:
        try:
            return self.ask("nvmlDeviceGetHandleByUUID", texts[0])
        except Unreadable as error:
            if len(texts) > 1:
                return self._by_uuid(texts[1:])
            raise Unreadable(f"no GPU with UUID {texts[0]} ({error})") from error

    def _whole_gpu(self, handle: Any) -> Any:
        try:
            is_slice = self.ask("nvmlDeviceIsMigDeviceHandle", handle)
        except Unreadable:
            return handle
        if int(getattr(is_slice, "value", is_slice)):
            return self.ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle)
        return handle


def _nvml_reason(error: Exception) -> str:
    # The binding's classes only repeat the words of their message.
    return f"NVML: {' '.join(str(error).split()) or type(error).__name__}"


def sm_clock_hz(nvml: Nvml, handle: Any) -> float:
    """The SM clock now, hertz."""
    return float(nvml.ask("nvmlDeviceGetClockInfo", handle, _CLOCK_SM)) * 1e6


def throttle_reasons(nvml: Nvml, handle: Any) -> list[str]:
    """What holds the clocks down now, by name; empty if nothing does."""
    names = (
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetCurrentClocksThrottleReasons",  # before NVML 12.2, gone with CUDA 14
    )
    return event_reasons(int(nvml.ask(names, handle)))


def temperature_c(nvml: Nvml, handle: Any) -> float:
    """The GPU's core temperature, degrees Celsius."""
    names = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")
    return float(nvml.ask(names, handle, _TEMPERATURE_GPU))


def total_energy_j(nvml: Nvml, handle: Any) -> float:
    """Joules used since the driver was loaded; Volta and later."""
    return float(nvml.ask("nvmlDeviceGetTotalEnergyConsumption", handle)) * 1e-3


def uuid_texts(uuid: str | bytes) -> list[str]:
    """NVML's spellings of a GPU's UUID, likeliest first. Raises `Unreadable` if it is not one."""
    if isinstance(uuid, str) and uuid.startswith(("GPU-", "MIG-")):
        return [uuid]
    digits = uuid.hex() if isinstance(uuid, bytes) else uuid.replace("-", "").lower()
    if len(digits) != 32 or set(digits) - set("0123456789abcdef"):
        raise Unreadable(f"{uuid!r} is not a GPU's UUID")
    ends = (8, 12, 16, 20, 32)
    plain = "-".join(digits[a:b] for a, b in zip((0, *ends), ends, strict=False))
    return [f"GPU-{plain}", f"MIG-{plain}"]


def event_reasons(bits: int) -> list[str]:
    """Names of the set bits, lowest first; bits without a name by their value."""
    return [
        _EVENT_REASONS.get(1 << place, f"bit_{1 << place:#x}")
        for place in range(bits.bit_length())
        if bits >> place & 1
    ]


def text_of(value: Any) -> str:
    """NVML's text: older bindings hand out bytes. Raises `Unreadable` on an empty one."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    if not text:
        raise Unreadable("NVML: an empty answer")
    return text
