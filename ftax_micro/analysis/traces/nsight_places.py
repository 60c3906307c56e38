"""Which process, device and stream the ids of an Nsight Systems export mean.

An export may hold several processes. Each numbers its correlation ids, devices (as far as
CUDA_VISIBLE_DEVICES lets it see them), contexts and streams from the beginning, so that none of
these numbers tells anything without the process. Where there is one process, as in most exports,
all numbers stay as they are.

`globalTid` and `globalPid` are 64 bits: hardware 8, virtual machine 8, process 24, thread 24.
Source: Nsight Systems, Post-Collection Analysis Guide, "Serialized Process and Thread Identifiers".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ftax_micro.analysis.traces.events import NONE, Ints
from ftax_micro.analysis.traces.sqlite_file import Database

_PART = 0xFFFFFF  # the 24 bits of a process or a thread
PLACE = ("globalPid", "deviceId", "contextId")
_ID_BITS = 32  # of correlation ids and stream ids, as CUPTI has them
# What the first correlation id of each process becomes where there are several, or a little more:
# far above any number of ids that may be below the first.
_MOVED_ID = 1 << 60
DEVICES = "TARGET_INFO_CUDA_DEVICE"
_GPUS = "TARGET_INFO_GPU"


def process_of(global_id: Ints) -> Ints:
    """The process in a column of `globalTid` or `globalPid`; NONE where it is NONE."""
    return np.where(global_id == NONE, NONE, (global_id >> 24) & _PART)


def thread_of(global_id: int) -> tuple[int, int]:
    """Process and thread of one `globalTid`; NONE for both of NONE."""
    if global_id == NONE:
        return NONE, NONE
    return (global_id >> 24) & _PART, global_id & _PART


class _Place(NamedTuple):
    process: int
    device: int
    context: int


class Places:
    """The numbers of devices, streams and correlations that hold for the whole export."""

    def __init__(self, database: Database, operations: Iterable[str], calls: str) -> None:
        self._database = database
        self._of_table = {table: self._places(table) for table in operations}
        places = sorted(set().union(*self._of_table.values()))
        launching = {each.process for each in places}
        self._first_id = self._first_ids(calls)
        # Exports without globalPid: which process an operation is of is not known.
        known = NONE not in launching
        processes = sorted(launching | self._first_id.keys()) if known else []
        self._process = {process: index for index, process in enumerate(processes)}
        self._gpus = self._mapped_devices()
        self._physical = bool(self._gpus) and len(launching) > 1
        self._devices = {each: self._number(each) for each in places}
        self._contexts: dict[_Place, int] = {}
        of_device: dict[int, int] = defaultdict(int)
        for each in places:
            self._contexts[each] = of_device[self._devices[each]]
            of_device[self._devices[each]] += 1
        sharing = {(each.device, each.process) for each in places}
        sharers = len(sharing) - len({device for device, _ in sharing})
        #: Processes whose device numbers may mean one GPU or several: the export does not tell.
        self.unclear = sharers + 1 if sharers and not self._gpus else 0

    def _places(self, table: str) -> dict[_Place, tuple[int, int, int]]:
        """The places of a table's operations, and the values of `PLACE` that mean them."""
        if table not in self._database.tables:
            return {}
        columns = [
            f'COALESCE("{name}", {NONE})' if self._database.has(table, name) else str(NONE)
            for name in PLACE
        ]
        rows = self._database.select(f'SELECT DISTINCT {", ".join(columns)} FROM "{table}"')
        if not all(isinstance(value, int) for row in rows for value in row):
            raise self._database.no_numbers(table)
        return {_Place(thread_of(row[0])[0], *row[1:]): row for row in rows}

    def constants(self, table: str) -> dict[str, int]:
        """The columns of `PLACE` that have one value throughout, as in most exports all have."""
        rows = zip(*self._of_table[table].values(), strict=True)
        return {name: row[0] for name, row in zip(PLACE, rows, strict=False) if len(set(row)) == 1}

    def _first_ids(self, table: str) -> dict[int, int]:
        """The lowest correlation id of the calls of each process that has any."""
        if not self._database.has(table, "globalTid", "correlationId"):
            return {}
        rows = self._database.select(
            f'SELECT "globalTid" >> 24 << 24, min("correlationId") FROM "{table}" '
            'WHERE "globalTid" NOT NULL AND "correlationId" > 0 GROUP BY 1'
        )
        if not all(isinstance(value, int) for row in rows for value in row):
            raise self._database.no_numbers(table)
        return {thread_of(thread)[0]: first for thread, first in rows}

    def _mapped_devices(self) -> dict[tuple[int, int], int]:
        """The GPU's id by process and device number; empty in exports without that table."""
        if not self._database.has(DEVICES, "gpuId", "cudaId", "pid"):
            return {}
        rows = self._database.select(f"SELECT pid, cudaId, gpuId FROM {DEVICES}")
        return {(pid, device): gpu for pid, device, gpu in rows if gpu is not None}

    def _number(self, place: _Place) -> int:
        if not self._physical:
            return place.device
        return self._gpus.get((place.process, place.device), place.device)

    def names(self) -> dict[int, str]:
        """Names of the devices that did something, as far as the export has them."""
        if not self._database.has(_GPUS, "id", "name"):
            return {}
        by_device = self._database.has(_GPUS, "cuDevice") and not self._gpus
        key = "cuDevice" if by_device else "id"
        rows = self._database.select(f"SELECT {key}, name FROM {_GPUS} WHERE name NOT NULL")
        found = dict(rows)
        names = {}
        for place, number in self._devices.items():
            gpu = self._gpus.get((place.process, place.device), place.device)
            if gpu in found:
                names[number] = str(found[gpu])
        return names

    def correlations(self, ids: Ints, process: Ints) -> Ints:
        """Correlation ids that no two processes share; NONE where there is none, or 0.

        Ids ascend, so that those below all of the calls are of operations launched before the
        recording began: each process's ids are moved for that to hold of all together.
        """
        count, unique = len(self._process), ids
        if count > 1:
            each, inverse = np.unique(process, return_inverse=True)
            known = [self._process.get(int(p), 0) for p in each]
            first = [self._first_id.get(int(p), 0) for p in each]
            index, first_id = np.array(known, np.int64), np.array(first, np.int64)
            unique = _MOVED_ID + (ids - first_id[inverse]) * count + index[inverse]
        return np.where(ids > 0, unique, NONE)

    def devices_and_streams(
        self, process: Ints, device: Ints, context: Ints, stream: Ints
    ) -> tuple[Ints, Ints]:
        """Per operation the number of its device, and one for its stream no other there has."""
        if not self._physical and not any(self._contexts.values()):
            return device, stream
        rows = np.stack([process, device, context], axis=1)
        each, inverse = np.unique(rows, axis=0, return_inverse=True)
        places = [_Place(*map(int, row)) for row in each]
        number = np.array([self._devices[place] for place in places], dtype=np.int64)
        context = np.array([self._contexts[place] for place in places], dtype=np.int64)
        inverse = inverse.reshape(-1)
        return number[inverse], stream + (context[inverse] << _ID_BITS)
