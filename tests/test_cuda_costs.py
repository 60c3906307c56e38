"""Copies, sets, events, graphs and the points of axes: the fake's known costs come back out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_cuda import FakeCuda
from known_costs import SHORT_QUEUE, assert_recovers, cost_s, measured, summary, us

from ftax_micro.devices._extension import core
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.records import Setting

pytestmark = pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")

END_TO_END: Setting = {"part": "end_to_end"}
PAGEABLE: Setting = {"part": "end_to_end", "memory": "pageable"}
# From the end of the call until the host knows that what it started is done, less the work itself.
AROUND = ("start_active_ns", "sync_spin_ns")


@pytest.fixture
def device(
    fake_cuda: FakeCuda, fake_cuda_runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CudaDevice]:
    """The device, whose stream always counts as active."""
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    monkeypatch.setenv("FTAX_MICRO_CUDA_RUNTIME", str(fake_cuda_runtime))
    fake_cuda.configure(active_window_ns=10**12, knee=SHORT_QUEUE)
    opened = CudaDevice(0)
    yield opened
    opened.close()


CALLS = [
    ("memcpy_h2d", END_TO_END, ["h2d_submit_ns", "h2d_copy_ns", *AROUND]),
    ("memcpy_d2h", END_TO_END, ["d2h_submit_ns", "d2h_copy_ns", *AROUND]),
    ("memcpy_h2d", PAGEABLE, ["h2d_submit_ns", "pageable_h2d_ns", "h2d_copy_ns", *AROUND]),
    (
        # The call itself waits for the copy: the wait after it finds nothing to do.
        "memcpy_d2h",
        PAGEABLE,
        ["d2h_submit_ns", "pageable_d2h_ns", "d2h_copy_ns", *AROUND, "stream_sync_idle_ns"],
    ),
    ("memset", END_TO_END, ["memset_submit_ns", "memset_ns", *AROUND]),
    ("event_record", END_TO_END, ["event_record_ns", *AROUND]),
]


@pytest.mark.parametrize(("name", "setting", "keys"), CALLS)
def test_a_call_and_its_wait_recover_their_cost(
    device: CudaDevice, fake_cuda: FakeCuda, name: str, setting: Setting, keys: list[str]
) -> None:
    assert_recovers(device, name, setting, cost_s(fake_cuda, keys))


@pytest.mark.parametrize("name", ["memcpy_h2d", "memcpy_d2h"])
def test_memory_that_is_not_pinned_costs_more(
    device: CudaDevice, fake_cuda: FakeCuda, name: str
) -> None:
    fake_cuda.configure(pageable_h2d_ns=2_000_000, pageable_d2h_ns=2_000_000)
    pinned, pageable = (summary(device, name, each).value for each in (END_TO_END, PAGEABLE))
    assert pinned is not None
    assert pageable is not None
    assert pageable - pinned > 1e-3


LAUNCHES = [
    ("launch_sync", {"api": "kernel_ex"}, ["submit_ex_ns"]),
    ("launch_sync", {"api": "cooperative"}, ["submit_cooperative_ns"]),
    ("launch_sync", {"api": "dependent"}, ["submit_dependent_ns"]),
    ("launch_sync", {"api": "runtime"}, ["submit_runtime_ns"]),
]


@pytest.mark.parametrize(("name", "setting", "keys"), LAUNCHES)
def test_every_launch_path_and_its_wait_recover_their_cost(
    device: CudaDevice, fake_cuda: FakeCuda, name: str, setting: Setting, keys: list[str]
) -> None:
    wanted_s = cost_s(fake_cuda, [*keys, "body_ns", *AROUND])
    assert_recovers(device, name, {"wait": "spin", **setting}, wanted_s)


SPACINGS = [("kernel_ex", "gap_ns"), ("cooperative", "gap_ns"), ("dependent", "gap_dependent_ns")]


@pytest.mark.parametrize(("api", "gap"), SPACINGS)
def test_spacing_recovers_the_gap_that_the_launch_path_leaves(
    device: CudaDevice, fake_cuda: FakeCuda, api: str, gap: str
) -> None:
    assert_recovers(device, "spacing", {"api": api}, cost_s(fake_cuda, [gap, "body_ns"]))


def test_the_runtimes_launch_recovers_its_cost(device: CudaDevice, fake_cuda: FakeCuda) -> None:
    wanted_s = cost_s(fake_cuda, ["submit_runtime_ns"])
    assert_recovers(device, "submit", {"api": "runtime"}, wanted_s)


def test_bursts_never_fill_the_queue(device: CudaDevice, fake_cuda: FakeCuda) -> None:
    """However slow the device: a launch onto a full queue would wait for it."""
    fake_cuda.configure(body_ns=400_000)
    assert_recovers(device, "submit", {}, cost_s(fake_cuda, ["submit_ns"]))


@pytest.mark.parametrize("argument_bytes", [64, 1024, 4096])
def test_arguments_cost_by_their_bytes(
    device: CudaDevice, fake_cuda: FakeCuda, argument_bytes: int
) -> None:
    fake_cuda.configure(submit_kib_ns=100_000)
    wanted_s = us(fake_cuda.cost("submit_ns"), 100_000 * argument_bytes // 1024)
    assert_recovers(device, "submit", {"argument_bytes": argument_bytes}, wanted_s)


def test_each_thread_pays_for_its_own_launches(device: CudaDevice, fake_cuda: FakeCuda) -> None:
    row = next(row for row in device.rows() if row.name == "submit")
    # More threads than one starve the fake device's own on a small machine, and are late.
    few = [point for point in row.axes["threads"] if int(point["threads"]) <= 2]
    assert few
    for point in few:
        assert_recovers(device, "submit", point, cost_s(fake_cuda, ["submit_ns"]))


@pytest.mark.parametrize(("idle_ns", "start"), [(0, "start_active_ns"), (4_000_000, "start_ns")])
@pytest.mark.parametrize("idle_by", ["spin", "sleep"])
def test_an_idle_stream_starts_later(
    device: CudaDevice, fake_cuda: FakeCuda, idle_ns: int, idle_by: str, start: str
) -> None:
    fake_cuda.configure(active_window_ns=2_000_000)
    setting: Setting = {"wait": "spin", "idle_ns": idle_ns, "idle_by": idle_by}
    wanted_s = cost_s(fake_cuda, ["submit_ns", start, "body_ns", "sync_spin_ns"])
    assert_recovers(device, "launch_sync", setting, wanted_s)


@pytest.mark.parametrize("argument_bytes", [256, 4096])
def test_the_knee_of_large_arguments_is_that_of_their_bytes(
    device: CudaDevice, fake_cuda: FakeCuda, argument_bytes: int
) -> None:
    room = 128 * 256
    fake_cuda.configure(knee=512, knee_bytes=room)
    fits = (room - 8) // argument_bytes  # 8 are those of the kernel in front
    # A launch that was preempted passes for one that blocked, so the largest counts.
    found = measured(device, "queue_knee", {"argument_bytes": argument_bytes})
    assert found.data is not None, found.reason
    assert max(found.data.samples) == fits


STEPS = [
    ("capture", ["capture_begin_ns", "capture_end_ns"], "capture_node_ns"),
    ("instantiate", ["graph_instantiate_ns"], "graph_instantiate_node_ns"),
    ("upload", ["graph_upload_ns", *AROUND], "graph_upload_node_ns"),
    ("update", ["graph_update_ns"], "graph_update_node_ns"),
]


@pytest.mark.parametrize("nodes", [32, 128])
@pytest.mark.parametrize(("step", "once", "each"), STEPS)
def test_a_step_of_making_a_graph_recovers_its_cost(
    device: CudaDevice, fake_cuda: FakeCuda, step: str, once: list[str], each: str, nodes: int
) -> None:
    fake_cuda.configure(graph_instantiate_node_ns=20_000, graph_update_node_ns=20_000)
    wanted_s = cost_s(fake_cuda, once) + nodes * cost_s(fake_cuda, [each])
    assert_recovers(device, "graph_create", {"step": step, "nodes": nodes}, wanted_s)


@pytest.mark.parametrize("width", [1, 2, 4, 16])
def test_branches_of_a_graph_share_the_time_of_its_nodes(
    device: CudaDevice, fake_cuda: FakeCuda, width: int
) -> None:
    fake_cuda.configure(graph_gap_ns=4000, body_ns=4000)
    on_device_s = cost_s(fake_cuda, ["graph_gap_ns", "body_ns"]) / width
    wanted_s = cost_s(fake_cuda, ["graph_launch_node_ns"]) + on_device_s
    assert_recovers(device, "graph_node", {"part": "end_to_end", "width": width}, wanted_s)


@pytest.mark.parametrize("width", [1, 4])
def test_a_replay_of_few_nodes_recovers_what_is_paid_once(
    device: CudaDevice, fake_cuda: FakeCuda, width: int
) -> None:
    fake_cuda.configure(graph_gap_ns=1000, body_ns=1000)
    once = cost_s(fake_cuda, ["graph_launch_ns", "graph_start_ns", "sync_spin_ns"])
    setting: Setting = {"part": "end_to_end", "width": width}
    # N nodes have N − 1 gaps between them.
    wanted_s = once - cost_s(fake_cuda, ["graph_gap_ns"])
    assert_recovers(device, "graph_launch", setting, wanted_s)


LOADS = [
    ("first_total", ["first_launch_ns", "submit_ns"]),
    ("second_total", ["submit_ns"]),
]


@pytest.mark.parametrize(("step", "keys"), LOADS)
def test_first_and_second_launch_recover_their_cost(
    device: CudaDevice, fake_cuda: FakeCuda, step: str, keys: list[str]
) -> None:
    wanted_s = cost_s(fake_cuda, [*keys, "body_ns", *AROUND])
    assert_recovers(device, "first_launch", {"step": step, "image": "cubin"}, wanted_s)
