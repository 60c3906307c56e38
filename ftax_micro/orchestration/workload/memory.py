"""The memory that a workload takes, and running out of it."""

from __future__ import annotations

import contextlib
import re
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from ftax_micro.errors import FtaxError
from ftax_micro.frameworks.preparation import first_line
from ftax_micro.models.workload import import_torch
from ftax_micro.records import FactValue

# What runtimes say where they get no memory; torch's cpu allocator raises a plain RuntimeError.
_OUT_OF_MEMORY = re.compile(
    r"out of memory|(can't|cannot|failed to) allocate memory|bad_alloc",
    re.IGNORECASE,
)
_WANTED = re.compile(r"tried to allocate ([\d.]+ ?\w+)", re.IGNORECASE)
# Linux kills the process of the highest score first: this one rather than the one that waits.
_FIRST_TO_GO = b"1000"
_RESET_PEAK = b"5"


def failure_reason(error: BaseException) -> str:
    """One line that says what went wrong; running out of memory in the same words for all."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or _OUT_OF_MEMORY.search(str(cause)):
            wanted = _WANTED.search(str(cause))
            if wanted:
                return f"out of memory: {wanted[1]} more were not to be had"
            return f"out of memory: {first_line(cause)}" if str(cause) else "out of memory"
        cause = cause.__cause__
    if isinstance(error, FtaxError):
        return " ".join(str(error).split()) or "no message"
    return first_line(error)


def be_first_to_go() -> None:
    """Where memory runs out, let the kernel end this process and not its parent (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(_FIRST_TO_GO)


def memory_kills() -> int | None:
    """How often the kernel ended a process here for want of memory; None where it does not say."""
    with contextlib.suppress(OSError, ValueError):
        own = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip()
        events = Path(f"/sys/fs/cgroup{own}/memory.events").read_text()
        return _counted(events, "oom_kill")
    with contextlib.suppress(OSError, ValueError):
        return _counted(Path("/proc/vmstat").read_text(), "oom_kill")
    return None


def _counted(text: str, name: str) -> int:
    found = re.search(rf"^{name} (\d+)$", text, re.MULTILINE)
    if found is None:
        raise ValueError(name)
    return int(found[1])


@dataclass(frozen=True)
class Peak:
    """The most memory needed since some moment: bytes, or None and why, and what told it."""

    bytes: int | None
    reason: str | None = None
    facts: dict[str, FactValue] | None = None


class HostPeak:
    """Growth of the resident set's high-water mark since this was made."""

    def __init__(self) -> None:
        self._reset = False
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_bytes(_RESET_PEAK)
            self._reset = True
        self._before, self._mark = _resident()

    def read(self) -> Peak:
        """The growth. Where the mark was higher before and could not be reset, there is none."""
        _, mark = _resident()
        facts: dict[str, FactValue] = {"peak_memory_source": "resident set, high-water mark"}
        if not self._reset and mark <= self._mark:
            return Peak(None, "the process had needed more memory before", facts)
        return Peak(max(0, mark - self._before), facts=facts)


class CudaPeak:
    """Memory of a device since this was made: torch's own peak, or the growth of what is in use.

    Other runtimes' allocators are not torch's; what they hold shows in the device alone. The
    larger of the two is the peak, and both are facts.
    """

    def __init__(self, device: str) -> None:
        self._cuda = import_torch().cuda
        self._device = device
        self._cuda.synchronize(device)  # the context is there before the baseline
        self._cuda.reset_peak_memory_stats(device)
        self._allocated = self._cuda.memory_allocated(device)
        self._used = self._in_use()

    def _in_use(self) -> int:
        free, total = self._cuda.mem_get_info(self._device)
        return int(total - free)

    def read(self) -> Peak:
        """The larger of both."""
        torch_bytes = int(self._cuda.max_memory_allocated(self._device) - self._allocated)
        device_bytes = self._in_use() - self._used
        by_torch = torch_bytes >= device_bytes
        facts: dict[str, FactValue] = {
            "peak_memory_source": "torch.cuda.max_memory_allocated" if by_torch else "mem_get_info",
            "peak_torch_bytes": torch_bytes,
            "device_growth_bytes": device_bytes,
        }
        return Peak(max(torch_bytes, device_bytes), facts=facts)


def watch_peak(device: str) -> HostPeak | CudaPeak:
    """A peak that counts from now."""
    return HostPeak() if device == "cpu" else CudaPeak(device)


def _resident() -> tuple[int, int]:
    """Bytes resident now, and at most so far."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        status = Path("/proc/self/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        now, mark = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
        return now, mark
    unit = 1 if sys.platform == "darwin" else 1024
    mark = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return mark, mark
