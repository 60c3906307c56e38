"""Faults of a fleet, each on a local Ray cluster, by the command as users run it."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from local_ray import LocalRay, local_ray
from stand_in import NO_CUDA

from ftax_micro import __version__
from ftax_micro.clusters.contract import ClusterUnavailableError
from ftax_micro.orchestration.fleet import cluster_process
from ftax_micro.results import load_result

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="the fleet extra is not installed"
    ),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc"),
]

# One row, and little more than is still a measurement. The time marks these tests' processes.
MARK = f"0.0{os.getpid()}"
QUICK = ("--device", "cpu", "--probe", "call_direct", "--min-samples", "5", "--min-time", MARK)
PATIENCE_S = 60.0
# Measuring processes of a node with this on its path wait as long as the file is there.
HELD = """
import os, sys, time
while any("fleet.measuring" in each for each in sys.orig_argv) and os.path.exists({flag!r}):
    time.sleep(0.05)
"""


class Fleet:
    """``python -m ftax_micro.fleet launch_floor`` of one row into `folder`, as a process."""

    def __init__(self, folder: Path, address: str, *arguments: str) -> None:
        command = ["-m", "ftax_micro.fleet", "launch_floor", *(arguments or QUICK)]
        self.process = subprocess.Popen(
            [sys.executable, *command, "--address", address, "-o", str(folder), "--format", "json"]
            + (["--resume"] if folder.exists() else []),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **NO_CUDA},
            cwd=folder.parent,
        )

    def end(self) -> tuple[int, list[dict[str, Any]], list[str]]:
        """Exit code, rows, and what was said on stderr."""
        try:
            out, err = self.process.communicate(timeout=2 * PATIENCE_S)
        finally:
            self.process.kill()
        rows = json.loads(out)["nodes"] if out else []
        return self.process.returncode, rows, err.splitlines()


def until(met: Callable[[], object]) -> None:
    limit_s = time.monotonic() + PATIENCE_S
    while not met():
        assert time.monotonic() < limit_s, "it did not come to pass"
        time.sleep(0.05)


def saved(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


def begun(folder: Path, count: int) -> bool:
    ledger = folder / "fleet.jsonl"
    return ledger.exists() and ledger.read_text().count('"device":"cpu","file"') == count


def measuring() -> list[Path]:
    """Processes that measure what `QUICK` says on a node, wherever they were started from."""
    return [path for path in Path("/proc").glob("[0-9]*") if _measures(path)]


def _measures(process: Path) -> bool:
    try:
        words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    return "ftax_micro.orchestration.fleet.measuring" in words and MARK in words


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalRay]:
    with local_ray() as found:
        yield found


@pytest.fixture(scope="module")
def held(cluster: LocalRay, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that the measurements of nodes added by `add_held` wait for to go; there is one."""
    flag = tmp_path_factory.mktemp("held") / "flag"
    (flag.parent / "sitecustomize.py").write_text(HELD.format(flag=str(flag)))
    add_held(cluster, flag)
    return flag


def add_held(cluster: LocalRay, flag: Path) -> None:
    cluster.add("PYTHONPATH", str(flag.parent))


def half_done(folder: Path, address: str, flag: Path) -> Fleet:
    """A run on two nodes, one of which has told its result while the other measures."""
    flag.touch()
    fleet = Fleet(folder, address)
    until(lambda: begun(folder, 2) and saved(folder))
    assert len(measuring()) == 1
    return fleet


def test_a_killed_driver_is_resumed_and_nodes_of_one_name_have_files_of_their_own(
    cluster: LocalRay, held: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    fleet = half_done(folder, cluster.address, held)
    (arrived,) = saved(folder)
    content = arrived.read_bytes()
    fleet.process.send_signal(signal.SIGKILL)
    fleet.end()
    until(lambda: not measuring())
    held.unlink()
    code, rows, said = Fleet(folder, cluster.address).end()
    host = socket.gethostname()
    names = [f"{host}-cpu.json", f"{host}-cpu-2.json"]
    assert [row["file"] for row in rows] == names
    assert sorted(row["reason"] or "" for row in rows) == ["", "measured before"]
    assert len({row["node_id"] for row in rows}) == 2
    assert arrived.read_bytes() == content
    assert [load_result(folder / name).kind for name in names] == ["launch_floor"] * 2
    (new,) = {*saved(folder)} - {arrived}
    # And nothing of Ray's own.
    ends = f"ftax-micro: 2 nodes: 2 measured, in {folder}"
    assert (code, said) == (0, [f"saved {new.name}: cpu of {host}", ends])


def test_ctrl_c_keeps_what_arrived_and_ends_the_rest(
    cluster: LocalRay, held: Path, tmp_path: Path
) -> None:
    fleet = half_done(tmp_path / "out", cluster.address, held)
    fleet.process.send_signal(signal.SIGINT)
    code, rows, said = fleet.end()
    assert code == 130
    assert sorted((row["status"], row["reason"]) for row in rows) == [
        ("ok", None),
        ("skipped", "stopped by SIGINT"),
    ]
    assert "ftax-micro: stopped by SIGINT; --resume goes on from there" in said
    until(lambda: not measuring())


def test_a_node_killed_in_the_middle_is_a_row_and_another_takes_its_place(
    cluster: LocalRay, held: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    fleet = half_done(folder, cluster.address, held)
    cluster.kill()
    code, rows, said = fleet.end()
    assert code == 1, said
    assert sorted((row["status"], row["device"], row["reason"]) for row in rows) == [
        ("failed", "cpu", "the node died"),
        ("ok", "cpu", None),
    ]
    until(lambda: not measuring())
    held.unlink()
    add_held(cluster, held)
    (arrived,) = saved(folder)
    before = arrived.stat().st_mtime_ns
    code, rows, said = Fleet(folder, cluster.address).end()
    assert code == 0, said
    assert sorted(row["reason"] or "" for row in rows) == ["", "measured before"]
    assert len(saved(folder)) == 2
    assert arrived.stat().st_mtime_ns == before


def test_nodes_of_another_version_without_the_package_and_without_the_device_are_rows(
    cluster: LocalRay, held: Path, tmp_path: Path
) -> None:
    other, absent = tmp_path / "other" / "ftax_micro", tmp_path / "absent"
    other.mkdir(parents=True)
    absent.mkdir()
    (other / "__init__.py").write_text('__version__ = "0.0.9"\n')
    gone = 'raise ModuleNotFoundError("No module named \'ftax_micro\'", name="ftax_micro")\n'
    (absent / "ftax_micro.py").write_text(gone)
    for path in (other.parent, absent):
        cluster.add("PYTHONPATH", str(path))
    arguments = ("--device", "cuda", "--probe", "submit")
    code, rows, said = Fleet(tmp_path / "out", cluster.address, *arguments).end()
    cluster.kill()
    cluster.kill()
    assert code == 1, said
    assert [row["status"] for row in rows] == ["skipped"] * 4
    python = ".".join(map(str, sys.version_info[:3]))
    no_device, again, not_there, old = sorted(row["reason"] for row in rows)
    assert no_device == again
    assert no_device.startswith("cuda:0 is not available: ")
    assert not_there == (
        f"ftax_micro is not installed: pip install ftax-micro=={__version__} for Python {python} "
        "there"
    )
    assert old == f"it has ftax_micro 0.0.9, and {__version__} is what measures here"


@pytest.mark.parametrize(
    ("address", "code", "says"),
    [
        ("127.0.0.1:1", 3, "no Ray cluster at 127.0.0.1:1: Connection refused"),
        ("ray://head:10001", 2, "ray://head:10001 is for Ray's client; run this on a machine"),
        ("head", 2, "'head' is no address; write auto, or HOST:PORT of the cluster's head"),
    ],
)
def test_an_address_without_a_cluster(address: str, code: int, says: str, tmp_path: Path) -> None:
    found, rows, said = Fleet(tmp_path / "out", address).end()
    assert (found, rows) == (code, [])
    assert len(said) == 1
    assert said[0].startswith(f"ftax-micro: error: {says}")
    assert not (tmp_path / "out").exists()


def test_a_port_at_which_something_else_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_process, "CONNECT_S", 5.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with (
            pytest.raises(ClusterUnavailableError, match="no answer from a cluster at 127"),
            cluster_process.open_cluster("ray", address),
        ):
            pass
