"""Cases with chosen times, for tests of what is computed from them."""

from __future__ import annotations

from typing import Any

from ftax_micro.records import Case, Data, DevicePass

GPU = "cuda:0"


def data(seconds: float, spread: float = 0.01) -> Data:
    """Samples within `spread` of `seconds`."""
    # In no order: samples that rise would be taken for correlated ones.
    steps = [(index * 8 % 21 - 10) / 10 for index in range(42)]
    samples = [seconds * (1 + spread * step) for step in steps]
    return Data(estimate="median", stop_reason="interval", samples=samples)


def case(latency: float, host: float | None = None, **changes: Any) -> Case:
    """A case in eager on a GPU, with these changes."""
    values: dict[str, Any] = {
        "model": "bert_base",
        "mode": "eager",
        "device": GPU,
        "dtype": "fp16",
        "status": "ok",
        "sequence": 128,
        "latency": data(latency),
        "host": None if host is None else data(host),
        "executed": {"aten::add": 60, "aten::mm": 40},
    }
    return Case(**{**values, **changes})


def busy(seconds: float) -> DevicePass:
    """A pass of which only the busy time matters."""
    runs = 21
    return DevicePass(
        operations=[],
        calls=[],
        busy_s=[seconds] * runs,
        latency_s=[0.0] * runs,
        host_s=[0.0] * runs,
    )
