"""Which results are of one machine, told in linear time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from ftax_micro.results import Result


class Machines:
    """Results are of one machine where they have a GPU in common, or the host's name with the
    models of board and CPU: a container's name may be another every time, a GPU's number is not.

    As `analysis.machine.same_machine`, but for thousands: marks that came together stay together.
    """

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._marks: dict[Hashable, int] = {}

    def add(self, result: Result) -> int:
        """The number of the result, counted from 0."""
        own = len(self._parents)
        self._parents.append(own)
        for mark in _marks(result):
            self._join(own, self._marks.setdefault(mark, own))
        return own

    def machine(self, result: int) -> int:
        """The number of the first result of the same machine."""
        parents = self._parents
        if parents[result] == result:
            return result
        root = result
        while self._parents[root] != root:
            root = self._parents[root]
        while self._parents[result] != root:
            self._parents[result], result = root, self._parents[result]
        return root

    def _join(self, one: int, other: int) -> None:
        roots = self.machine(one), self.machine(other)
        self._parents[max(roots)] = min(roots)


def _marks(result: Result) -> Iterator[Hashable]:
    environment = result.environment
    host = environment.host
    yield environment.hostname, host.machine_model, host.cpu_model
    for gpu in environment.gpus or []:
        if gpu.uuid:
            yield _bare(gpu.uuid)
    for device in result.devices:
        if device.facts.get("uuid"):
            yield _bare(str(device.facts["uuid"]))


def _bare(uuid: str) -> str:
    """NVML and CUDA write the same number in two ways."""
    return uuid.removeprefix("GPU-").replace("-", "").lower()
