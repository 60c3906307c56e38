"""Ray: a cluster that `ray start` made, on machines or on one machine with several nodes."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from typing import Any

from ftax_micro.clusters import on_node
from ftax_micro.clusters.contract import ClusterUnavailableError, Event, Job, Node
from ftax_micro.errors import MissingPackageError, UsageError

# To find out whether anybody listens: Ray itself goes on for minutes where nobody does.
_KNOCK_S = 5.0
_LONGEST = 300


class RayCluster:
    """The Ray cluster at `address`: ``auto``, or ``HOST:PORT`` of its head, on one of its machines.

    A job is a task with all CPUs and GPUs of its node, bound to it, tried once, that yields what it
    tells. Errors: `MissingPackageError`; `ClusterUnavailableError`.
    """

    def __init__(self, address: str) -> None:
        # Ray prefers its variable to what it is told; and nothing is reported to anybody.
        found = os.environ.pop("RAY_ADDRESS", None)
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
        self._ray = _package()
        address = _address(found if address == "auto" and found else address)
        try:
            self._ray.init(address=address, log_to_driver=False)
        except Exception as error:
            raise ClusterUnavailableError(f"Ray cluster {address}: {_text(error)}") from error
        self._ray.cloudpickle.register_pickle_by_value(on_node)
        self._running: dict[Any, str] = {}

    def nodes(self) -> list[Node]:
        """As the contract says."""
        return [
            Node(
                id=each["NodeID"],
                host=each["NodeManagerHostname"],
                address=each["NodeManagerAddress"],
                cpus=each["Resources"].get("CPU", 0.0),
                gpus=each["Resources"].get("GPU", 0.0),
            )
            for each in self._ray.nodes()
            if each["Alive"]
        ]

    def start(self, node: Node, job: Job) -> None:
        """As the contract says."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        task = self._ray.remote(on_node.work).options(
            num_cpus=node.cpus,
            num_gpus=node.gpus,
            max_retries=0,
            num_returns="streaming",
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        )
        self._running[task.remote(job)] = node.id

    def wait(self, timeout_s: float) -> Sequence[Event]:
        """As the contract says."""
        if not self._running:
            time.sleep(timeout_s)
            return []
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=timeout_s)
        return [self._next(stream) for stream in ready]

    def _next(self, stream: Any) -> Event:
        node = self._running[stream]
        try:
            return Event(node, message=self._ray.get(next(stream)))
        except StopIteration:
            error = None
        except Exception as raised:
            error = self._reason(raised)
        del self._running[stream]
        return Event(node, error=error)

    def drop(self, node: str) -> None:
        """As the contract says."""
        for stream in [stream for stream, name in self._running.items() if name == node]:
            self._ray.cancel(stream, force=True)
            del self._running[stream]

    def close(self) -> None:
        """As the contract says."""
        for node in list(self._running.values()):
            self.drop(node)
        self._ray.shutdown()

    def _reason(self, error: Exception) -> str:
        """In a sentence; Ray's own texts are paragraphs on where to look for more."""
        known = self._ray.exceptions
        if isinstance(error, (known.NodeDiedError, known.ObjectLostError)):
            return "the node died"
        if isinstance(error, known.OutOfMemoryError):
            return "the node ran out of memory, and Ray ended what ran there"
        if isinstance(error, known.WorkerCrashedError):
            return "Ray's process on the node was killed"
        if isinstance(error, known.TaskUnschedulableError):
            return "the node is gone, or has not what it said it has"
        if isinstance(error, known.RayTaskError):
            return f"it went wrong on the node: {_text(error.cause or error)}"
        return f"Ray: {_text(error)}"


def _package() -> Any:
    """Errors: `MissingPackageError`, only where it is Ray itself that is missing."""
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingPackageError("ray", "fleet") from error
    import ray.cloudpickle
    import ray.exceptions

    return ray


def _address(given: str) -> str:
    """What to connect to, where somebody listens.

    Errors: `UsageError`, `ClusterUnavailableError`.
    """
    if given.startswith("ray://"):
        raise UsageError(
            f"{given} is for Ray's client; run this on a machine of the cluster, with --address "
            "auto or HOST:PORT of its head"
        )
    address = _running_here() if given == "auto" else given
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"{given!r} is no address; write auto, or HOST:PORT of the cluster's head")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK_S).close()
    except (OSError, OverflowError) as error:
        what = getattr(error, "strerror", None) or error
        raise ClusterUnavailableError(f"no Ray cluster at {address}: {what}") from error
    return address


def _running_here() -> str:
    """The address that ``auto`` stands for."""
    from ray._private.services import get_ray_address_from_environment

    try:
        found: str = get_ray_address_from_environment("auto", None)
    except ConnectionError as error:
        raise ClusterUnavailableError(
            "no Ray cluster runs on this machine: `ray start --head` makes one, --address "
            "HOST:PORT names another"
        ) from error
    return found


def _text(error: BaseException) -> str:
    """The beginning of its text, on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
