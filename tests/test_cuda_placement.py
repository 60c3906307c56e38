"""Where the submitting thread is put, on machines written as small sysfs trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_cuda import FakeCuda
from known_costs import SHORT_QUEUE, assert_recovers, measured, us

from ftax_micro.devices._extension import core
from ftax_micro.devices.contract import FloorRow, Outcome
from ftax_micro.devices.cpu.cores import Topology
from ftax_micro.devices.cuda import CudaDevice
from ftax_micro.devices.cuda.placement import PLACEMENTS, HostPlacement, placed_row
from ftax_micro.errors import Skip, UnknownNameError
from ftax_micro.records import Data, Plan, Setting

BUS = "0000:3B:00.0"  # the fake's first device, as drivers write it
CORES = core().host.allowed_cores()
SPIN: Setting = {"wait": "spin"}
two_cores = pytest.mark.skipif(len(CORES) < 2, reason="one core cannot be two nodes")

pinning = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot pin threads"
)


def sys_tree(root: Path, gpu_node: str | None, nodes: dict[int, str]) -> Path:
    """A /sys with the GPU's node and the cores of each node."""
    if gpu_node is not None:
        folder = root / "bus/pci/devices" / BUS.lower()
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{gpu_node}\n")
    for node, cores in nodes.items():
        folder = root / f"devices/system/node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{cores}\n")
    return root


def placement(
    root: Path, gpu_node: str | None, nodes: dict[int, str], cores: tuple[int, ...] = (0, 1, 2, 3)
) -> HostPlacement:
    tree = sys_tree(root, gpu_node, nodes)
    return HostPlacement.read(Topology.read(cores, tree), BUS, tree)


SOCKETS = {0: "0-1", 1: "2-3"}


@pinning
@pytest.mark.parametrize(
    ("gpu_node", "name", "wanted"),
    [
        ("0", "gpu_node", 0),
        ("0", "other_node", 2),
        ("1", "gpu_node", 2),
        ("1", "other_node", 0),
        ("1", "unpinned", None),
    ],
)
def test_the_core_is_on_the_gpus_node_or_off_it(
    tmp_path: Path, gpu_node: str, name: str, wanted: int | None
) -> None:
    assert placement(tmp_path, gpu_node, SOCKETS).core(name) == wanted


@pinning
@pytest.mark.parametrize(
    ("gpu_node", "nodes", "cores", "reason"),
    [
        ("0", {0: "0-3"}, (0, 1), "one NUMA node"),
        # A node without cores is the GPU's own memory.
        ("0", {0: "0-3", 1: ""}, (0, 1), "one NUMA node"),
        ("-1", SOCKETS, (0, 1), "no NUMA node"),
        ("x", SOCKETS, (0, 1), "does not tell the GPU's NUMA node"),
        (None, SOCKETS, (0, 1), "does not tell the GPU's NUMA node"),
        (None, {}, (0, 1), "does not tell which NUMA node"),
        ("0", SOCKETS, (2, 3), r"no core on the GPU's NUMA node \(0\)"),
    ],
)
def test_where_there_is_no_such_core_the_reason_is_told(
    tmp_path: Path, gpu_node: str | None, nodes: dict[int, str], cores: tuple[int, ...], reason: str
) -> None:
    host = placement(tmp_path, gpu_node, nodes, cores)
    with pytest.raises(Skip, match=reason):
        host.core("gpu_node")
    assert host.core("unpinned") is None


@pinning
def test_a_process_kept_on_the_gpus_node_has_no_other(tmp_path: Path) -> None:
    host = placement(tmp_path, "1", SOCKETS, cores=(2, 3))
    with pytest.raises(Skip, match=r"no core outside the GPU's NUMA node \(1\)"):
        host.core("other_node")


def test_an_unknown_placement_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="placement"):
        placement(tmp_path, "0", SOCKETS).core("somewhere")


def test_a_default_run_says_where_its_thread_may_run(tmp_path: Path) -> None:
    facts = placement(tmp_path, "1", SOCKETS, cores=(0, 3)).facts()
    assert facts == {"placement": "unpinned", "numa_node": 1, "allowed_numa_nodes": "0,1"}


def test_what_is_not_known_is_none(tmp_path: Path) -> None:
    facts = placement(tmp_path, None, {}).facts()
    assert facts == {"placement": "unpinned", "numa_node": None, "allowed_numa_nodes": None}


@two_cores
def test_the_thread_is_pinned_while_the_row_is_measured(tmp_path: Path) -> None:
    first, second = CORES[:2]
    tree = sys_tree(tmp_path, "0", {0: str(first), 1: str(second)})
    host = HostPlacement.read(Topology.read(CORES, tree), BUS, tree)
    seen: list[set[int]] = []

    def measure(_: Setting, __: Plan) -> Outcome:
        seen.append(os.sched_getaffinity(0))
        return Outcome(Data(estimate="median", stop_reason="interval", samples=[1e-6]))

    row = placed_row(FloorRow("submit", "a row", measure), host)
    before = os.sched_getaffinity(0)
    found = [row.measure({"placement": name}, Plan()).facts for name in PLACEMENTS]
    row.measure({}, Plan())
    assert seen == [{first}, {second}, before, before]
    assert found == [
        {"core": first, "core_numa_node": 0},
        {"core": second, "core_numa_node": 1},
        {"core": None},
    ]
    assert os.sched_getaffinity(0) == before


@two_cores
def test_the_thread_gets_its_cores_back_after_a_failure(tmp_path: Path) -> None:
    first, second = CORES[:2]
    tree = sys_tree(tmp_path, "0", {0: str(first), 1: str(second)})
    host = HostPlacement.read(Topology.read(CORES, tree), BUS, tree)
    before = os.sched_getaffinity(0)
    with pytest.raises(RuntimeError), host.placed("gpu_node"):
        raise RuntimeError
    assert os.sched_getaffinity(0) == before


def test_rows_that_place_their_own_threads_have_no_such_axis(tmp_path: Path) -> None:
    row = FloorRow("sync", "a row", lambda _, __: pytest.fail("not measured"))
    assert placed_row(row, placement(tmp_path, "0", SOCKETS)) is row


@two_cores
@pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")
@pytest.mark.parametrize(
    ("name", "base", "keys"),
    [
        ("submit", {}, ["submit_ns"]),
        ("launch_sync", SPIN, ["submit_ns", "start_active_ns", "body_ns", "sync_spin_ns"]),
        ("to_start", {"idle_ns": 0}, ["submit_ns", "start_active_ns", "d2h_ns"]),
    ],
)
def test_a_remote_thread_pays_for_the_way(
    fake_cuda: FakeCuda,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    base: Setting,
    keys: list[str],
) -> None:
    """The fake charges 30 µs for each launch from the core that is on the other node."""
    near, far = CORES[:2]
    tree = sys_tree(tmp_path, "0", {0: str(near), 1: str(far)})
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    device = CudaDevice(0, sys_root=tree)
    fake_cuda.configure(knee=SHORT_QUEUE, remote_core=far, remote_ns=30_000)
    wanted_s = us(*map(fake_cuda.cost, keys))
    if name == "to_start":
        wanted_s -= us(fake_cuda.cost("round_trip_ns")) / 2
    assert_recovers(device, name, {**base, "placement": "gpu_node"}, wanted_s)
    remote: Setting = {**base, "placement": "other_node"}
    assert_recovers(device, name, remote, wanted_s + us(30_000))
    assert measured(device, name, remote).facts["core_numa_node"] == 1
    device.close()


@pytest.mark.skipif(not core().has_cuda, reason="built without the CUDA device")
def test_on_one_node_the_pinned_points_are_skipped(
    fake_cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FTAX_MICRO_CUDA_DRIVER", str(fake_cuda.path))
    cores = ",".join(map(str, CORES))
    device = CudaDevice(0, sys_root=sys_tree(tmp_path, "0", {0: cores}))
    submit = next(row for row in device.rows() if row.name == "submit")
    found = [measured(device, "submit", setting) for setting in submit.axes["placement"]]
    assert [row.status for row in found] == ["skipped", "skipped", "ok"]
    assert all("one NUMA node" in str(row.reason) for row in found[:2])
    assert device.describe().facts["placement"] == "unpinned"
    device.close()
