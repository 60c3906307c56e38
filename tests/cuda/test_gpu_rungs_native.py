"""On a real GPU every rung in compiled code launches the null kernel, at a plausible host time.

Ranges are generous, as in test_gpu_anatomy.py: they tell a wrong unit, a burst that waited for the
device or filled its queue, and a launch that never happened.
"""

from __future__ import annotations

from typing import Any

import pytest
from gpu import script

from ftax_micro.rungs.contract import ARGUMENTS

pytestmark = pytest.mark.cuda

US = 1e-6
RUNGS = """
import json, math
from ftax_micro import _core, stats
from ftax_micro.orchestration.point.measure import measure_point
from ftax_micro.records import Plan
from ftax_micro.rungs.ladder import LadderDevice

plan = Plan(min_samples=20, min_time_s=0.02, timeout_s=2.0, half_width=0.03)
device, told = LadderDevice("cuda:0"), []
for row in device.rows():
    if row.name not in ("driver", "runtime", "extension", "ctypes", "cuda_graph"):
        continue
    for setting in row.settings:
        found = measure_point((device, row, setting), plan)
        line = {"rung": row.name, "arguments": setting.get("arguments"), "status": found.status}
        line["reason"], line["verdicts"] = found.reason, [each.code for each in found.verdicts]
        if found.data is not None:
            levels = found.data.levels
            fitted = stats.slope_interval(
                [each.count for each in levels], [each.samples_s for each in levels], 0.95
            )
            line["slope_s"], line["intercept_s"] = fitted.slope.value, fitted.intercept.value
        told.append(line)
device.close()
print(json.dumps({"rows": told, "cleanup_errors": _core.cuda.cleanup_errors().count}))
"""


@pytest.fixture(scope="module")
def told() -> Any:
    """What each rung took, by name and number of arguments."""
    return script(RUNGS)


def slopes(told: Any, rung: str) -> list[float]:
    """Seconds of one operation with 0, 5 and 19 arguments, or of a rung that takes none."""
    rows = [each for each in told["rows"] if each["rung"] == rung]
    if all(each["status"] == "skipped" for each in rows):
        assert rung == "runtime"  # the others need nothing but the driver
        pytest.skip(str(rows[0]["reason"]))
    assert [each["arguments"] for each in rows] in ([*ARGUMENTS], [None])
    return [float(each["slope_s"]) for each in rows]


def test_nothing_fails_and_nothing_is_left(told: Any) -> None:
    assert [each for each in told["rows"] if each["status"] == "failed"] == []
    assert [each for each in told["rows"] if "clean_up_failed" in each["verdicts"]] == []
    assert told["cleanup_errors"] == 0


@pytest.mark.parametrize("rung", ["driver", "runtime", "extension", "ctypes"])
def test_a_launch_takes_microseconds_of_the_host(told: Any, rung: str) -> None:
    for slope_s in slopes(told, rung):
        assert 0.2 * US < slope_s < 100 * US


def test_a_node_takes_less_than_a_launch_and_its_wait(told: Any) -> None:
    (slope_s,) = slopes(told, "cuda_graph")
    assert 0.05 * US < slope_s < 20 * US


@pytest.mark.parametrize("rung", ["runtime", "extension", "ctypes"])
def test_no_way_to_the_driver_is_cheaper_than_the_drivers_own_call(told: Any, rung: str) -> None:
    pairs = zip(slopes(told, "driver"), slopes(told, rung), strict=True)
    assert all(upper > 0.8 * lower for lower, upper in pairs)


def test_ctypes_pays_for_every_argument_and_more_than_an_extension(told: Any) -> None:
    none, some, many = slopes(told, "ctypes")
    assert none < some < many
    assert many > slopes(told, "extension")[-1]
