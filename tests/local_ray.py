"""A Ray cluster on this machine, in a process of its own: ``python local_ray.py FOLDER``.

Prints the address of its head, a node, then obeys: ``add NAME VALUE`` adds a node whose processes
have that variable, ``kill`` ends the last one as a lost machine would. All of it ends with stdin.
Ray is not imported by the tests, whose warnings are errors.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

# A node that is gone shall be missed within a second.
_HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_failure_threshold": 3,
}
_SMALL = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


class LocalRay:
    """The cluster as a test sees it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._read()

    def add(self, name: str = "FTAX_TEST", value: str = "") -> None:
        """One more node."""
        self._tell(f"add {name} {value}")

    def kill(self) -> None:
        """Lose the last one."""
        self._tell("kill")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._read() == "done"

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextlib.contextmanager
def local_ray() -> Iterator[LocalRay]:
    """A cluster of one node, gone in the end with all processes and files."""
    # Sockets lie in it, whose paths must be short.
    with tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as folder:
        # Ray notes the cluster in a folder of its own as well, and where that is missing it fails.
        Path(folder, "ray").mkdir()
        variables = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": folder}
        process = subprocess.Popen(
            [sys.executable, __file__, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **variables},
        )
        with process:
            yield LocalRay(process)


def _main(folder: str) -> None:
    from ray.cluster_utils import Cluster

    out = os.fdopen(os.dup(1), "w", buffering=1)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    head = {**_SMALL, "include_dashboard": False, "_system_config": _HEALTH, "temp_dir": folder}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = []
    print(cluster.address, file=out)
    for line in sys.stdin:
        if line.startswith("add"):
            _, name, value = line.rstrip("\n").split(" ", 2)
            nodes.append(cluster.add_node(**_SMALL, env_vars={name: value}))
        else:
            cluster.remove_node(nodes.pop(), allow_graceful=False)
        print("done", file=out)
    cluster.shutdown()


if __name__ == "__main__":
    _main(sys.argv[1])
