"""On a real GPU every library that is here launches as often as its rung says, in microseconds.

Launches are counted by CUPTI where it can be had, in a process of their own: it changes times.
"""

from __future__ import annotations

from typing import Any

import pytest
from gpu import script

from ftax_micro.rungs.contract import ARGUMENTS

pytestmark = pytest.mark.cuda

US = 1e-6
LAUNCHING = ("cuda_core", "cupy_raw_kernel", "numba", "triton_cached", "triton_jit")
# Whatever is printed or warned of would reach a user.
MEASURED = """
import contextlib, io, json, warnings
from ftax_micro import stats
from ftax_micro.orchestration.point.measure import measure_point
from ftax_micro.records import Plan
from ftax_micro.rungs.ladder import LadderDevice

plan = Plan(min_samples=20, min_time_s=0.02, timeout_s=2.0, half_width=0.03)
said, told = io.StringIO(), []
with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        device = LadderDevice("cuda:0")
        (row,) = [row for row in device.rows() if row.name == {name!r}]
        for setting in row.settings:
            found = measure_point((device, row, setting), plan)
            line = {{"status": found.status, "reason": found.reason}}
            if found.data is not None:
                levels = found.data.levels
                fitted = stats.slope_interval(
                    [each.count for each in levels], [each.samples_s for each in levels], 0.95
                )
                line["slope_s"] = fitted.slope.value
            told.append(line)
        device.close()
said = said.getvalue() + " ".join(str(each.message) for each in warned)
print(json.dumps({{"rows": told, "said": said}}))
"""
COUNTED = """
import json
from ftax_micro.devices.cpu import measured_clock
from ftax_micro.errors import Skip
from ftax_micro.profilers.cupti import CUPTI
from ftax_micro.rungs import RUNGS
from ftax_micro.rungs.contract import Place

def counted():
    tracer = CUPTI.start()
    found = []
    for arguments in {arguments}:
        program = RUNGS.open({name!r}).make(Place("cuda:0", measured_clock()), arguments)
        tracer.take()
        program.burst(7)
        program.close()  # which waits
        kernels = [each.name for each in tracer.take().operations if each.kind == "kernel"]
        found.append([len(kernels), all("ftax_null" in each for each in kernels)])
    return found

try:
    print(json.dumps({{"counted": counted()}}))
except Skip as reason:
    print(json.dumps({{"skipped": str(reason)}}))
"""


def slopes(name: str) -> list[float]:
    """Seconds of one operation at each of the rung's points."""
    told: Any = script(MEASURED.format(name=name))
    rows = told["rows"]
    if all(each["status"] == "skipped" for each in rows):
        pytest.skip(str(rows[0]["reason"]))
    assert [each["reason"] for each in rows] == [None] * len(rows)
    assert told["said"] == ""
    return [float(each["slope_s"]) for each in rows]


@pytest.mark.parametrize("name", LAUNCHING)
def test_a_launch_takes_microseconds_of_the_host_and_more_with_arguments(name: str) -> None:
    none, some, many = slopes(name)
    assert min(none, some) > 0.2 * US
    assert none < many < 2000 * US


def test_a_node_of_onnxruntime_takes_microseconds_of_the_host() -> None:
    (slope_s,) = slopes("onnxruntime")
    assert 0.2 * US < slope_s < 100 * US


@pytest.mark.parametrize("name", LAUNCHING)
def test_every_launch_reaches_the_device(name: str) -> None:
    told: Any = script(COUNTED.format(name=name, arguments=list(ARGUMENTS)))
    if "skipped" in told:
        pytest.skip(told["skipped"])
    assert told["counted"] == [[7, True]] * len(ARGUMENTS)
