"""Rungs made of chosen lines, for tests of what is computed from a ladder."""

from __future__ import annotations

from fake_results import result

from ftax_micro.records import Data, Level, Measurement, Setting
from ftax_micro.results import Result

COUNTS = (10, 20, 30, 40)


def rung(
    name: str,
    slope_s: float,
    intercept_s: float = 0.0,
    *,
    below: str | None = None,
    op: str = "add",
    arguments: int | None = None,
    device: str = "cpu",
    process: int = 0,
    spread: float = 0.01,
) -> Measurement:
    """A rung whose bursts lie on a line, each count's within `spread` of it."""
    setting: Setting = {"op": op} if arguments is None else {"op": op, "arguments": arguments}
    # In no order: samples that rise would be taken for correlated ones.
    steps = [(index * 8 % 21 - 10) / 10 for index in range(21)]
    levels = [
        Level(
            count=count,
            samples_s=[(intercept_s + slope_s * count) * (1 + spread * step) for step in steps],
        )
        for count in COUNTS
    ]
    return Measurement(
        device=device,
        name=name,
        setting=setting,
        process=process,
        status="ok",
        data=Data(estimate="slope", stop_reason="interval", levels=levels),
        facts={"below": below},
    )


def ladder(*rungs: Measurement) -> Result:
    """A complete ladder."""
    return result(kind="dispatch_ladder", rungs=list(rungs))
