"""Beside torch in one process: the primary context is shared, and neither disturbs the other."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from gpu import script

pytestmark = pytest.mark.cuda

BESIDE = """
import json, math, time
import torch

assert torch.cuda.is_available(), "torch sees no GPU"
before = torch.arange(1024, device="cuda", dtype=torch.float32)
one = torch.zeros(1, device="cuda")

def add_s(count):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        one.add_(1)
    return (time.perf_counter() - begin) / count

with torch.inference_mode():
    add_s(1000)
    adds = sorted(add_s(200) for _ in range(20))

import ftax_micro
from ftax_micro.records import Plan

plan = Plan(min_samples=20, min_time_s=0, timeout_s=0.5, warmup_time_s=0)
result = ftax_micro.measure_launch_floor(
    "cuda:0", probes=["submit", "launch_sync", "graph_node", "sync"], plan=plan
)
rows = ftax_micro.summarise(result.measurements)
after = torch.arange(1024, device="cuda", dtype=torch.float32)
torch.cuda.synchronize()
print(json.dumps({
    "add_s": adds[0],
    "complete": result.complete,
    "rows": [[r.name, r.setting, r.status, r.reason, r.value] for r in rows],
    "same": bool((before == after).all().item()),
    "sum": (before + after).sum().item(),
}))
"""


@pytest.fixture(scope="module")
def beside() -> Any:
    """What a process that used torch before and after measuring tells."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return script(BESIDE)


def test_rows_are_measured_in_torchs_context(beside: Any) -> None:
    assert beside["complete"]
    statuses = {name: status for name, setting, status, *_ in beside["rows"] if setting == {}}
    assert statuses["submit"] == "ok"
    assert [each for each in beside["rows"] if each[2] == "failed"] == []


def test_what_torch_had_is_whole_and_it_goes_on(beside: Any) -> None:
    assert beside["same"]
    assert beside["sum"] == 1024 * 1023


def test_an_eager_operation_costs_more_than_the_launch_inside_it(beside: Any) -> None:
    (submit_s,) = [row[4] for row in beside["rows"] if row[:2] == ["submit", {}]]
    assert submit_s < beside["add_s"] < 1e-3
