"""Driver calls that only a point of an axis makes fail in turn: a clear error, no leak, no hang."""

from __future__ import annotations

import pytest
from cuda_rows import ROWS, Open, calls_of, fail_each
from fake_cuda import FakeCuda

from ftax_micro import _core

pytestmark = pytest.mark.skipif(not _core.has_cuda, reason="built without the CUDA device")

# What no point of a default run calls, by row.
ONLY_BY_AXIS = {
    "submit": {"cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuStreamCreate"},
    "spacing": {"cuLaunchKernelEx", "cuLaunchCooperativeKernel"},
    "launch_sync": {"cuLaunchKernelEx", "cuLaunchCooperativeKernel"},
    "queue_knee": {"cuLaunchKernelEx", "cuLaunchCooperativeKernel"},
    "graph_launch": {"cuStreamCreate", "cuStreamWaitEvent", "cuEventRecord"},
    "graph_node": {"cuStreamCreate", "cuStreamWaitEvent", "cuEventRecord"},
}
# Longer idle times differ in nothing but how long they take.
LONGEST_IDLE_NS = 100_000


@pytest.mark.parametrize("name", ROWS)
def test_each_driver_call_that_an_axis_adds_may_fail(
    name: str, fresh: Open, fake_cuda: FakeCuda
) -> None:
    device = fresh()
    row = next(row for row in device.rows() if row.name == name)
    device.close()
    points = [point for axis in row.axes.values() for point in axis]
    seen = {frozenset(calls_of(fresh, fake_cuda, (name, each))) for each in row.settings}
    reached = set().union(*seen)
    defaults = set(reached)
    for setting in reversed(points):  # most threads, nodes and branches come first
        if int(setting.get("idle_ns", 0)) > LONGEST_IDLE_NS:
            continue
        calls = calls_of(fresh, fake_cuda, (name, setting))
        reached |= calls.keys()
        if frozenset(calls) not in seen:
            seen.add(frozenset(calls))
            fail_each(fresh, fake_cuda, (name, setting), calls)
    assert reached - defaults >= ONLY_BY_AXIS.get(name, set())
