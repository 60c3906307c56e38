"""Results made of chosen samples, for tests of what is computed from results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ftax_micro.facts import Environment, GpuFacts, HostFacts, ProcessFacts
from ftax_micro.records import (
    Correction,
    Data,
    DeviceFacts,
    Level,
    Measurement,
    Plan,
    Setting,
    Verdict,
)
from ftax_micro.results import Result

COUNTS = (10, 20, 30, 40)


def environment(**changes: Any) -> Environment:
    """A quiet machine without a GPU."""
    process = ProcessFacts(
        python_version="3.11.7",
        python_implementation="CPython",
        python_debug_build=False,
        python_free_threaded=False,
        preloaded=[],
        watchers=[],
    )
    host = HostFacts(
        cpu_model="A Processor",
        logical_cpus=8,
        physical_cores=4,
        affinity=list(range(8)),
        governors=["performance"],
        clock_source="tsc",
        load_average=[0.1, 0.1, 0.1],
    )
    values: dict[str, Any] = {
        "captured_at": "2026-01-02T03:04:05+00:00",
        "command": ["launch_floor"],
        "build_id": "0123",
        "hostname": "quiet",
        "machine": "x86_64",
        "process": process,
        "host": host,
        "gpus": [],
    }
    return Environment(**{**values, **changes})


def result(*measurements: Measurement, **changes: Any) -> Result:
    """A complete run of the cpu, and of every other device that `measurements` name."""
    names = list(dict.fromkeys(["cpu", *(each.device for each in measurements)]))
    devices = [device(name) for name in names]
    values: dict[str, Any] = {
        "tool_version": "0.1.0",
        "created_at": "2026-01-02T03:04:05+00:00",
        "plan": Plan(),
        "environment": environment(),
        "devices": devices,
        "measurements": list(measurements),
    }
    return Result(**{**values, **changes})


def device(name: str, model: str | None = None) -> DeviceFacts:
    """A device by name."""
    if name == "cpu":
        return DeviceFacts(name=name, kind="cpu", model=model or "A Processor")
    return DeviceFacts(name=name, kind="cuda", model=model or "A GPU")


def gpu(**changes: Any) -> GpuFacts:
    """A GPU nothing can be said against."""
    values: dict[str, Any] = {"index": 0, "name": "A GPU", "driver_version": "580.1"}
    return GpuFacts(**{**values, "persistence_mode": True, **changes})


def around(value_s: float, seed: int = 0, *, size: int = 400, spread: float = 0.01) -> list[float]:
    """Right-skewed samples whose distribution has the median `value_s`."""
    rng = np.random.default_rng(seed)
    return [float(x) for x in value_s * np.exp(spread * (rng.gamma(2.0, size=size) - 1.678347))]


def row(
    name: str = "submit",
    samples: Sequence[float] = (),
    *,
    device: str = "cpu",
    setting: Setting | None = None,
    process: int = 0,
    corrections: Sequence[Correction] = (),
    verdicts: Sequence[Verdict] = (),
    **data: Any,
) -> Measurement:
    """A measured row of plain samples, single shots by default."""
    values: dict[str, Any] = {"estimate": "median", "stop_reason": "interval"}
    return Measurement(
        device=device,
        name=name,
        setting=setting or {},
        process=process,
        status="ok",
        data=Data(samples=list(samples), **{**values, **data}),
        corrections=list(corrections),
        verdicts=list(verdicts),
    )


def slope_row(
    name: str, slope_s: float, seed: int = 0, *, intercept_s: float = 1e-6, size: int = 100
) -> Measurement:
    """A row of bursts whose slope and intercept are known."""
    levels = [
        Level(count=n, samples_s=around(intercept_s + n * slope_s, seed * 10 + n, size=size))
        for n in COUNTS
    ]
    data = Data(estimate="slope", stop_reason="interval", levels=levels)
    return Measurement(device="cpu", name=name, status="ok", data=data)


def absent(
    name: str,
    status: Any = "skipped",
    reason: str = "one core only",
    *,
    device: str = "cpu",
    setting: Setting | None = None,
) -> Measurement:
    """A row that could not be measured."""
    return Measurement(
        device=device, name=name, setting=setting or {}, status=status, reason=reason
    )


def correction(value_s: float, low_s: float, high_s: float, name: str = "leg") -> Correction:
    """A correction between two bounds."""
    return Correction(name=name, value_s=value_s, low_s=low_s, high_s=high_s, source="a test")
