"""What a cluster engine is: nodes, and jobs that it runs on them, one a node and nothing beside it.

What a job is and tells, `on_node` knows; an engine only carries it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ftax_micro.errors import DeviceUnavailableError

# Plain data: the process of another version, which may be what a node has, has to read it.
Job = dict[str, Any]
Message = dict[str, Any]


class ClusterUnavailableError(DeviceUnavailableError):
    """There is no cluster where one was asked for, or it takes nobody in; says why."""


@dataclass(frozen=True)
class Node:
    """One machine as the engine knows it; `id` tells two apart that have one host name."""

    id: str
    host: str
    address: str
    cpus: float
    gpus: float


@dataclass(frozen=True)
class Event:
    """What a node's job told. `message` None: it has ended, for the reason `error` if that was not
    its own end.
    """

    node: str
    message: Message | None = None
    error: str | None = None


class Cluster(Protocol):
    """A cluster that was found; whoever opened it closes it."""

    def nodes(self) -> list[Node]:
        """The nodes that are alive."""

    def start(self, node: Node, job: Job) -> None:
        """Run `on_node.work(job)` on `node`, once, holding all its CPUs and GPUs. Where something
        else holds them, it waits.
        """

    def wait(self, timeout_s: float) -> Sequence[Event]:
        """What was told since; waits up to `timeout_s` for something."""

    def drop(self, node: str) -> None:
        """End the job of this node; nothing more is told of it."""

    def close(self) -> None:
        """End all jobs and leave the cluster as it was."""
