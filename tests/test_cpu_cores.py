"""Where two threads are put, on machines written as small sysfs trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from ftax_micro.devices.cpu.cores import PLACEMENTS, UNPINNED, Topology, parse_core_list
from ftax_micro.errors import Skip, UnknownNameError


def sys_tree(
    root: Path, siblings: dict[int, str] | None = None, nodes: dict[int, str] | None = None
) -> Path:
    """A /sys with the sibling list of each core and the core list of each NUMA node."""
    base = root / "devices/system"
    for core, text in (siblings or {}).items():
        folder = base / f"cpu/cpu{core}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(text + "\n")
    for node, text in (nodes or {}).items():
        folder = base / f"node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(text + "\n")
    return root


@pytest.fixture
def smt_numa(tmp_path: Path) -> Path:
    """Two sockets of two cores with two threads each: 0 and 4 are siblings, and so on."""
    siblings = {core: f"{core % 4},{core % 4 + 4}" for core in range(8)}
    return sys_tree(tmp_path, siblings, {0: "0-1,4-5", 1: "2-3,6-7"})


@pytest.mark.parametrize(
    ("text", "cores"),
    [("", []), ("\n", []), ("0", [0]), ("0-3,8", [0, 1, 2, 3, 8]), ("0,2-3\n", [0, 2, 3])],
)
def test_core_lists_are_those_of_the_kernel(text: str, cores: list[int]) -> None:
    assert parse_core_list(text) == cores


@pytest.mark.parametrize("text", ["a", "1-", "1-x", "0;1"])
def test_anything_else_is_no_core_list(text: str) -> None:
    with pytest.raises(ValueError):
        parse_core_list(text)


@pytest.mark.parametrize(
    ("placement", "pair"),
    [
        ("other_core", (0, 1)),
        ("sibling", (0, 4)),
        ("other_node", (0, 2)),
        ("unpinned", UNPINNED),
    ],
)
def test_every_placement_of_a_large_machine(
    smt_numa: Path, placement: str, pair: tuple[int, int]
) -> None:
    assert Topology.read(range(8), smt_numa).pair(placement) == pair


@pytest.mark.parametrize(
    ("allowed", "placement", "pair"),
    [
        ([0, 4, 5], "other_core", (0, 5)),  # not the sibling
        ([0, 2, 6], "other_core", (0, 2)),  # nothing nearer than the other node
        ([0, 2, 3], "other_core", (2, 3)),  # a pair of one node, though not from the first core
        ([0, 1, 5], "sibling", (1, 5)),  # siblings, though not of the first core
        ([1, 5, 6], "other_node", (1, 6)),
    ],
)
def test_only_allowed_cores_are_used(
    smt_numa: Path, allowed: list[int], placement: str, pair: tuple[int, int]
) -> None:
    assert Topology.read(allowed, smt_numa).pair(placement) == pair


@pytest.mark.parametrize(
    ("allowed", "placement", "reason"),
    [
        ([3], "other_core", "one core only"),
        ([3], "unpinned", "one core only"),
        ([0, 4], "other_core", "siblings of one physical core"),
        ([0, 1], "sibling", "no two allowed cores are placed as 'sibling'"),
        ([0, 1], "other_node", "no two allowed cores are placed as 'other_node'"),
        ([], "sibling", "cannot pin"),
        ([], "other_node", "cannot pin"),
    ],
)
def test_what_a_machine_does_not_have_is_skipped_with_a_reason(
    smt_numa: Path, allowed: list[int], placement: str, reason: str
) -> None:
    with pytest.raises(Skip, match=reason):
        Topology.read(allowed, smt_numa).pair(placement)


@pytest.mark.parametrize("placement", ["other_core", "unpinned"])
def test_without_affinity_calls_nothing_is_pinned(placement: str) -> None:
    assert Topology(()).pair(placement) == UNPINNED


def test_an_unknown_placement_suggests_the_nearest(smt_numa: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean sibling"):
        Topology.read(range(8), smt_numa).pair("siblings")


def test_without_sysfs_every_core_counts_as_its_own(tmp_path: Path) -> None:
    topology = Topology.read([0, 1, 2], tmp_path / "missing")
    assert topology.siblings == {}
    assert topology.nodes == {}
    assert topology.pair() == (0, 1)
    assert topology.one_per_physical_core() == [0, 1, 2]
    with pytest.raises(Skip):
        topology.pair("other_node")


def test_unreadable_entries_are_passed_over(tmp_path: Path) -> None:
    root = sys_tree(tmp_path, {0: "not a list", 1: "1,3", 3: "1,3"}, {0: "garbage", 1: "1,3"})
    (root / "devices/system/node/node2").mkdir()  # a node without a list of its cores
    topology = Topology.read([0, 1, 3], root)
    assert topology.siblings == {1: frozenset({1, 3}), 3: frozenset({1, 3})}
    assert topology.nodes == {1: 1, 3: 1}


def test_one_thread_of_every_physical_core_is_chosen(smt_numa: Path) -> None:
    assert Topology.read(range(8), smt_numa).one_per_physical_core() == [0, 1, 2, 3]
    assert Topology.read([1, 4, 5, 7], smt_numa).one_per_physical_core() == [1, 4, 7]
    assert Topology(()).one_per_physical_core() == []


def test_every_placement_name_is_handled(smt_numa: Path) -> None:
    pairs = {name: Topology.read(range(8), smt_numa).pair(name) for name in PLACEMENTS}
    assert len(set(pairs.values())) == len(PLACEMENTS)
