"""What device and host are like around a block of forwards."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from ftax_micro.devices._extension import core
from ftax_micro.gpu.monitor import GpuMonitor
from ftax_micro.models.workload import import_torch
from ftax_micro.records import DeviceState

_STAT = Path("/proc/thread-self/stat")
# proc_pid_stat(5): the core last run on, counted behind the name, which may hold anything.
_PROCESSOR = 36
_ANYWHERE = -1


@contextlib.contextmanager
def state_reader(device: str, threads: int) -> Iterator[Callable[[], DeviceState | None]]:
    """What reads the state of a torch `device`, and of the host that feeds it with `threads`.

    The host's cores are all that this process may use where it has a thread for each, else the one
    that the caller is on. Takes some milliseconds a call; what cannot be read is None.
    """
    with contextlib.ExitStack() as opened:
        monitor: GpuMonitor | None = None
        if device != "cpu":
            with contextlib.suppress(Exception):  # no reason to lose a measurement
                uuid = str(import_torch().cuda.get_device_properties(device).uuid)
                monitor = opened.enter_context(GpuMonitor(uuid=uuid))

        def read() -> DeviceState:
            state = monitor.state() if monitor else DeviceState()
            return msgspec.structs.replace(state, fixed_work_s=_fixed_work_s(threads))

        yield read


def _fixed_work_s(threads: int) -> dict[str, float] | None:
    try:
        allowed = core().host.allowed_cores()
        cores = allowed if 0 < len(allowed) <= threads else [_own_core()]
        return dict(zip(map(str, cores), core().host.fixed_work(cores), strict=True))
    except Exception:  # nor is this
        return None


def _own_core() -> int:
    """The core this thread runs on; below 0 where the system does not say."""
    try:
        fields = _STAT.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        found = int(fields[_PROCESSOR])
    except (OSError, ValueError, IndexError):
        return _ANYWHERE
    return found if found < (os.cpu_count() or 0) else _ANYWHERE
