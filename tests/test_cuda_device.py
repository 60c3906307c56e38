"""The cuda device against the fake driver: its known costs come back out of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from fake_cuda import FakeCuda
from known_costs import (
    SHORT_QUEUE,
    assert_recovers,
    attempts,
    cost_s,
    measured,
    recovered,
    us,
    within,
)

from ftax_micro.analysis.floor.closure import closure_check
from ftax_micro.analysis.summary import Summary
from ftax_micro.devices import resolve_devices
from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.errors import DeviceUnavailableError
from ftax_micro.records import Setting

pytestmark = pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")


@pytest.fixture
def device(fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> Iterator[CudaDevice]:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    fake_cuda.configure(knee=SHORT_QUEUE)
    opened = CudaDevice(0)
    yield opened
    opened.close()


EXACT = [
    ("submit", {}, ["submit_ns"]),
    ("submit", {"api": "kernel_ex"}, ["submit_ex_ns"]),
    ("submit", {"api": "cooperative"}, ["submit_cooperative_ns"]),
    ("submit", {"api": "dependent"}, ["submit_dependent_ns"]),
    ("spacing", {}, ["gap_ns", "body_ns"]),
    (
        "launch_sync",
        {"wait": "spin"},
        ["submit_ns", "start_active_ns", "body_ns", "sync_spin_ns"],
    ),
    (
        "launch_sync",
        {"wait": "blocking"},
        ["submit_ns", "start_active_ns", "body_ns", "sync_blocking_ns"],
    ),
    ("round_trip", {}, ["h2d_ns", "d2h_ns"]),
    ("memcpy_h2d", {"part": "submit"}, ["h2d_submit_ns"]),
    ("memcpy_d2h", {"part": "submit"}, ["d2h_submit_ns"]),
    ("memset", {"part": "submit"}, ["memset_submit_ns"]),
    ("event_record", {"part": "submit"}, ["event_record_ns"]),
    ("stream_sync_idle", {}, ["stream_sync_idle_ns"]),
    ("stream_query_idle", {}, ["query_ns"]),
    ("graph_launch", {"part": "host"}, ["graph_launch_ns"]),
    ("graph_node", {"part": "host"}, ["graph_launch_node_ns"]),
    ("graph_node", {"part": "end_to_end"}, ["graph_launch_node_ns", "graph_gap_ns", "body_ns"]),
    ("first_launch", {"step": "load", "image": "ptx"}, ["jit_ns", "module_load_ns"]),
    ("first_launch", {"step": "load", "image": "cubin"}, ["module_load_ns"]),
    ("first_launch", {"step": "first_launch", "image": "cubin"}, ["first_launch_ns", "submit_ns"]),
]


@pytest.mark.parametrize(("name", "setting", "keys"), EXACT)
def test_a_row_recovers_the_cost_it_is_named_after(
    device: CudaDevice, fake_cuda: FakeCuda, name: str, setting: Setting, keys: list[str]
) -> None:
    if name.startswith("graph"):
        fake_cuda.configure(graph_gap_ns=1000, body_ns=1000)  # else 1,024 nodes take 47 ms
    if name == "first_launch":
        fake_cuda.configure(module_load_ns=1_000_000)  # reading the module takes the fake 0.4 ms
    assert_recovers(device, name, setting, cost_s(fake_cuda, keys))


@pytest.mark.parametrize(("idle_ns", "start"), [(0, "start_active_ns"), (4_000_000, "start_ns")])
def test_to_start_is_the_way_to_the_kernel_within_the_uncertainty_of_the_legs(
    device: CudaDevice, fake_cuda: FakeCuda, idle_ns: int, start: str
) -> None:
    truth_s = us(fake_cuda.cost("submit_ns"), fake_cuda.cost(start))
    raw_s = truth_s + us(fake_cuda.cost("d2h_ns"))
    half_trip_s = us(fake_cuda.cost("h2d_ns"), fake_cuda.cost("d2h_ns")) / 2
    (row,) = recovered(
        lambda: [measured(device, "to_start", {"idle_ns": idle_ns})],
        lambda rows: within(rows[0].value, raw_s - half_trip_s),
    )
    assert within(row.value, raw_s - half_trip_s)
    assert row.systematic_low is not None
    assert row.systematic_high is not None
    assert row.systematic_low <= truth_s <= row.systematic_high


@pytest.mark.parametrize(
    ("wait", "key"),
    [("spin", "sync_spin_ns"), ("yield", "sync_yield_ns"), ("blocking", "sync_blocking_ns")],
)
def test_sync_covers_each_styles_cost_with_the_uncertainty_of_the_poll(
    device: CudaDevice, fake_cuda: FakeCuda, wait: str, key: str
) -> None:
    truth_s = us(fake_cuda.cost(key))

    def covers(row: Summary) -> bool:
        low, high = row.systematic_low, row.systematic_high
        slack_s = max(0.05 * truth_s, 200e-9)
        return low is not None and high is not None and low - slack_s <= truth_s <= high + slack_s

    (row,) = recovered(
        lambda: [measured(device, "sync", {"wait": wait})], lambda rows: covers(rows[0])
    )
    assert covers(row), f"{row.systematic_low} … {row.systematic_high} misses {truth_s}"


def test_the_way_of_the_releasing_store_is_known_to_half_a_round_trip(
    device: CudaDevice, fake_cuda: FakeCuda
) -> None:
    """A polled read sees the store half a round trip to one and a half later, one on average."""
    trip_s = cost_s(fake_cuda, ["round_trip_ns"])
    truth_s = cost_s(fake_cuda, ["sync_spin_ns"])
    found = measured(device, "sync", {"wait": "spin"})
    (leg,) = found.corrections
    assert (leg.low_s, leg.value_s, leg.high_s) == pytest.approx(
        (trip_s / 2, trip_s, 1.5 * trip_s), rel=0.05
    )
    (row,) = recovered(
        lambda: [measured(device, "sync", {"wait": "spin"})],
        lambda rows: abs((rows[0].value or 0) - truth_s) <= 0.6 * trip_s,
    )
    assert row.value == pytest.approx(truth_s, abs=0.6 * trip_s)


def test_a_polled_event_is_seen_after_one_leg_and_the_querys_cost(
    device: CudaDevice, fake_cuda: FakeCuda
) -> None:
    """Three threads spin here (waiter, releaser, device): on two cores only the least counts."""
    first_s = us(fake_cuda.cost("h2d_ns"), fake_cuda.cost("sync_query_ns"))
    last_s = first_s + us(fake_cuda.cost("round_trip_ns"))
    least_s = math.inf
    for _ in range(attempts()):
        data = measured(device, "sync", {"wait": "event_query"}).data
        assert data is not None
        least_s = min(least_s, *data.samples)
        if first_s <= least_s <= last_s:
            break
    assert first_s <= least_s <= last_s


def test_the_knee_is_the_queues_depth(device: CudaDevice, fake_cuda: FakeCuda) -> None:
    # A launch that was preempted passes for one that blocked, so the largest counts.
    data = measured(device, "queue_knee", {}).data
    assert data is not None
    assert max(data.samples) == fake_cuda.cost("knee")


@pytest.mark.parametrize(("body_ns", "limit"), [(24_000, "device"), (1_000, "host")])
def test_the_rate_says_who_limits_it(
    device: CudaDevice, fake_cuda: FakeCuda, body_ns: int, limit: str
) -> None:
    fake_cuda.configure(body_ns=body_ns, submit_ns=22_000, gap_ns=10_000)
    for _ in range(attempts()):
        found = measured(device, "launch_rate", {})
        if found.facts["limited_by"] == limit:
            break
    assert found.facts["limited_by"] == limit


def test_the_parts_of_a_launch_close(device: CudaDevice) -> None:
    settings: list[tuple[str, Setting]] = [
        ("submit", {}),
        ("to_start", {"idle_ns": 0}),
        ("spacing", {}),
        ("launch_sync", {"wait": "spin"}),
        ("sync", {"wait": "spin"}),
        ("stream_sync_idle", {}),
    ]
    rows = recovered(
        lambda: [measured(device, name, setting) for name, setting in settings],
        lambda rows: not closure_check(rows)[0].flagged,
    )
    (check,) = closure_check(rows)
    assert not check.flagged, check


def test_the_wait_style_goes_back_to_the_default_after_a_blocking_row(device: CudaDevice) -> None:
    assert measured(device, "sync", {"wait": "blocking"}).status == "ok"
    assert measured(device, "launch_sync", {"wait": "spin"}).status == "ok"


def test_a_launch_that_needs_a_newer_gpu_is_skipped_with_the_reason(
    device: CudaDevice, fake_cuda: FakeCuda
) -> None:
    fake_cuda.configure(cc=80)
    row = measured(device, "submit", {"api": "dependent"})
    assert row.status == "skipped"
    assert "9.0" in str(row.reason)


def test_the_device_describes_itself(device: CudaDevice, fake_cuda: FakeCuda) -> None:
    facts = device.describe()
    assert facts.kind == "cuda"
    assert facts.model == "Fake GPU 0"
    assert facts.facts["driver_path"] == str(fake_cuda.path)
    assert str(facts.facts["uuid"]).startswith("GPU-")
    assert facts.facts["queue_knee"] == fake_cuda.cost("knee")


def test_device_names_are_resolved(device: CudaDevice) -> None:
    assert resolve_devices("auto") == ["cuda:0"]
    assert resolve_devices("cuda") == ["cuda:0"]
    assert resolve_devices("all") == ["cpu", "cuda:0"]
    with pytest.raises(DeviceUnavailableError, match=r"cuda:7 is not available.*cuda:0"):
        resolve_devices("cuda:7")
