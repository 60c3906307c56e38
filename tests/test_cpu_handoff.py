"""The hand-off to a worker thread below its rows: rings in turn, and what a wait is charged for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ftax_micro.devices._extension import core
from ftax_micro.devices.cpu.handoff import RING_CAPACITY

# More bursts than there are rings, so that each is used again after the others.
BURSTS = 40
WAITED_NS = 20_000_000


def open_worker(wait: str) -> Any:
    host = core().host
    return host.HandOff(-1, -1, getattr(host.Wait, wait), RING_CAPACITY)


@pytest.mark.parametrize("wait", ["spin", "yield_", "block"])
def test_every_ring_takes_and_finishes_whole_bursts(wait: str) -> None:
    worker = open_worker(wait)
    assert all(worker.submit_burst(RING_CAPACITY) > 0 for _ in range(BURSTS))
    assert worker.launch_rate(3 * RING_CAPACITY).total_s > 0


def test_the_knee_is_the_ring_s_size_whichever_ring_it_is() -> None:
    worker = open_worker("block")
    knees = {worker.queue_knee(50_000_000) for _ in range(20)}
    # A host that loses its core may find none, but never another size.
    assert RING_CAPACITY in knees
    assert knees <= {RING_CAPACITY, -1}


@pytest.mark.parametrize("style", ["spin", "yield_", "block"])
def test_sync_is_the_way_back_without_the_time_waited_before(style: str) -> None:
    host = core().host
    values = open_worker("block").sync(9, getattr(host.Wait, style), WAITED_NS)
    assert 0 < np.median(values) < WAITED_NS * 1e-9
