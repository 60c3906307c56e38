"""A cluster that another process talks to (`clusters.driver`)."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

from ftax_micro.clusters.contract import ClusterUnavailableError, Event, Job, Node
from ftax_micro.errors import FtaxError
from ftax_micro.orchestration.child_process import Child, last_line, running_child, why_it_ended

_DRIVER = "ftax_micro.clusters.driver"
# Ray is imported, and the cluster found: seconds, if both are there.
CONNECT_S = 30.0
# For an engine to end its jobs and to say goodbye.
_LEAVE_S = 10.0


class EngineError(FtaxError):
    """What kept the engine's process from finding the cluster, with its exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ClusterProcess:
    """As `clusters.contract.Cluster`, through the pipes of `child`."""

    def __init__(self, child: Child, nodes: Sequence[Node], told: Connection[Any, Any]) -> None:
        assert child.process.stdin is not None
        self._child, self._nodes, self._told = child, list(nodes), told
        self._orders: Connection[Any, Any] = Connection(
            os.dup(child.process.stdin.fileno()), readable=False
        )
        self._started: set[str] = set()
        self._broken: str | None = None

    def nodes(self) -> list[Node]:
        """Those that were alive when it was found."""
        return self._nodes

    def start(self, node: Node, job: Job) -> None:
        """As the contract says."""
        self._started.add(node.id)
        self._order("start", node, job)

    def wait(self, timeout_s: float) -> Sequence[Event]:
        """As the contract says; all jobs end with the process that talks to the cluster."""
        if self._broken is not None:
            events = [Event(node, error=self._broken) for node in sorted(self._started)]
            self._started.clear()
            return events
        try:
            if not self._told.poll(timeout_s):
                return []
            _, event = self._told.recv()
        except (EOFError, OSError):
            self._break()
            return []
        if event.message is None:
            self._started.discard(event.node)
        return [event]

    def drop(self, node: str) -> None:
        """As the contract says."""
        self._started.discard(node)
        self._order("drop", node)

    def close(self) -> None:
        """As the contract says."""
        self._orders.close()
        if self._child.process.stdin is not None:
            self._child.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.process.wait(_LEAVE_S)

    def _order(self, *order: object) -> None:
        try:
            self._orders.send(order)
        except OSError:
            self._break()

    def _break(self) -> None:
        if self._broken is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.process.wait(_LEAVE_S)
            self._broken = f"the connection to the cluster broke: {_last_words(self._child)}"


def _last_words(child: Child) -> str:
    """Why the process that talks to the cluster is gone, without its log's time and place."""
    if (child.process.poll() or 0) < 0:
        return why_it_ended(child)
    return re.sub(r"^\[[^]]*\] *(\S+:\d+: *)?", "", last_line(child.messages) or "it said nothing")


@contextlib.contextmanager
def open_cluster(engine: str, address: str) -> Iterator[ClusterProcess]:
    """The cluster at `address`, closed in the end.

    Errors: `EngineError` for what the engine says against it, `ClusterUnavailableError` where it
    says nothing in time.
    """
    command = [sys.executable, "-m", _DRIVER, engine, address]
    with running_child(command, lambda _: None, grace_s=_LEAVE_S) as child:
        told: Connection[Any, Any] = Connection(os.dup(child.pipe), writable=False)
        with told:
            cluster = ClusterProcess(child, _greeting(child, told, address), told)
            try:
                yield cluster
            finally:
                cluster.close()


def _greeting(child: Child, told: Connection[Any, Any], address: str) -> list[Node]:
    limit_s = time.monotonic() + CONNECT_S
    while not told.poll(0.1):  # short, so that Ctrl-C is heard
        if time.monotonic() > limit_s:
            raise ClusterUnavailableError(
                f"no answer from a cluster at {address} within {CONNECT_S:g} s"
            )
    try:
        what, content = told.recv()
    except EOFError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(_LEAVE_S)
        raise ClusterUnavailableError(f"no cluster at {address}: {_last_words(child)}") from None
    if what == "unavailable":
        code, text = content
        raise EngineError(text, code)
    nodes: list[Node] = content
    return nodes
